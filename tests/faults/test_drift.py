"""Hands on the cluster: what somebody changed, removed or added is as Smarter wants it again, two polls later."""

import json
from typing import Any

import pytest

from smarter.apps.costs.models import UsageInterval
from smarter.cluster.simulated import SimulatedCluster, open_simulated
from smarter.core import naming
from smarter.core.objects import (
    DEPLOYMENT,
    INGRESS,
    LIMIT_RANGE,
    NAMESPACE,
    NETWORK_POLICY,
    PERSISTENT_VOLUME_CLAIM,
    RESOURCE_QUOTA,
    SERVICE_ACCOUNT,
    KubernetesObject,
    ObjectKind,
    ObjectRef,
    kind_of,
    ref_of,
)
from tests.faults import invariants
from tests.faults.rig import Rig, deploy

OF_A_HOST = ("Secret", "Deployment", "Service", "Ingress", "Certificate")
WALLS = (SERVICE_ACCOUNT, RESOURCE_QUOTA, LIMIT_RANGE, NETWORK_POLICY)
EDITS: dict[str, dict[str, Any]] = {
    "Secret": {"stringData": {"api-key": "stolen"}},
    "Deployment": {"spec": {"replicas": 3}},
    "Service": {"spec": {"type": "NodePort"}},
    "Ingress": {"spec": {"ingressClassName": "elsewhere"}},
    "Certificate": {"spec": {"secretName": "elsewhere"}},
    "NetworkPolicy": {"spec": {"podSelector": {"matchLabels": {"nobody": "here"}}, "policyTypes": ["Ingress"]}},
    "ResourceQuota": {"spec": {"hard": {"requests.cpu": "100000"}}},
    "LimitRange": {"spec": {"limits": [{"type": "Container", "default": {"memory": "1Pi"}}]}},
    "ServiceAccount": {"automountServiceAccountToken": True},
}


@pytest.fixture
def host(rig: Rig) -> Rig:
    deploy(rig)
    rig.until_active()
    rig.poll(2)
    return rig


def hand(rig: Rig) -> SimulatedCluster:
    return open_simulated(rig.cluster_file, field_manager="kubectl")


def of_kind(rig: Rig, kind: str) -> KubernetesObject:
    return next(body for body in rig.objects(rig.host().uid) if body["kind"] == kind)


def edit(rig: Rig, body: KubernetesObject) -> None:
    metadata = {name: body["metadata"][name] for name in ("name", "namespace")}
    changed = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata, **EDITS[body["kind"]]}
    hand(rig).apply(changed, force=True)
    now = rig.sim.get(ref_of(body))
    assert now is not None and plain(now) != plain(body), "the hand has changed something"


def plain(body: KubernetesObject) -> str:
    """What an object says, without what the server counts and whose hand wrote it."""
    kept = {name: value for name, value in body.items() if name not in {"metadata", "status"}}
    return json.dumps(kept, sort_keys=True)


def wall_of(rig: Rig, kind: ObjectKind) -> KubernetesObject:
    namespace = naming.namespace(rig.actor.account.number)
    found = rig.sim.list(kind, label_selector="app.kubernetes.io/managed-by=smarter", namespace=namespace)
    return found[0]


@pytest.mark.parametrize("kind", OF_A_HOST)
def test_what_a_hand_changed_is_changed_back(host: Rig, kind: str) -> None:
    before = of_kind(host, kind)
    edit(host, before)
    host.poll(2)
    after = host.sim.get(ref_of(before))
    assert after is not None
    assert holds(before, after)
    host.until_active()
    invariants.check(host.sim, host.oracle)


def holds(before: KubernetesObject, after: KubernetesObject) -> bool:
    """Secrets are compared by what Smarter wrote: a key that a hand added belongs to that hand."""
    if before["kind"] == "Secret":
        return before["data"].items() <= after["data"].items()
    return plain(after) == plain(before)


