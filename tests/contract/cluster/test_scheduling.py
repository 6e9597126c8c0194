"""Which node a pod gets, and what is said when it gets none. Every case has nodes of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from smarter.core.objects import DEPLOYMENT, KubernetesObject, ObjectRef
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import await_pod, await_pods, pods_of

MakeNode = Callable[..., KubernetesObject]


def _unschedulable(pod: KubernetesObject) -> bool:
    return bodies.condition_part(pod, "PodScheduled", "reason") == "Unschedulable"


def _message(pod: KubernetesObject) -> str:
    return bodies.condition_part(pod, "PodScheduled", "message")


def _await_unschedulable(backend: Backend, namespace: str, app: str = "host") -> str:
    pod = await_pod(backend, namespace, "the pod cannot be placed", _unschedulable, app)
    assert pod["status"]["phase"] == "Pending"
    assert bodies.condition(pod, "PodScheduled") == "False"
    return _message(pod)


def test_gpu_pod_lands_on_its_node(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    node = make_node(gpus=2)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(gpus=1, node=node)))
    assert await_pods(backend, namespace, 1)[0]["spec"]["nodeName"] == node["metadata"]["name"]


def test_too_many_gpus(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    node = make_node(gpus=2)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(gpus=3, node=node)))
    # The scheduler may say something else first, while the new node is still marked as not ready.
    await_pod(backend, namespace, "too few GPUs", lambda pod: f"Insufficient {bodies.GPU}" in _message(pod))


def test_the_last_gpu_is_given_once(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    node = make_node(gpus=2)
    backend.cluster.apply(bodies.deployment(namespace, "first", spec=bodies.pod_spec(gpus=1, node=node), replicas=2))
    await_pods(backend, namespace, 2, "first")
    backend.cluster.apply(bodies.deployment(namespace, "second", spec=bodies.pod_spec(gpus=1, node=node)))
    _await_unschedulable(backend, namespace, "second")
    backend.cluster.apply(bodies.deployment(namespace, "first", spec=bodies.pod_spec(gpus=1, node=node), replicas=1))
    await_pods(backend, namespace, 1, "second")


def test_rolling_update_on_the_last_gpu_waits(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    node = make_node(gpus=1)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(gpus=1, node=node)))
    old = await_pods(backend, namespace, 1)[0]
    changed = bodies.pod_spec(bodies.container(image="example.com/engine:2"), gpus=1, node=node)
    backend.cluster.apply(bodies.deployment(namespace, spec=changed))
    _await_unschedulable(backend, namespace)
    assert old["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in pods_of(backend, namespace)}


def test_recreate_on_the_last_gpu_succeeds(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    node, strategy = make_node(gpus=1), {"type": "Recreate"}
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(gpus=1, node=node), strategy=strategy))
    await_pods(backend, namespace, 1)
    changed = bodies.pod_spec(bodies.container(image="example.com/engine:2"), gpus=1, node=node)
    backend.cluster.apply(bodies.deployment(namespace, spec=changed, strategy=strategy))

    def replaced() -> bool:
        pods = pods_of(backend, namespace)
        return [pod["spec"]["containers"][0]["image"] for pod in pods] == ["example.com/engine:2"]

    backend.eventually(replaced, "the new pod")
    await_pods(backend, namespace, 1)


def test_gpu_taint_keeps_others_away(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    node = make_node(gpus=1)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(node=node)))
    assert "untolerated taint" in _await_unschedulable(backend, namespace)


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": bodies.GPU, "operator": "Exists"},
        {"key": bodies.GPU, "operator": "Exists", "effect": "NoSchedule"},
        {"key": bodies.GPU, "operator": "Equal", "value": "present", "effect": "NoSchedule"},
        {"key": bodies.GPU, "value": "present"},
        {"operator": "Exists"},
    ],
)
def test_tolerations(backend: Backend, namespace: str, make_node: MakeNode, toleration: dict[str, Any]) -> None:
    node = make_node(gpus=1)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(node=node, tolerations=[toleration])))
    await_pods(backend, namespace, 1)


@pytest.mark.parametrize(
    "toleration",
    [{"key": bodies.GPU, "value": "absent"}, {"key": bodies.GPU, "operator": "Exists", "effect": "NoExecute"}],
)
def test_tolerations_that_do_not_fit(
    backend: Backend, namespace: str, make_node: MakeNode, toleration: dict[str, Any]
) -> None:
    node = make_node(gpus=1)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(node=node, tolerations=[toleration])))
    assert "untolerated taint" in _await_unschedulable(backend, namespace)


def test_selector_that_no_node_has(backend: Backend, namespace: str) -> None:
    spec = bodies.pod_spec(nodeSelector={"smarter.sh/compute": "none_such"})
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    assert "didn't match Pod's node affinity/selector" in _await_unschedulable(backend, namespace)


def test_node_that_comes_later(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    label = {"smarter.sh/contract-late": namespace}
    spec = bodies.pod_spec(nodeSelector=label, tolerations=[{"key": bodies.GPU, "operator": "Exists"}])
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    _await_unschedulable(backend, namespace)
    # The pod does not tolerate a node that is not ready yet: the simulator of nodes may miss what comes too early.
    node = make_node(taint=True, labels=label)
    assert await_pods(backend, namespace, 1)[0]["spec"]["nodeName"] == node["metadata"]["name"]


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["a", "b"], True),
        ("In", ["c"], False),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("Gt", ["1"], False),
    ],
)
def test_node_affinity(
    backend: Backend, namespace: str, make_node: MakeNode, operator: str, values: list[str], fits: bool
) -> None:
    node = make_node(taint=True, labels={"smarter.sh/contract-type": "a"})
    requirement = {"key": "smarter.sh/contract-type", "operator": operator}
    expression = {**requirement, "values": values} if values else requirement
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    spec = bodies.pod_spec(node=node, affinity=affinity, tolerations=[{"operator": "Exists"}])
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    if fits:
        await_pods(backend, namespace, 1)
    else:
        assert "affinity" in _await_unschedulable(backend, namespace)


@pytest.mark.parametrize(("resource", "amount"), [("cpu", "64"), ("memory", "1Ti")])
def test_too_big_for_the_node(
    backend: Backend, namespace: str, make_node: MakeNode, resource: str, amount: str
) -> None:
    node = make_node(taint=True)
    container = bodies.container(resources={"requests": {resource: amount}})
    spec = bodies.pod_spec(container, node=node, tolerations=[{"operator": "Exists"}])
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    assert f"Insufficient {resource}" in _await_unschedulable(backend, namespace)


def test_init_containers_count_once(backend: Backend, namespace: str, make_node: MakeNode) -> None:
    """The node has 4 CPUs: 3 for the container, or 3 for the init container before it, fit; the sum would not."""
    node = make_node(taint=True)
    container = bodies.container(resources={"requests": {"cpu": "3"}})
    init = [bodies.container("fetch", resources={"requests": {"cpu": "3"}})]
    spec = bodies.pod_spec(container, node=node, initContainers=init, tolerations=[{"operator": "Exists"}])
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    await_pods(backend, namespace, 1)


def test_pod_waits_for_its_claim(backend: Backend, namespace: str) -> None:
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": "weights"}}]
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes)))
    assert 'persistentvolumeclaim "weights" not found' in _await_unschedulable(backend, namespace)
    backend.cluster.apply(bodies.claim(namespace))
    await_pods(backend, namespace, 1)


def test_pod_waits_for_a_claim_that_is_pending(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace, storageClassName="not-there"))
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": "weights"}}]
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes)))
    assert "unbound immediate PersistentVolumeClaims" in _await_unschedulable(backend, namespace)


def test_deployment_without_a_place_is_unavailable(backend: Backend, namespace: str) -> None:
    spec = bodies.pod_spec(nodeSelector={"smarter.sh/compute": "none_such"})
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    _await_unschedulable(backend, namespace)

    def reported() -> bool:
        found = backend.cluster.get(ObjectRef(DEPLOYMENT, namespace, "host"))
        return found is not None and bodies.condition(found, "Available") == "False"

    backend.eventually(reported, "the Deployment is not available")
