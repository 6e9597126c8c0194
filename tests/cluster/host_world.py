"""Hosts on the real control plane: the services and the reconcile loop of Smarter in the test's process, against a
cluster row with the kubeconfig of the harness. The same platform as tests/db/reconcile/world.py, with another cluster.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.services import add_member, create_account, create_user, ensure_platform
from smarter.apps.clusters import connections
from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.clusters.services import ensure_cluster, refresh
from smarter.apps.reconcile.loop import reconcile
from smarter.apps.reconcile.models import ClusterWatch
from smarter.apps.reconcile.observe import observe
from smarter.apps.resources import lifecycle
from smarter.apps.resources.apply import apply_manifests
from smarter.apps.resources.built_ins import ensure_built_ins
from smarter.apps.resources.models import Resource, ResourceState
from smarter.cluster.kubernetes import KubernetesCluster
from smarter.core import naming
from smarter.core.kind import Kind
from smarter.core.objects import OWNER_UID_LABEL, POD, KubernetesObject
from smarter.kinds import KINDS
from tests.cluster.harness import ControlPlane, doom, wait_for

LLM_HOST = KINDS[("smarter.sh/v1", "LLMHost")]
ACTIVE_SECONDS = 60.0

SMALL = """\
apiVersion: smarter.sh/v1
kind: LLMHost
metadata:
  name: small
spec:
  model:
    repository: Qwen/Qwen3-0.6B-GGUF
    file: Qwen3-0.6B-Q8_0.gguf
  engine:
    name: llama_cpp
  resources:
    cpu: "2"
    memory: 4Gi
  storage:
    size: 5Gi
"""
PUBLIC = (
    SMALL
    + """\
  network:
    ingress: true
"""
)


@dataclass(frozen=True)
class RealWorld:
    plane: ControlPlane
    actor: Actor
    cluster: ClusterRow
    port: KubernetesCluster

    @property
    def namespace(self) -> str:
        return naming.namespace(self.actor.account.number)

    def apply(self, text: str) -> None:
        apply_manifests(self.actor, text.encode(), deploy=True)

    def undeploy(self, name: str = "small") -> None:
        lifecycle.undeploy(self.actor, LLM_HOST, name)

    def delete(self, name: str = "small") -> None:
        lifecycle.delete(self.actor, LLM_HOST, name)

    def host(self, name: str = "small") -> Resource:
        rows = Resource.for_account(self.actor.account).select_related("state", "account", "cluster", "owner")
        return rows.get(name=name, kind="LLMHost")

    def exists(self, name: str = "small") -> bool:
        return Resource.for_account(self.actor.account).filter(name=name, kind="LLMHost").exists()

    def status(self, name: str = "small") -> dict[str, Any]:
        return dict(self.host(name).state.status)

    def look(self) -> None:
        """What waits for a time has waited; then everything that is due is done."""
        now = timezone.now()
        ResourceState.objects.filter(next_check_at__isnull=False, lease_until=None).update(next_check_at=now)
        ClusterWatch.objects.filter(lease_until=None).update(next_observe_at=now)
        while reconcile() is not None:
            pass
        while observe() is not None:
            pass
        while reconcile() is not None:
            pass

    def until(self, check: Callable[[], Any], what: str, seconds: float = ACTIVE_SECONDS) -> Any:
        def look_and_check() -> Any:
            self.look()
            return check()

        return wait_for(look_and_check, what, seconds, pause_seconds=0.2)

    def until_phase(self, phase: str, name: str = "small") -> dict[str, Any]:
        def reached() -> bool:
            row = self.host(name)
            return row.state.phase == phase and row.state.observed_generation == row.generation

        try:
            self.until(reached, phase)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.status(name)} {self.host(name).state.last_error}") from error
        return self.status(name)

    def objects(self, uid: object) -> list[KubernetesObject]:
        """Everything of one resource, its pods included."""
        selector = f"{OWNER_UID_LABEL}={uid}"
        kinds = (*LLM_HOST.object_kinds, POD)
        return [
            body for kind in kinds for body in self.port.list(kind, label_selector=selector, namespace=self.namespace)
        ]

    def kinds(self, uid: object) -> set[str]:
        return {body["kind"] for body in self.objects(uid) if "deletionTimestamp" not in body["metadata"]}

    def versions(self, uid: object) -> dict[str, str]:
        """Resource versions of what Smarter applies; pods are the cluster's own."""
        return {
            f"{body['kind']}/{body['metadata']['name']}": body["metadata"]["resourceVersion"]
            for body in self.objects(uid)
            if body["kind"] != POD.kind
        }

    def kubectl(self, *arguments: str) -> Any:
        return self.plane.get(*arguments, "-n", self.namespace)


@contextmanager
def real_world(plane: ControlPlane) -> Iterator[RealWorld]:
    """A platform whose default cluster is the control plane, with one account; its namespace goes at the end."""
    platform, platform_user = ensure_platform()
    ensure_built_ins()
    kubeconfig = SecretStr(plane.kubeconfig.read_text())
    row = ensure_cluster(platform, platform_user, "real", type="kubernetes", kubeconfig=kubeconfig)
    refresh(row)
    assert row.reachable, row.message
    account = create_account("tenant", "Tenant Ltd")
    user = create_user("tina", "tina@example.com", home_account=account)
    add_member(account, user, "admin")
    client = connections.client_of(row)
    assert isinstance(client, KubernetesCluster)
    world = RealWorld(plane, Actor(user, account, "admin"), row, client)
    try:
        yield world
    finally:
        plane.try_kubectl("delete", "namespace", world.namespace, "--wait=false", "--ignore-not-found")
        connections.close_all()


def give_fate(monkeypatch: pytest.MonkeyPatch, fate: str, delay: str | None = None, kind: str = "Deployment") -> None:
    """From now on, what is rendered carries the label that makes the control plane treat it so."""

    def rendered(manifest: Any, facts: Any) -> list[KubernetesObject]:
        return [_fated(body, fate, delay, kind) for body in LLM_HOST.render(manifest, facts)]

    changed: Kind = replace(LLM_HOST, render=rendered)
    monkeypatch.setitem(KINDS, LLM_HOST.key, changed)


def _fated(body: KubernetesObject, fate: str, delay: str | None, kind: str) -> KubernetesObject:
    if body["kind"] != kind:
        return body
    if kind == "Deployment":
        return doom(body, fate, delay)
    metadata = {**body["metadata"], "labels": {**body["metadata"].get("labels", {}), "smarter.sh/test-fate": fate}}
    return {**body, "metadata": metadata}
