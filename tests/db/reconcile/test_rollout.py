"""How pods are replaced: with a new one beside the old where the cluster has room now, after the old one otherwise."""

from smarter.apps.resources.models import ResourceState
from smarter.cluster.simulated import Fault
from smarter.core import naming
from smarter.core.objects import COMPUTE_LABEL, DEPLOYMENT, POD, RESOURCE_QUOTA, KubernetesObject
from tests.db.reconcile.world import HOST, World

SHARED = HOST.format(name="a") + "  storage:\n    accessMode: ReadWriteMany\n    storageClass: kwok-volume-rwx\n"
NEXT = SHARED.replace("v0.33.0", "v0.33.1")


def deployment(world: World, name: str = "a") -> KubernetesObject:
    return next(body for body in world.objects(world.host(name).uid) if body["kind"] == DEPLOYMENT.kind)


def pods(world: World, name: str = "a") -> list[KubernetesObject]:
    """Replicas, without the pod that brings the weights."""
    found = [body for body in world.objects(world.host(name).uid) if body["kind"] == POD.kind]
    return [body for body in found if COMPUTE_LABEL in body["metadata"]["labels"]]


def strategy(world: World) -> tuple[str, int | None]:
    found = deployment(world)["spec"]["strategy"]
    return found["type"], (found.get("rollingUpdate") or {}).get("maxSurge")


def condition(world: World, kind: str, name: str = "a") -> dict[str, str] | None:
    return next((one for one in world.status(name)["conditions"] if one["type"] == kind), None)


def fill(world: World, count: int, compute: str = "gpu_l4_1x") -> None:
    """Pods of nobody's take the GPUs of a node type."""
    for index in range(count):
        amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
        container = {"name": "x", "image": "example.com/x:1", "resources": {"requests": amounts, "limits": amounts}}
        spec = {
            "containers": [container],
            "nodeSelector": {"smarter.sh/compute": compute},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"other-{index}", "namespace": "default"}}
        world.sim.apply({**body, "spec": spec})
    world.sim.pass_time(30)


def replicas_at_once(world: World, text: str) -> list[int]:
    """How many replicas served at the end of each step of a rollout."""
    world.apply(text)
    counts = []
    for _ in range(30):
        world.round(1)
        counts.append(sum(1 for pod in pods(world) if is_ready(pod)))
    world.settle()
    return counts


def is_ready(pod: KubernetesObject) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return not pod["metadata"].get("deletionTimestamp") and any(
        one["type"] == "Ready" and one["status"] == "True" for one in conditions
    )


def test_with_a_free_slot_the_new_replica_starts_beside_the_old(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    assert condition(world, "Rollout") is None
    counts = replicas_at_once(world, NEXT)
    assert strategy(world) == ("RollingUpdate", 1)
    assert min(counts) >= 1
    found = condition(world, "Rollout")
    assert found is not None
    assert (found["status"], found["reason"]) == ("True", "Surge")
    assert "has room" in found["message"]


def test_without_one_the_old_replica_stops_first(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    fill(world, 1)
    counts = replicas_at_once(world, NEXT)
    assert strategy(world) == ("Recreate", None)
    assert 0 in counts
    found = condition(world, "Rollout")
    assert found is not None
    assert (found["reason"], "nvidia.com/gpu" in found["message"]) == ("Recreate", True)


def test_a_node_that_is_not_ready_is_no_room(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    mine = pods(world)[0]["spec"]["nodeName"]
    other = next(name for name in ("gpu-l4-1", "gpu-l4-2") if name != mine)
    world.sim.set_node_ready(other, False)
    world.apply(NEXT)
    world.settle()
    assert strategy(world) == ("Recreate", None)


def test_the_quota_of_the_account_counts_as_room(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    namespace = naming.namespace(world.actor.account.number)
    quota = world.sim.list(RESOURCE_QUOTA, namespace=namespace)[0]
    metadata = {"name": "tight", "namespace": namespace}
    kept = {"apiVersion": quota["apiVersion"], "kind": quota["kind"], "metadata": metadata}
    world.sim.apply({**kept, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}})
    world.sim.pass_time(5)
    world.apply(NEXT)
    world.settle()
    found = condition(world, "Rollout")
    assert found is not None
    assert (found["reason"], "quota" in found["message"]) == ("Recreate", True)


def test_a_volume_of_one_node_is_never_shared_by_two_replicas(world: World) -> None:
    """C52."""
    text = HOST.format(name="a")
    world.apply(text)
    world.settle()
    assert strategy(world) == ("Recreate", None)
    world.sim.clear_request_log()
    world.apply(text.replace("v0.33.0", "v0.33.1"))
    world.settle()
    assert strategy(world) == ("Recreate", None)
    found = condition(world, "Rollout")
    assert found is not None
    assert (found["reason"], "volume" in found["message"]) == ("Recreate", True)
    assert not [one for one in world.sim.request_log() if one.kind == "Node"], "nothing was read"


def test_the_choice_stays_when_the_room_changes(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.apply(NEXT)
    world.settle()
    before = world.versions(world.host().uid)
    fill(world, 1)
    world.apply(NEXT)
    for _ in range(5):
        world.round()
    assert world.versions(world.host().uid) == before
    assert strategy(world) == ("RollingUpdate", 1)


def test_room_is_read_for_rollouts_only(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.sim.clear_request_log()
    world.apply(SHARED)
    world.apply(SHARED + "  scaling:\n    replicas: 2\n")
    world.settle()
    assert [one for one in world.sim.request_log() if one.verb == "list" and one.kind == "Node"] == []
    world.apply(NEXT + "  scaling:\n    replicas: 2\n")
    world.settle()
    assert len([one for one in world.sim.request_log() if one.verb == "list" and one.kind == "Node"]) == 1


def test_who_may_not_read_the_room_is_on_the_safe_side(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.sim.inject(Fault(verb="list", kind="Node", status=403, times=5))
    world.apply(NEXT)
    world.settle()
    found = condition(world, "Rollout")
    assert found is not None
    assert (found["reason"], "cannot be read" in found["message"]) == ("Recreate", True)


def test_a_choice_outlives_a_pass_that_is_cut_off(world: World) -> None:
    """The answer to the apply is lost after the choice; with the room gone, the same choice is carried out."""
    world.apply(SHARED)
    world.settle()
    world.sim.inject(Fault(verb="apply", kind="Deployment", status=0, moment="after"))
    world.apply(NEXT)
    world.round()
    chosen = ResourceState.objects.get(resource=world.host()).rollout
    assert chosen["surge"] is True
    world.settle()
    assert strategy(world) == ("RollingUpdate", 1)
    assert world.host().state.rollout == chosen


def test_several_replicas_go_one_by_one_without_room(world: World) -> None:
    text = SHARED + "  scaling:\n    replicas: 2\n"
    world.apply(text)
    world.settle()
    counts = replicas_at_once(world, text.replace("v0.33.0", "v0.33.1"))
    assert strategy(world) == ("RollingUpdate", 0)
    assert min(counts) >= 1
