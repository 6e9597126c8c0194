"""The scheduler: finds a node for a pod by readiness, selectors, taints, volumes and what is still free, and says why
none fits. `loop.py` calls `schedule` for every pod without a node.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from smarter.cluster import quantity
from smarter.cluster.simulation import process_nodes, selectors
from smarter.cluster.simulation.admission import requests_of
from smarter.cluster.simulation.world import World, fate_of, is_true, set_condition
from smarter.core.objects import KubernetesObject

_DEFAULT_PODS = 110


@dataclass(slots=True)
class Room:
    """What one node has left."""

    node: KubernetesObject
    cpu: int
    memory: int
    pods: int
    extended: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Need:
    cpu: int
    memory: int
    extended: Mapping[str, int]


def schedule(world: World, pod: KubernetesObject) -> bool:
    """True if the pod has a node now."""
    volumes_fault = _volumes_fault(world, pod)
    rooms = rooms_of(world)
    need = need_of(pod)
    why: Counter[str] = Counter()
    fitting = []
    for room in rooms.values():
        reasons = _misfits(pod, need, room)
        if not reasons and process_nodes.clash(world, pod, room.node):
            reasons = ["node(s) didn't have free ports for the requested pod ports"]
        if not reasons and _volume_is_elsewhere(world, pod, room.node):
            reasons = ["node(s) didn't match PersistentVolume's node affinity"]
        why.update(reasons)
        if not reasons:
            fitting.append(room)
    if volumes_fault or not fitting:
        _report(world, pod, volumes_fault or _message(len(rooms), why))
        return False
    best = min(fitting, key=lambda room: _preference(need, room))
    _bind(world, pod, need, best)
    return True


def need_of(pod: KubernetesObject) -> Need:
    amounts = requests_of(pod["spec"])
    extended = {name: int(amount) for name, amount in amounts.items() if "/" in name}
    cpu, memory = amounts.get("cpu"), amounts.get("memory")
    return Need(int(cpu * 1000) if cpu else 0, int(memory) if memory else 0, extended)


def rooms_of(world: World) -> dict[str, Room]:
    if world.usage is None:
        world.usage = {node["metadata"]["name"]: _room(node) for node in world.all_of("Node")}
        rows = world.connection.execute("SELECT node, cpu, memory, extended FROM placed")
        for name, cpu, memory, extended in rows:
            if name in world.usage:
                _take(world.usage[name], Need(cpu, memory, orjson.loads(extended) if extended else {}), 1)
    return world.usage


def release(world: World, pod: KubernetesObject) -> None:
    """Gives back what the pod held. Safe to call twice."""
    held = world.connection.execute("DELETE FROM placed WHERE uid = ?", (pod["metadata"]["uid"],)).rowcount
    node = pod["spec"].get("nodeName")
    if held and world.usage is not None and node in world.usage:
        _take(world.usage[node], need_of(pod), -1)


def _room(node: KubernetesObject) -> Room:
    free = (node.get("status") or {}).get("allocatable") or {}
    extended = {name: quantity.units(amount) for name, amount in free.items() if "/" in name}
    pods = quantity.units(free.get("pods", _DEFAULT_PODS))
    return Room(node, quantity.millis(free.get("cpu", "0")), quantity.units(free.get("memory", "0")), pods, extended)


def _take(room: Room, need: Need, sign: int) -> None:
    room.cpu -= sign * need.cpu
    room.memory -= sign * need.memory
    room.pods -= sign
    for name, amount in need.extended.items():
        room.extended[name] = room.extended.get(name, 0) - sign * amount


def _misfits(pod: KubernetesObject, need: Need, room: Room) -> list[str]:
    node, spec = room.node, pod["spec"]
    if fate_of(pod) == "unschedulable" or not _matches_node(spec, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    if (node.get("spec") or {}).get("unschedulable"):
        return ["node(s) were unschedulable"]
    if not is_true(node, "Ready"):
        return ["node(s) had untolerated taint {node.kubernetes.io/not-ready: }"]
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint["effect"] != "PreferNoSchedule" and not _tolerates(spec, taint):
            return [f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"]
    short = [f"Insufficient {name}" for name, amount in need.extended.items() if amount > room.extended.get(name, 0)]
    if need.cpu > room.cpu:
        short.append("Insufficient cpu")
    if need.memory > room.memory:
        short.append("Insufficient memory")
    if room.pods < 1:
        short.append("Too many pods")
    return short


def _matches_node(spec: Mapping[str, Any], node: KubernetesObject) -> bool:
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not affinity:
        return True
    return any(_matches_term(term, labels, node["metadata"]["name"]) for term in affinity["nodeSelectorTerms"])


def _matches_term(term: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    by_label = selectors.expressions_of(term.get("matchExpressions") or ())
    by_field = selectors.expressions_of(term.get("matchFields") or ())
    if not by_label and not by_field:
        return False
    return selectors.meets(by_label, labels) and selectors.meets(by_field, {"metadata.name": name})


def _tolerates(spec: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    for toleration in spec.get("tolerations") or ():
        if toleration.get("effect") not in (None, "", taint["effect"]):
            continue
        if not toleration.get("key"):
            if toleration.get("operator") == "Exists":
                return True
            continue
        same_value = toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
        if toleration["key"] == taint["key"] and same_value:
            return True
    return False


def _volumes_fault(world: World, pod: KubernetesObject) -> str:
    for volume in pod["spec"].get("volumes") or ():
        claim_name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim_name is None:
            continue
        claim = world.get("PersistentVolumeClaim", pod["metadata"]["namespace"], claim_name)
        if claim is None:
            return f'persistentvolumeclaim "{claim_name}" not found'
        if (claim.get("status") or {}).get("phase") != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def _volume_is_elsewhere(world: World, pod: KubernetesObject, node: KubernetesObject) -> bool:
    """Whether a volume of the pod can be reached from other nodes only."""
    namespace, labels = pod["metadata"]["namespace"], node["metadata"].get("labels") or {}
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        claim = world.get("PersistentVolumeClaim", namespace, name) if name else None
        bound = world.get("PersistentVolume", "", claim["spec"].get("volumeName", "")) if claim else None
        terms = (((bound or {}).get("spec") or {}).get("nodeAffinity") or {}).get("required") or {}
        if terms and not any(
            _matches_term(term, labels, node["metadata"]["name"]) for term in terms["nodeSelectorTerms"]
        ):
            return True
    return False


def _preference(need: Need, room: Room) -> tuple[float, ...]:
    """GPU pods fill the fullest node that has room; others keep off GPU nodes and spread."""
    free = sum(room.extended.values())
    if need.extended:
        return (free, -room.cpu)
    return (free, -room.cpu, room.pods * -1.0)


def _message(nodes: int, why: Counter[str]) -> str:
    listed = ", ".join(f"{count} {reason}" for reason, count in sorted(why.items()))
    return f"0/{nodes} nodes are available: {listed or 'no nodes'}."


def _report(world: World, pod: KubernetesObject, message: str) -> None:
    status = {**(pod.get("status") or {}), "phase": "Pending"}
    conditions = [dict(condition) for condition in status.get("conditions", [])]
    set_condition(conditions, "PodScheduled", "False", "Unschedulable", message, world.timestamp())
    if conditions != status.get("conditions"):
        world.warn(pod, "FailedScheduling", message)
    world.put_status(pod, {**status, "conditions": conditions})


def _bind(world: World, pod: KubernetesObject, need: Need, room: Room) -> None:
    pod["spec"]["nodeName"] = room.node["metadata"]["name"]
    conditions = [dict(one) for one in (pod.get("status") or {}).get("conditions", []) if one["type"] != "PodScheduled"]
    conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": world.timestamp()})
    pod["status"] = {**(pod.get("status") or {}), "phase": "Pending", "conditions": conditions}
    extended = orjson.dumps(dict(need.extended)).decode() if need.extended else ""
    world.connection.execute(
        "INSERT OR REPLACE INTO placed (uid, node, cpu, memory, extended) VALUES (?, ?, ?, ?, ?)",
        (pod["metadata"]["uid"], room.node["metadata"]["name"], need.cpu, need.memory, extended),
    )
    _take(room, need, 1)
    world.put(pod)
    if process_nodes.folder_of(room.node) is None:
        world.wake(pod, "create", world.pace.create)
