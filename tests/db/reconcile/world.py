"""A small platform for tests of the reconciler: one account, one simulated cluster whose clock the test moves.

Real Postgres, real services, the simulated cluster that ships with Smarter; no Celery, since the loop needs none.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone

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
from smarter.apps.resources.results import ApplyResult
from smarter.cluster.simulated import SimulatedCluster
from smarter.core import naming
from smarter.core.kind import Kind
from smarter.core.objects import OWNER_UID_LABEL, POD, KubernetesObject
from smarter.kinds import KINDS

LLM_HOST = KINDS[("smarter.sh/v1", "LLMHost")]
MAX_ROUNDS = 60

HOST = """\
apiVersion: smarter.sh/v1
kind: LLMHost
metadata:
  name: {name}
spec:
  model:
    source: huggingface
    repository: Qwen/Qwen3-8B
  engine:
    name: vllm
    image: vllm/vllm-openai:v0.33.0
  resources:
    cpu: "3"
    memory: 12Gi
    gpuCount: 1
  network:
    ingress: true
"""


@dataclass
class World:
    actor: Actor
    cluster: ClusterRow
    sim: SimulatedCluster

    def apply(self, text: str, *, deploy: bool = True) -> ApplyResult:
        return apply_manifests(self.actor, text.encode(), deploy=deploy)

    def host(self, name: str = "a") -> Resource:
        rows = Resource.for_account(self.actor.account).select_related("state", "account", "cluster", "owner")
        return rows.get(name=name, kind="LLMHost")

    def exists(self, name: str = "a") -> bool:
        return Resource.for_account(self.actor.account).filter(name=name, kind="LLMHost").exists()

    def status(self, name: str = "a") -> dict[str, Any]:
        return dict(self.host(name).state.status)

    def undeploy(self, name: str = "a") -> None:
        lifecycle.undeploy(self.actor, LLM_HOST, name)

    def delete(self, name: str = "a") -> bool:
        return lifecycle.delete(self.actor, LLM_HOST, name)

    def due(self) -> None:
        """What waits for a time has waited; leases whose time has not come are kept."""
        now = timezone.now()
        ResourceState.objects.filter(next_check_at__isnull=False, lease_until=None).update(next_check_at=now)
        ClusterWatch.objects.filter(lease_until=None).update(next_observe_at=now)

    def lapse(self) -> None:
        """Leases of workers that died run out."""
        past = timezone.now()
        ResourceState.objects.filter(lease_until__isnull=False).update(lease_until=past, next_check_at=past)
        ClusterWatch.objects.filter(lease_until__isnull=False).update(lease_until=past, next_observe_at=past)

    def round(self, seconds: float = 5.0) -> None:
        """Time passes on the cluster, then everything that is due is looked at."""
        self.sim.pass_time(seconds)
        self.due()
        while reconcile() is not None:
            pass
        while observe() is not None:
            pass
        while reconcile() is not None:
            pass

    def settle(self, name: str = "a", phase: str = "active", rounds: int = MAX_ROUNDS) -> None:
        for _ in range(rounds):
            self.round()
            if self.exists(name) and self.host(name).state.phase == phase and self.current(name):
                return
        found = self.host(name).state
        raise AssertionError(f"{name} is {found.phase}, not {phase}: {found.status.get('message')} {found.last_error}")

    def current(self, name: str) -> bool:
        return ResourceState.objects.filter(
            resource__name=name, observed_generation=F("resource__generation"), in_transition=False
        ).exists()

    def objects(self, uid: object | None = None, kind: Kind = LLM_HOST) -> list[KubernetesObject]:
        """Everything of one resource on the cluster, pods included; of all resources without a uid."""
        selector = f"{OWNER_UID_LABEL}={uid}" if uid else OWNER_UID_LABEL
        namespace = naming.namespace(self.actor.account.number)
        served = self.sim.info().features
        kinds = [one for one in (*kind.object_kinds, POD) if one.feature is None or one.feature in served]
        return [body for one in kinds for body in self.sim.list(one, label_selector=selector, namespace=namespace)]

    def versions(self, uid: object) -> dict[str, str]:
        return {
            f"{body['kind']}/{body['metadata']['name']}": body["metadata"]["resourceVersion"]
            for body in self.objects(uid)
        }

    def writes(self) -> list[tuple[str, str]]:
        log = self.sim.request_log()
        return [(one.verb, one.kind) for one in log if one.verb in {"apply", "delete"} and one.outcome == "ok"]


def make_world(folder: Path) -> World:
    settings.SMARTER.simulated_cluster_file = folder / "cluster.sqlite3"
    platform, platform_user = ensure_platform()
    ensure_built_ins()
    cluster = ensure_cluster(platform, platform_user, "default", type="simulated")
    refresh(cluster)
    account = create_account("tenant", "Tenant Ltd")
    user = create_user("tina", "tina@example.com", home_account=account)
    add_member(account, user, "admin")
    client = connections.client_of(cluster)
    assert isinstance(client, SimulatedCluster)
    return World(Actor(user, account, "admin"), cluster, client)
