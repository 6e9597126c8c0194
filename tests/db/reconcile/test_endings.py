"""The end of a host: deletes that meet trouble, names that are used again at once, clusters that go away."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from smarter.apps.accounts.actor import Actor
from smarter.apps.costs.models import UsageInterval
from smarter.apps.reconcile.forget import forget
from smarter.apps.reconcile.models import ClusterWatch
from smarter.apps.resources.models import AuditEvent, Event, Resource
from smarter.cluster.simulated import Fault, SimulatedCluster, open_simulated
from smarter.core import naming
from smarter.core.errors import Refused
from smarter.core.objects import DEPLOYMENT, OWNER_UID_LABEL, POD, KubernetesObject, ref_of
from tests.db.reconcile.test_rollout import condition
from tests.db.reconcile.world import HOST, LLM_HOST, World

TEXT = HOST.format(name="a")


def hand(world: World) -> SimulatedCluster:
    return open_simulated(world.sim.path, field_manager="kubectl")


def hold(world: World, kind: str, *finalizers: str) -> KubernetesObject:
    """Somebody's finalizer keeps an object, or, with none, lets it go."""
    body = next(one for one in world.objects(world.host().uid) if one["kind"] == kind)
    metadata = {name: body["metadata"][name] for name in ("name", "namespace")}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return hand(world).apply({"apiVersion": body["apiVersion"], "kind": kind, "metadata": metadata}, force=True)


def rounds(world: World, count: int = 20) -> None:
    for _ in range(count):
        world.round()


def row_of(world: World) -> Resource:
    return world.host()


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_a_host_that_is_being_deployed_can_be_deleted(world: World, steps: int) -> None:
    world.apply(TEXT)
    for _ in range(steps):
        world.round(1)
    uid = world.host().uid
    world.delete()
    rounds(world)
    assert not world.exists()
    assert world.objects(uid) == []
    assert not UsageInterval.for_account(world.actor.account).filter(period__endswith__isnull=True).exists()


def test_an_object_that_is_held_keeps_the_record_and_is_named(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    hold(world, "Service", "example.com/hold")
    world.delete()
    rounds(world, 10)
    assert world.exists()
    assert world.host().state.phase == "deleting"
    message = world.status()["message"]
    assert "Service" in message
    assert "example.com/hold" in message
    assert {one["kind"] for one in world.objects(world.host().uid)} == {"Service"}
    hold(world, "Service")
    rounds(world, 10)
    assert not world.exists()


def test_what_is_held_for_long_is_looked_at_rarely(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.SMARTER, "poll_slow_seconds", 30.0)
    world.apply(TEXT)
    world.settle()
    hold(world, "Service", "example.com/hold")
    world.delete()
    rounds(world, 5)
    Resource.all_accounts.filter(pk=world.host().pk).update(deleting_at=timezone.now() - timedelta(minutes=10))
    world.round()
    due = world.host().state.next_check_at
    assert due is not None
    assert due - timezone.now() > timedelta(seconds=20)


@pytest.mark.parametrize("verb", ["delete", "list"])
def test_a_refused_delete_is_not_called_gone(world: World, verb: str) -> None:
    """C60. Everything else is removed all the same, where it was only a delete that was refused."""
    world.apply(TEXT)
    world.settle()
    world.sim.inject(Fault(verb=verb, kind="Service", status=403, times=500, message="not allowed"))
    world.delete()
    rounds(world, 10)
    assert world.exists()
    state = world.host().state
    assert (state.phase, world.status()["hostStatus"]) == ("deleting", "deleting")
    assert "not allowed" in world.status()["message"]
    found = condition(world, "Reconciled")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "Forbidden")
    world.sim.clear_faults()
    if verb == "delete":
        assert {one["kind"] for one in world.objects(world.host().uid)} == {"Service"}
    rounds(world)
    assert not world.exists()


def test_a_refused_delete_keeps_an_undeployed_host_from_being_called_inactive(world: World) -> None:
    """C60."""
    world.apply(TEXT)
    world.settle()
    world.sim.inject(Fault(verb="delete", kind="Deployment", status=403, times=500, message="not allowed"))
    world.undeploy()
    rounds(world, 6)
    assert world.host().state.phase == "error"
    assert "Deployment" in world.status()["message"]
    assert UsageInterval.for_account(world.actor.account).filter(period__endswith__isnull=True).exists(), "it costs"
    world.sim.clear_faults()
    world.settle(phase="inactive")


