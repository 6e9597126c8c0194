"""What the simulation knows of nodes that run their pods as processes: which they are, which ports they have left, and
that their pods move by themselves and not by timers. The processes are the business of `smarter/cluster/processes`.

Such a node is ready as long as its own process renews its lease. When the lease runs out the programs are gone, since
they die with that process, so that pods which are being deleted can go.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from smarter.cluster.simulation.nodes import ready_condition
from smarter.cluster.simulation.world import World, is_leaving, is_true, set_condition
from smarter.core.objects import KubernetesObject

FOLDER_ANNOTATION = "smarter.sh/process-folder"
"""On a node that runs processes: where it keeps volumes and logs."""
LEASE = "lease"


def folder_of(node: KubernetesObject | None) -> Path | None:
    """None for a simulated node."""
    text = ((node or {}).get("metadata", {}).get("annotations") or {}).get(FOLDER_ANNOTATION)
    return Path(text) if text else None


def folder_of_pod(world: World, pod: KubernetesObject) -> Path | None:
    name = pod["spec"].get("nodeName")
    return folder_of(world.get("Node", "", name)) if name else None


def is_alive(world: World, pod: KubernetesObject) -> bool:
    """Whether a process looks after the pod, so that no timer may."""
    node = world.get("Node", "", pod["spec"].get("nodeName", ""))
    return node is not None and folder_of(node) is not None and is_true(node, "Ready")


def clash(world: World, pod: KubernetesObject, node: KubernetesObject) -> bool:
    """Whether the pod wants a port that one of the node's pods has: they share the machine's loopback address."""
    if folder_of(node) is None:
        return False
    others = [other for other in world.on_node(node["metadata"]["name"]) if not _is_over(other)]
    taken = {port for other in others for port in _ports(other)}
    return not taken.isdisjoint(_ports(pod))


def renew(world: World, node: KubernetesObject, seconds: float) -> None:
    """The node's process is there, and will be heard of again within `seconds`."""
    now = world.timestamp()
    conditions = node["status"].get("conditions") or []
    if is_true(node, "Ready"):
        conditions[0]["lastHeartbeatTime"] = now
    else:
        node["status"]["conditions"] = [ready_condition(world, True)]
    world.put(node)
    world.wake(node, LEASE, seconds)


def lose(world: World, node: KubernetesObject) -> None:
    """Nothing was heard of the node's process for the length of its lease, or it said good-bye."""
    node["status"]["conditions"] = [ready_condition(world, False)]
    world.put(node)
    for pod in world.on_node(node["metadata"]["name"]):
        if is_leaving(pod):
            world.wake(pod, "gone", 0.0)
        elif not _is_over(pod):
            _forsake(world, pod)


def _forsake(world: World, pod: KubernetesObject) -> None:
    status: dict[str, Any] = pod["status"]
    for state in status.get("containerStatuses") or ():
        state["ready"] = False
    for kind in ("Ready", "ContainersReady"):
        words = "The process that runs the pods of this node has ended"
        set_condition(status["conditions"], kind, "False", "NodeNotReady", words, world.timestamp())
    world.put(pod)
    world.warn(pod, "NodeNotReady", "Node is not ready")


def _is_over(pod: KubernetesObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _ports(pod: KubernetesObject) -> Iterable[int]:
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("protocol", "TCP") == "TCP":
                yield port["containerPort"]
