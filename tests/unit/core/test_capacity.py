"""Free room: the arithmetic of the scheduler, for one more pod."""

from typing import Any

import pytest

from smarter.core.capacity import over_quota, requests_of, room_for
from smarter.core.objects import KubernetesObject

GPU = "nvidia.com/gpu"
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


def node(name: str = "n1", *, ready: bool = True, **changes: Any) -> KubernetesObject:
    return {
        "metadata": {"name": name, "labels": {"type": "l4"} | changes.get("labels", {})},
        "spec": {"taints": changes.get("taints", [TAINT]), "unschedulable": changes.get("cordoned", False)},
        "status": {
            "allocatable": {"cpu": "7910m", "memory": "30Gi", GPU: "1"} | changes.get("offers", {}),
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
        },
    }


def spec(**amounts: str) -> dict[str, Any]:
    requests = {"cpu": "3", "memory": "12Gi", GPU: "1"} | {
        name.replace("gpu", GPU): text for name, text in amounts.items()
    }
    return {
        "nodeSelector": {"type": "l4"},
        "tolerations": [{"key": GPU, "operator": "Exists"}],
        "containers": [{"name": "engine", "resources": {"requests": requests}}],
    }


def pod(on: str | None = "n1", phase: str = "Running", leaving: bool = False, **amounts: str) -> KubernetesObject:
    metadata = {"deletionTimestamp": "2026-11-30T10:00:00Z"} if leaving else {}
    return {
        "metadata": metadata,
        "spec": {**spec(**amounts), **({"nodeName": on} if on else {})},
        "status": {"phase": phase},
    }


def test_an_empty_node_that_fits_is_room() -> None:
    assert room_for(spec(), [node()], []).node == "n1"


@pytest.mark.parametrize(
    ("nodes", "pods"),
    [
        ([], []),
        ([node(ready=False)], []),
        ([node(cordoned=True)], []),
        ([node(labels={"type": "h100"})], []),
        ([node(taints=[TAINT, {"key": "own", "effect": "NoExecute"}])], []),
        ([node(offers={GPU: "0"})], []),
        ([node(offers={"cpu": "2"})], []),
        ([node(offers={"pods": "0"})], []),
        ([node()], [pod()]),
        ([node()], [pod(phase="Pending")]),
        ([node()], [pod(leaving=True)]),
        ([node()], [pod(cpu="6", gpu="0")]),
        ([node()], [pod(on=None)]),
    ],
    ids=[
        "no node", "not ready", "cordoned", "labels", "taint", "no gpu", "cpu", "pods", "taken", "starting", "stopping",
        "cpu taken", "promised",
    ],
)  # fmt: skip
def test_no_room(nodes: list[KubernetesObject], pods: list[KubernetesObject]) -> None:
    found = room_for(spec(), nodes, pods)
    assert found.node is None
    assert found.why


@pytest.mark.parametrize(
    "pods",
    [[pod(phase="Succeeded")], [pod(phase="Failed")], [pod(on="elsewhere")], [pod(on=None, leaving=True)]],
    ids=["ended", "failed", "another node", "never placed and going"],
)
def test_what_takes_nothing_here_is_not_counted(pods: list[KubernetesObject]) -> None:
    assert room_for(spec(), [node()], pods).node == "n1"


def test_what_is_lacking_is_named() -> None:
    assert "nvidia.com/gpu" in room_for(spec(), [node(), node("n2")], [pod(), pod("n2")]).why
    assert room_for(spec(), [node(), node("n2")], [pod()]).node == "n2"


def test_init_containers_count_where_they_ask_for_more() -> None:
    containers = [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]
    first = [{"resources": {"requests": {"cpu": "2"}}}]
    beside = [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]
    found = requests_of({"containers": containers * 2, "initContainers": beside + first})
    assert (found["cpu"], found["memory"], found["pods"]) == (3, 2 * 2**30, 1)


def test_amounts_of_others_that_cannot_be_read_count_as_nothing() -> None:
    strange = {"metadata": {}, "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}
    assert room_for(spec(), [node()], [strange]).node == "n1"


@pytest.mark.parametrize(
    ("hard", "used", "exceeded"),
    [
        ({"requests.nvidia.com/gpu": "2"}, {"requests.nvidia.com/gpu": "1"}, None),
        ({"requests.nvidia.com/gpu": "1"}, {"requests.nvidia.com/gpu": "1"}, "requests.nvidia.com/gpu"),
        ({"requests.memory": "20Gi"}, {"requests.memory": "12Gi"}, "requests.memory"),
        ({"cpu": "4"}, {"cpu": "3"}, "cpu"),
        ({"pods": "1"}, {"pods": "1"}, "pods"),
        ({"services": "0"}, {"services": "0"}, None),
    ],
)
def test_a_quota_that_one_more_pod_would_exceed(hard: Any, used: Any, exceeded: str | None) -> None:
    assert over_quota(spec(), [{"status": {"hard": hard, "used": used}}]) == exceeded
