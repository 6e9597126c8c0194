"""The life of a host on the simulated cluster: from a manifest to active, through edits, to nothing."""

from datetime import timedelta
from decimal import Decimal

import pytest

from smarter.apps.costs.queries import spent
from smarter.apps.resources.models import Event, ResourceState
from smarter.cluster.simulated import Fault
from smarter.core import naming
from smarter.core.objects import DEPLOYMENT, NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA, SECRET, SERVICE, ObjectRef
from tests.db.reconcile.world import HOST, World

TEXT = HOST.format(name="a")


def kinds_of(world: World, uid: object) -> set[str]:
    return {body["kind"] for body in world.objects(uid)}


def test_a_manifest_becomes_a_running_host_with_all_its_objects(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    host = world.host()
    expected = {"Secret", "PersistentVolumeClaim", "Deployment", "Service", "Ingress", "Certificate", "Pod"}
    assert kinds_of(world, host.uid) == expected
    status = world.status()
    assert status["hostStatus"] == "active"
    assert status["readyReplicas"] == 1
    assert status["endpoint"].endswith(".svc.cluster.local/v1")
    assert status["observedGeneration"] == host.generation
    assert status["pricePerHour"] == "0.9776"
    assert {condition["type"]: condition["status"] for condition in status["conditions"]}["Ready"] == "True"


def test_the_walls_stand_before_the_workload(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    applied = [one.kind for one in world.sim.request_log() if one.verb == "apply" and one.manager == "smarter"]
    assert applied[0] == "Namespace"
    for wall in (NETWORK_POLICY.kind, RESOURCE_QUOTA.kind):
        assert applied.index(wall) < applied.index(DEPLOYMENT.kind)


def test_looking_again_writes_nothing(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    before = world.versions(world.host().uid)
    world.sim.clear_request_log()
    world.apply(TEXT)
    for _ in range(5):
        world.round()
    assert world.writes() == []
    assert world.versions(world.host().uid) == before
    assert world.host().generation == 1


def test_a_changed_image_rolls_once(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    pods = {body["metadata"]["uid"] for body in world.objects(world.host().uid) if body["kind"] == "Pod"}
    world.sim.clear_request_log()
    world.apply(TEXT.replace("v0.33.0", "v0.33.1"))
    world.settle()
    assert world.writes() == [("apply", "Deployment")]
    after = {body["metadata"]["uid"] for body in world.objects(world.host().uid) if body["kind"] == "Pod"}
    assert len(after) == 1
    assert after.isdisjoint(pods)


def test_ingress_off_removes_what_made_it_public(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    world.apply(TEXT.replace("ingress: true", "ingress: false"))
    world.settle()
    assert {"Ingress", "Certificate"}.isdisjoint(kinds_of(world, world.host().uid))
    assert world.status()["publicUrl"] is None


def test_undeploy_keeps_the_weights_and_deploy_finds_them_again(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    volume = next(body for body in world.objects(world.host().uid) if body["kind"] == "PersistentVolumeClaim")
    world.undeploy()
    world.settle(phase="inactive")
    assert kinds_of(world, world.host().uid) == {"PersistentVolumeClaim"}
    world.apply(TEXT)
    world.settle()
    again = next(body for body in world.objects(world.host().uid) if body["kind"] == "PersistentVolumeClaim")
    assert again["metadata"]["uid"] == volume["metadata"]["uid"]


def test_undeploy_without_retain_removes_the_volume_too(world: World) -> None:
    world.apply(TEXT + "  storage:\n    retain: false\n")
    world.settle()
    world.undeploy()
    world.settle(phase="inactive")
    assert kinds_of(world, world.host().uid) == set()


def test_delete_removes_everything_and_then_the_row(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    uid = world.host().uid
    assert world.delete() is False
    for _ in range(20):
        world.round()
    assert not world.exists()
    assert world.objects(uid) == []
    namespace = naming.namespace(world.actor.account.number)
    assert [body["metadata"]["name"] for body in world.sim.list(SECRET, namespace=namespace)] == []
    assert Event.for_account(world.actor.account).filter(resource_uid=uid, reason="Deleted").exists()


def test_a_certificate_outlives_an_undeploy_and_goes_with_the_host(world: World) -> None:
    world.apply(TEXT + "  storage:\n    retain: false\n")
    world.settle()
    world.undeploy()
    world.settle(phase="inactive")
    namespace = naming.namespace(world.actor.account.number)
    assert len(world.sim.list(SECRET, namespace=namespace)) == 1
    world.delete()
    for _ in range(20):
        world.round()
    assert not world.exists()
    assert world.sim.list(SECRET, namespace=namespace) == []


def test_what_never_ran_may_change_in_every_way(world: World) -> None:
    world.apply(TEXT + "  storage:\n    size: 200Gi\n", deploy=False)
    world.apply(TEXT + "  storage:\n    size: 60Gi\n", deploy=False)
    assert world.host().spec["storage"] == {"size": "60Gi"}


def test_the_same_name_again_is_another_host(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    first = world.host().uid
    world.delete()
    for _ in range(20):
        world.round()
    world.apply(TEXT)
    world.settle()
    assert world.host().uid != first
    assert world.objects(first) == []


@pytest.mark.parametrize("kind", [SERVICE, DEPLOYMENT])
def test_what_a_hand_removed_comes_back(world: World, kind) -> None:
    world.apply(TEXT)
    world.settle()
    uid = world.host().uid
    body = next(body for body in world.objects(uid) if body["kind"] == kind.kind)
    world.sim.delete(ObjectRef(kind, body["metadata"]["namespace"], body["metadata"]["name"]))
    world.round()
    world.round()
    assert kind.kind in kinds_of(world, uid)
    assert len([body for body in world.objects(uid) if body["kind"] == kind.kind]) == 1


def test_a_namespace_that_somebody_removed_is_built_again(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    world.sim.delete(ObjectRef(NAMESPACE, "", naming.namespace(world.actor.account.number)))
    for _ in range(10):
        world.round()
    world.settle()


def test_money_is_counted_from_the_pod_and_shown(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    host = world.host()
    pod = next(body for body in world.objects(host.uid) if body["kind"] == "Pod")
    world.sim.pass_time(3600)
    now = world.sim.now()
    found = spent(host.account_id, [host.uid], now)[host.uid]
    assert found.pod_hours == pytest.approx(Decimal(1), abs=Decimal("0.05"))
    assert found.cost == pytest.approx(found.pod_hours * Decimal("0.9776"), rel=Decimal("0.001"))
    world.undeploy()
    world.settle(phase="inactive")
    stopped = spent(host.account_id, [host.uid], now + timedelta(days=3))[host.uid]
    assert spent(host.account_id, [host.uid], now + timedelta(days=30))[host.uid] == stopped
    assert pod["status"]["startTime"]


def test_a_cluster_that_is_away_changes_nothing_and_is_named(world: World) -> None:
    world.apply(TEXT)
    world.settle()
    before = world.versions(world.host().uid)
    world.sim.inject(Fault(times=50))
    world.round()
    world.cluster.refresh_from_db()
    assert world.cluster.reachable is False
    world.apply(HOST.format(name="b"))
    world.round()
    assert "scripted fault" in world.host("b").state.last_error or world.host("b").state.fail_count > 0
    world.sim.clear_faults()
    world.settle("b")
    assert world.versions(world.host().uid) == before
    assert world.host().state.phase == "active"


def test_one_poisoned_resource_does_not_stop_the_others(world: World) -> None:
    world.apply(HOST.format(name="bad"))
    host = world.host("bad")
    host.spec = {"engine": 7}
    host.save()
    world.apply(TEXT)
    world.settle()
    state = ResourceState.objects.get(resource=host)
    assert state.last_error.startswith("UnreadableManifest")
    assert state.next_check_at is not None
