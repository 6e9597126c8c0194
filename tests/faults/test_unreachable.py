"""The cluster does not answer: the API accepts, the status says so, nothing is deleted, billing goes on."""

from datetime import timedelta

from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.costs.models import UsageInterval
from smarter.cluster.simulated import Fault
from tests.db.reconcile.world import HOST
from tests.faults import invariants
from tests.faults.rig import Rig, applied, deploy

AWAY_POLLS = 15
FOREVER = 1_000_000


def cut_off(rig: Rig) -> None:
    rig.sim.inject(Fault(times=FOREVER, message="no route to host"))


def test_the_platform_goes_on_without_its_cluster(rig: Rig) -> None:
    deploy(rig)
    rig.until_active()
    before = rig.versions(rig.host().uid)
    cut_off(rig)
    rig.poll()
    accepted = rig.apply(HOST.format(name="b"))
    assert accepted is not None
    rig.undeploy()
    rig.poll(AWAY_POLLS)
    row = ClusterRow.all_accounts.get()
    assert row.reachable is False
    assert "no route to host" in row.message
    for name in ("a", "b"):
        state = rig.host(name).state
        assert state.last_error.startswith("ClusterUnavailable")
        assert "no route to host" in state.status["message"]
        condition = next(one for one in state.status["conditions"] if one["type"] == "Reconciled")
        assert (condition["status"], condition["reason"]) == ("False", "ClusterUnavailable")
        ready = next(one for one in state.status["conditions"] if one["type"] == "Ready")
        assert ready["status"] == "False", "what cannot be seen at the wanted generation is not ready"
    assert UsageInterval.all_accounts.get().period.upper is None
    failed = [one for one in rig.sim.request_log() if one.outcome == "ClusterUnavailable"]
    assert len(failed) >= AWAY_POLLS // 2
    rig.sim.clear_faults()
    assert rig.versions(rig.host().uid) == before, "nothing was deleted or written"
    rig.poll(2)
    assert applied(rig, "a")
    assert applied(rig, "b")
    rig.until_active("b")
    rig.polls_until(lambda: rig.host().state.phase == "inactive", "inactive")
    rig.poll(2)
    invariants.check(rig.sim, rig.oracle)


def test_a_healthy_host_keeps_its_status_while_its_cluster_is_silent(rig: Rig) -> None:
    deploy(rig)
    rig.until_active()
    rig.poll(2)
    cut_off(rig)
    rig.poll(AWAY_POLLS)
    state = rig.host().state
    assert (state.phase, state.fail_count) == ("active", 0)
    assert ClusterRow.all_accounts.get().reachable is False
    rig.sim.clear_faults()
    rig.poll(2)
    assert ClusterRow.all_accounts.get().reachable is True
    assert rig.is_active()
    invariants.check(rig.sim, rig.oracle)


def test_after_a_long_silence_open_costs_are_marked_as_not_confirmed(rig: Rig) -> None:
    deploy(rig)
    rig.until_active()
    cut_off(rig)
    rig.elapse(timedelta(minutes=20).total_seconds())
    rig.poll(2)
    row = UsageInterval.all_accounts.get()
    assert (row.period.upper, row.confirmed) == (None, False)
    rig.sim.clear_faults()
    rig.poll(2)
    row.refresh_from_db()
    assert (row.period.upper, row.confirmed) == (None, True)
    invariants.the_ledger_is_what_happened(rig.oracle)


def test_the_wait_between_tries_grows(rig: Rig) -> None:
    """A cluster that is away is not hammered."""
    cut_off(rig)
    deploy(rig)
    rig.poll(60)
    tries = rig.host().state.fail_count
    assert 4 <= tries <= 8, tries