def test_the_same_name_at_once_waits_and_is_another_host(world: World) -> None:
    """C56."""
    world.apply(TEXT)
    world.settle()
    first = world.host().uid
    world.delete()
    with pytest.raises(Refused) as refused:
        world.apply(TEXT)
    assert (refused.value.status, refused.value.code) == (409, "deleting")
    for _ in range(60):
        world.round(1)
        try:
            world.apply(TEXT)
        except Refused:
            continue
        break
    world.settle()
    assert world.host().uid != first
    assert world.objects(first) == []
    assert world.host().state.ready


def test_a_cluster_that_is_away_and_comes_back(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    before = world.versions(world.host().uid)
    world.sim.inject(Fault(times=400))
    world.apply(TEXT.replace("v0.33.0", "v0.33.1"))
    rounds(world, 3)
    found = condition(world, "Reconciled")
    assert found is not None
    assert found["reason"] == "ClusterUnavailable"
    assert not world.host().state.restored
    world.sim.clear_faults()
    assert world.versions(world.host().uid) == before
    world.settle()
    body = next(one for one in world.objects(world.host().uid) if one["kind"] == DEPLOYMENT.kind)
    assert body["spec"]["template"]["spec"]["containers"][0]["image"].endswith("v0.33.1")


def gone_for_good(world: World) -> None:
    world.sim.inject(Fault(times=10_000, message="no such host"))


def platform(world: World) -> Actor:
    return Actor(world.actor.user, world.actor.account, "admin", is_platform_admin=True)


def test_a_cluster_that_is_gone_keeps_the_record_until_it_is_forced(world: World) -> None:
    """C59."""
    world.apply(TEXT)
    world.settle()
    uid = world.host().uid
    seen = ClusterWatch.objects.get(cluster=world.cluster).observed_at
    gone_for_good(world)
    world.delete()
    rounds(world, 8)
    assert world.host().state.phase == "deleting"
    assert "no such host" in world.status()["message"]
    due = world.host().state.next_check_at
    assert due is not None
    assert due - timezone.now() > timedelta(seconds=30), "no more than once a minute"
    with pytest.raises(Refused) as refused:
        forget(world.actor, LLM_HOST, "a")
    assert refused.value.status == 403
    found = forget(platform(world), LLM_HOST, "a")
    assert not world.exists()
    assert any(name.startswith("Deployment ") for name in found.remains)
    assert world.cluster.name in found.message
    interval = UsageInterval.for_account(world.actor.account).get()
    assert interval.period.upper is not None
    assert seen is not None
    assert interval.period.upper <= max(seen, interval.period.lower + timedelta(seconds=1)), (
        "where it was heard of last"
    )
    told = Event.for_account(world.actor.account).get(resource_uid=uid, reason="Deleted")
    assert (told.type, "may remain" in told.message) == ("Warning", True)
    assert AuditEvent.for_account(world.actor.account).filter(verb="delete", outcome="forced").count() == 1


def test_what_remained_is_removed_when_the_cluster_is_seen_again(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    uid = world.host().uid
    world.apply(HOST.format(name="b"))
    world.settle("b")
    gone_for_good(world)
    world.round()
    forget(platform(world), LLM_HOST, "a")
    world.sim.clear_faults()
    rounds(world, 15)
    assert world.objects(uid) == []
    assert world.host("b").state.ready


def test_the_name_is_free_after_force(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    forget(platform(world), LLM_HOST, "a")
    world.apply(TEXT)
    world.settle()
    assert world.host().state.ready


def test_a_namespace_that_is_full_of_others_things_is_left_alone(world: World) -> None:
    """What others put beside a host outlives it."""
    world.apply(TEXT)
    world.settle()
    namespace = naming.namespace(world.actor.account.number)
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": namespace}}
    kept = hand(world).apply({**mine, "data": {"a": "b"}})
    world.delete()
    rounds(world)
    assert not world.exists()
    assert world.sim.get(ref_of(kept)) is not None


def test_a_kind_that_may_not_be_listed_hides_only_what_has_one(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    closed = HOST.format(name="b").replace("ingress: true", "ingress: false")
    world.apply(closed)
    world.settle("b")
    world.sim.inject(Fault(verb="list", kind="Ingress", status=403, times=5000, message="may not list ingresses"))
    rounds(world, 4)
    world.cluster.refresh_from_db()
    assert world.cluster.reachable is True
    assert world.host().state.phase == "active"
    assert "may not list ingresses" in world.status()["message"]
    pods = world.sim.list(POD, label_selector=f"{OWNER_UID_LABEL}={world.host('b').uid}")
    world.sim.delete(ref_of(pods[0]))
    before = world.host("b").state.seen_digest
    rounds(world, 3)
    assert world.host("b").state.seen_digest != before, "the other one is looked at"
    world.sim.clear_faults()
    rounds(world, 6)
    assert world.status()["message"] == ""
