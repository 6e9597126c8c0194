"""Whether a cluster has room for one more pod of a kind, now. The reconciler asks before it replaces pods.

The answer follows the rules of the scheduler that matter for the pods that Smarter renders: readiness, cordons, labels,
taints, and requests against what nodes offer. Pods that wait for a node are given theirs first, because they would
take it first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from smarter.core.objects import KubernetesObject
from smarter.core.quantities import parse_amount

_MOST_PODS = 110
"""Of a node that does not say how many it takes."""
_ENDED = frozenset({"Succeeded", "Failed"})

Amounts = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class Room:
    """`node` is None where there is none, and `why` then says what is missing."""

    node: str | None
    why: str = ""


@dataclass(slots=True)
class _Node:
    name: str
    body: KubernetesObject
    free: Amounts = field(default_factory=dict)


def room_for(pod_spec: Mapping[str, Any], nodes: Iterable[KubernetesObject], pods: Iterable[KubernetesObject]) -> Room:
    """`pods` are those of all namespaces, whoever made them."""
    offered = [_Node(body["metadata"]["name"], body, _offer(body)) for body in nodes]
    by_name = {node.name: node for node in offered}
    waiting = []
    for pod in pods:
        if (pod.get("status") or {}).get("phase") in _ENDED:
            continue
        name = (pod.get("spec") or {}).get("nodeName")
        if name in by_name:
            _take(by_name[name], requests_of(pod["spec"]))
        elif not name and not pod["metadata"].get("deletionTimestamp"):
            waiting.append(pod["spec"])
    for spec in waiting:
        node = _first_with_room(spec, offered)
        if node is not None:
            _take(node, requests_of(spec))
    found = _first_with_room(pod_spec, offered)
    return Room(found.name) if found else Room(None, _why_not(pod_spec, offered))


def requests_of(pod_spec: Mapping[str, Any]) -> Amounts:
    """What the scheduler reserves: all containers together, or the largest init container where that is more; init
    containers that keep running count with the others. One pod is one of `pods`."""
    total: Amounts = {}
    largest: Amounts = {}
    for container in pod_spec.get("initContainers") or ():
        wanted = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, wanted)
            continue
        _add(wanted, total)
        largest = _larger(largest, wanted)
    for container in pod_spec.get("containers") or ():
        _add(total, _requests(container))
    found = _larger(total, largest)
    _add(found, _amounts(pod_spec.get("overhead") or {}))
    return {**found, "pods": Fraction(1)}


def over_quota(pod_spec: Mapping[str, Any], quotas: Iterable[KubernetesObject]) -> str | None:
    """The first resource of a ResourceQuota that one more such pod would exceed."""
    wanted = requests_of(pod_spec)
    for quota in quotas:
        status = quota.get("status") or {}
        hard, used = _amounts(status.get("hard") or {}), _amounts(status.get("used") or {})
        for name in sorted(hard):
            amount = wanted.get(name.removeprefix("requests."))
            if amount and used.get(name, Fraction(0)) + amount > hard[name]:
                return name
    return None


def _offer(node: KubernetesObject) -> Amounts:
    offer = _amounts((node.get("status") or {}).get("allocatable") or {})
    return {"pods": Fraction(_MOST_PODS), **offer}


def _requests(container: Mapping[str, Any]) -> Amounts:
    return _amounts((container.get("resources") or {}).get("requests") or {})


def _amounts(texts: Mapping[str, Any]) -> Amounts:
    """What cannot be read counts as nothing: it was written by others."""
    return {name: parse_amount(text) or Fraction(0) for name, text in texts.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _larger(first: Amounts, second: Amounts) -> Amounts:
    return {name: max(first.get(name, Fraction(0)), second.get(name, Fraction(0))) for name in {*first, *second}}


def _take(node: _Node, wanted: Amounts) -> None:
    for name, amount in wanted.items():
        node.free[name] = node.free.get(name, Fraction(0)) - amount


def _first_with_room(pod_spec: Mapping[str, Any], nodes: Sequence[_Node]) -> _Node | None:
    wanted = requests_of(pod_spec)
    fitting = (node for node in nodes if _suits(pod_spec, node.body) and not _short(wanted, node))
    return min(fitting, key=lambda node: node.name, default=None)


def _short(wanted: Amounts, node: _Node) -> list[str]:
    return sorted(name for name, amount in wanted.items() if amount > node.free.get(name, Fraction(0)))


def _suits(pod_spec: Mapping[str, Any], node: KubernetesObject) -> bool:
    """Whether the pod may go there at all, however much is free."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (pod_spec.get("nodeSelector") or {}).items()):
        return False
    spec = node.get("spec") or {}
    if spec.get("unschedulable") or not _is_ready(node):
        return False
    taints = [taint for taint in spec.get("taints") or () if taint.get("effect") != "PreferNoSchedule"]
    return all(_tolerated(taint, pod_spec.get("tolerations") or ()) for taint in taints)


def _is_ready(node: KubernetesObject) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _tolerated(taint: Mapping[str, Any], tolerations: Iterable[Mapping[str, Any]]) -> bool:
    for toleration in tolerations:
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        exists = toleration.get("operator") == "Exists"
        if not toleration.get("key"):
            if exists:
                return True
            continue
        same_value = exists or (toleration.get("value") or "") == (taint.get("value") or "")
        if toleration["key"] == taint.get("key") and same_value:
            return True
    return False


def _why_not(pod_spec: Mapping[str, Any], nodes: Sequence[_Node]) -> str:
    """In words for people: how many nodes it could go to, and what those lack."""
    suited = [node for node in nodes if _suits(pod_spec, node.body)]
    if not suited:
        return "no node that is ready fits its labels and taints"
    wanted = requests_of(pod_spec)
    lacking = sorted({name for node in suited for name in _short(wanted, node)})
    count = "the only node" if len(suited) == 1 else f"none of the {len(suited)} nodes"
    verb = "has too little" if len(suited) == 1 else "has enough"
    return f"{count} that it may go to {verb} of {', '.join(lacking)} free"