@pytest.mark.parametrize("kind", OF_A_HOST)
def test_what_a_hand_removed_is_there_again(host: Rig, kind: str) -> None:
    before = of_kind(host, kind)
    assert hand(host).delete(ref_of(before))
    host.poll(2)
    after = host.sim.get(ref_of(before))
    assert after is not None and after["metadata"]["uid"] != before["metadata"]["uid"]
    host.until_active()
    assert host.is_active()
    invariants.check(host.sim, host.oracle)


@pytest.mark.parametrize("kind", WALLS, ids=lambda kind: kind.kind)
def test_a_wall_that_a_hand_changed_stands_again(host: Rig, kind: ObjectKind) -> None:
    before = wall_of(host, kind)
    edit(host, before)
    host.poll(2)
    after = host.sim.get(ref_of(before))
    assert after is not None and plain(after) == plain(before)


@pytest.mark.parametrize("kind", WALLS, ids=lambda kind: kind.kind)
def test_a_wall_that_a_hand_took_down_stands_again(host: Rig, kind: ObjectKind) -> None:
    before = wall_of(host, kind)
    assert hand(host).delete(ref_of(before))
    host.poll(2)
    after = host.sim.get(ref_of(before))
    assert after is not None and plain(after) == plain(before)


def test_the_profile_of_the_namespace_is_put_back(host: Rig) -> None:
    name = naming.namespace(host.actor.account.number)
    label = "pod-security.kubernetes.io/enforce"
    metadata = {"name": name, "labels": {label: "privileged"}}
    before = host.sim.get(ObjectRef(NAMESPACE, "", name))
    assert before is not None and before["metadata"]["labels"][label] != "privileged"
    hand(host).apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, force=True)
    host.poll(2)
    after = host.sim.get(ObjectRef(NAMESPACE, "", name))
    assert after is not None and after["metadata"]["labels"][label] == before["metadata"]["labels"][label]


def test_a_namespace_that_a_hand_deleted_is_built_again(host: Rig) -> None:
    uid = host.host().uid
    hand(host).delete(ObjectRef(NAMESPACE, "", naming.namespace(host.actor.account.number)))
    host.poll(4)
    host.until_active()
    assert {wall_of(host, kind)["kind"] for kind in WALLS} == {kind.kind for kind in WALLS}
    assert len(host.oracle.deployments_ever(uid)) == 2
    # The events that tell the end of a pod went with the namespace, so its interval ends when it was last seen.
    invariants.every_generation_is_observed()
    invariants.nothing_is_left_over(host.sim)
    invariants.one_deployment_each(host.sim)
    assert not UsageInterval.all_accounts.filter(period__endswith__isnull=True).exclude(pod_uid=pod_of(host)).exists()


def pod_of(host: Rig) -> str:
    return str(of_kind(host, "Pod")["metadata"]["uid"])


def test_a_volume_that_a_hand_deleted_is_reported_and_made_again(host: Rig) -> None:
    before = of_kind(host, PERSISTENT_VOLUME_CLAIM.kind)
    hand(host).delete(ref_of(before))
    hand(host).delete(ref_of(of_kind(host, DEPLOYMENT.kind)))
    host.polls_until(lambda: other_volume(host, before), "another volume")
    host.until_active()
    invariants.check(host.sim, host.oracle)


def other_volume(host: Rig, before: KubernetesObject) -> bool:
    found = [body for body in host.objects(host.host().uid) if kind_of(body) == PERSISTENT_VOLUME_CLAIM]
    return [body["metadata"]["uid"] for body in found] not in ([], [before["metadata"]["uid"]])


def test_what_others_add_is_left_alone(host: Rig) -> None:
    """Labels of a mesh, annotations of a controller: no fight over them."""
    body = of_kind(host, INGRESS.kind)
    metadata = {**{name: body["metadata"][name] for name in ("name", "namespace")}, "annotations": {"mesh": "yes"}}
    hand(host).apply({"apiVersion": body["apiVersion"], "kind": "Ingress", "metadata": metadata})
    host.poll(3)
    host.sim.clear_request_log()
    host.poll(5)
    after = host.sim.get(ref_of(body))
    assert after is not None and after["metadata"]["annotations"]["mesh"] == "yes"
    assert host.writes() == []
