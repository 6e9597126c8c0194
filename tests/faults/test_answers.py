"""The cluster's answers are lost, late or bad: what was written is found again, nothing is written twice."""

import pytest

from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.resources.models import ResourceState
from smarter.cluster.simulated import Fault
from smarter.core.objects import CERTIFICATE
from tests.db.reconcile.world import HOST
from tests.faults import invariants
from tests.faults.rig import POLL_SECONDS, Rig, applied, deploy

OBJECTS = (
    ("Namespace", "*"),
    ("ServiceAccount", "*"),
    ("ResourceQuota", "*"),
    ("LimitRange", "*"),
    ("NetworkPolicy", "default-deny"),
    ("NetworkPolicy", "allow-dns"),
    ("NetworkPolicy", "allow-serving"),
    ("NetworkPolicy", "allow-fetch"),
    ("Secret", "*"),
    ("PersistentVolumeClaim", "*"),
    ("Deployment", "*"),
    ("Service", "*"),
    ("Ingress", "*"),
    ("Certificate", "*"),
)


def outcomes(rig: Rig) -> list[str]:
    return [one.outcome for one in rig.sim.request_log()]


def writes_of(rig: Rig, kind: str) -> list[str]:
    log = rig.sim.request_log()
    return [one.outcome for one in log if one.kind == kind and one.verb == "apply" and one.manager == "smarter"]


def test_the_list_of_objects_is_complete(rig: Rig) -> None:
    deploy(rig)
    rig.work()
    log = [one for one in rig.sim.request_log() if one.verb == "apply" and one.manager == "smarter"]
    named = {name for _, name in OBJECTS}
    assert [(one.kind, one.name if one.name in named else "*") for one in log] == list(OBJECTS)


@pytest.mark.parametrize(("kind", "name"), OBJECTS)
def test_a_lost_answer_to_a_write_changes_nothing(rig: Rig, kind: str, name: str) -> None:
    rig.sim.inject(Fault("apply", kind, name=name, moment="after"))
    host = deploy(rig)
    rig.work()
    assert "lost" in writes_of(rig, kind)
    assert not applied(rig)
    rig.until_active()
    assert len(rig.oracle.deployments_ever(host.uid)) == 1
    if kind not in {"Namespace", "ServiceAccount", "ResourceQuota", "LimitRange", "NetworkPolicy"}:
        assert writes_of(rig, kind) == ["lost"], "what was written already is not written again"
    invariants.check(rig.sim, rig.oracle)


def test_a_lost_answer_to_a_delete_changes_nothing(rig: Rig) -> None:
    host = deploy(rig)
    rig.until_active()
    rig.sim.inject(Fault("delete", times=3, moment="after"))
    rig.undeploy()
    rig.polls_until(lambda: rig.host().state.phase == "inactive", "inactive")
    assert outcomes(rig).count("lost") == 3
    rig.poll(2)
    assert {body["kind"] for body in rig.objects(host.uid)} == {"PersistentVolumeClaim"}
    invariants.check(rig.sim, rig.oracle)


@pytest.mark.parametrize("status", [0, 500, 503, 504])
def test_a_burst_of_server_errors_is_waited_out(rig: Rig, status: int) -> None:
    rig.sim.inject(Fault("apply", times=4, status=status))
    rig.sim.inject(Fault("list", times=4, status=status))
    deploy(rig)
    rig.poll()
    state = rig.host().state
    assert state.fail_count > 0
    assert state.last_error.startswith("ClusterUnavailable")
    assert state.status["message"]
    rig.until_active()
    assert rig.oracle.waiting_faults() == 0
    assert outcomes(rig).count("ClusterUnavailable") == 8
    invariants.check(rig.sim, rig.oracle)


def test_a_server_that_asks_for_time_gets_it(rig: Rig) -> None:
    rig.sim.inject(Fault("apply", "Deployment", status=429, retry_after="7"))
    deploy(rig)
    rig.work()
    assert rig.host().state.last_error.startswith("TooManyRequests")
    before = len(writes_of(rig, "Deployment"))
    rig.poll(6)
    assert len(writes_of(rig, "Deployment")) == before
    rig.poll(2)
    assert writes_of(rig, "Deployment") == ["TooManyRequests", "ok"]
    rig.until_active()
    invariants.check(rig.sim, rig.oracle)


def test_expired_credentials_delete_nothing_and_heal_in_two_polls(rig: Rig) -> None:
    deploy(rig)
    rig.until_active()
    before = rig.versions(rig.host().uid)
    rig.sim.inject(Fault(times=10_000, status=401))
    rig.apply(text_of("b"))
    rig.poll(20)
    assert rig.host("b").state.last_error.startswith("CredentialsInvalid")
    row = ClusterRow.all_accounts.get()
    assert row.reachable is False
    assert row.message
    rig.sim.clear_faults()
    assert rig.versions(rig.host().uid) == before
    invariants.the_ledger_is_what_happened(rig.oracle)
    rig.poll(2)
    assert applied(rig, "b")
    rig.until_active("b")
    invariants.check(rig.sim, rig.oracle)


def test_a_right_that_was_taken_away_is_named(rig: Rig) -> None:
    """One kind is refused; all that comes before it is applied, and what runs stays."""
    deploy(rig)
    rig.until_active()
    rig.sim.inject(Fault("apply", "Ingress", times=10_000, status=403, message="ingresses is forbidden"))
    rig.apply(text_of("b"))
    rig.poll(3)
    state = rig.host("b").state
    assert "Forbidden" in state.last_error
    assert "Ingress" in state.last_error or "ingress" in state.last_error
    condition = next(one for one in state.status["conditions"] if one["type"] == "Reconciled")
    assert (condition["status"], condition["reason"]) == ("False", "Forbidden")
    assert {"Secret", "Deployment", "Service"} <= {body["kind"] for body in rig.objects(state.resource.uid)}
    assert rig.is_active("a")
    rig.sim.clear_faults()
    rig.until_active("b", limit=120)
    invariants.check(rig.sim, rig.oracle)


def test_certificates_come_when_the_cluster_learns_of_them(rig: Rig) -> None:
    set_features(rig, frozenset())
    host = deploy(rig)
    rig.polls_until(lambda: rig.host().state.ready, "ready")
    assert CERTIFICATE.kind not in {body["kind"] for body in rig.objects(host.uid)}
    rig.sim.prepare((), frozenset({"cert-manager"}))
    rig.elapse(60 - POLL_SECONDS)
    rig.poll(3)
    assert CERTIFICATE.kind in {body["kind"] for body in rig.objects(host.uid)}
    rig.until_active()
    invariants.check(rig.sim, rig.oracle)


def test_certificates_that_the_cluster_forgets_stop_nothing(rig: Rig) -> None:
    host = deploy(rig)
    rig.until_active()
    rig.sim.prepare((), frozenset())
    rig.poll(4)
    assert rig.host().state.ready
    ResourceState.objects.update(next_check_at=None)
    rig.apply(text_of("a").replace("v0.33.0", "v0.33.1"))
    rig.until_active()
    assert len(rig.oracle.deployments_ever(host.uid)) == 1


def set_features(rig: Rig, features: frozenset[str]) -> None:
    rig.sim.prepare((), features)
    ClusterRow.all_accounts.update(features=sorted(features))


def text_of(name: str) -> str:
    return HOST.format(name=name)
