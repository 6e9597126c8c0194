"""Admission: what a namespace's rules do to an object that is about to be made. LimitRange fills in, Pod Security and
ResourceQuota refuse.

Called for pods by the controllers and for everything by the API. A refusal is the same error that an apply would get.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from smarter.cluster import quantity
from smarter.cluster.simulation.pod_security import baseline_faults, restricted_faults
from smarter.cluster.simulation.refusals import forbidden
from smarter.cluster.simulation.world import World
from smarter.core.objects import KubernetesObject

ENFORCE_LABEL = "pod-security.kubernetes.io/enforce"
Amounts = dict[str, Decimal]

_COUNTED = {
    "Pod": "pods",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Service": "services",
    "Secret": "secrets",
    "ConfigMap": "configmaps",
}
_PLURAL_WITH_GROUP = {"Deployment": "deployments.apps", "Job": "jobs.batch", "Ingress": "ingresses.networking.k8s.io"}


_LEVELS = {"baseline": baseline_faults, "restricted": restricted_faults}


def admit(world: World, body: KubernetesObject) -> None:
    """Changes a pod in place; raises the refusal."""
    namespace = body["metadata"].get("namespace", "")
    if body["kind"] == "Pod":
        _apply_limit_ranges(world, namespace, body)
        _check_security(world, namespace, body)
    _check_quota(world, namespace, body)


def containers_of(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def requests_of(spec: Mapping[str, Any], group: str = "requests") -> Amounts:
    """Of a whole pod: the containers together, or the largest init container where that asks for more. A sidecar counts
    as a container."""
    total: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, group)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
        else:
            _raise(peak, {name: amount + total.get(name, Decimal(0)) for name, amount in amounts.items()})
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, group))
    _raise(total, peak)
    return total


def quota_use(body: KubernetesObject) -> Amounts:
    """What one object counts for in every name that a ResourceQuota may limit."""
    kind = body["kind"]
    use: Amounts = {}
    if kind in _COUNTED:
        use[_COUNTED[kind]] = use[f"count/{_COUNTED[kind]}"] = Decimal(1)
    if kind in _PLURAL_WITH_GROUP:
        use[f"count/{_PLURAL_WITH_GROUP[kind]}"] = Decimal(1)
    if kind == "Pod":
        if (body.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return {"count/pods": Decimal(1)}
        for name, amount in requests_of(body["spec"]).items():
            use[f"requests.{name}"] = amount
            if "/" not in name:
                use[name] = amount
        use.update({f"limits.{name}": amount for name, amount in requests_of(body["spec"], "limits").items()})
    if kind == "PersistentVolumeClaim":
        storage = quantity.parse(((body["spec"].get("resources") or {}).get("requests") or {}).get("storage"))
        use["requests.storage"] = storage or Decimal(0)
        storage_class = body["spec"].get("storageClassName")
        use[f"{storage_class}.storageclass.storage.k8s.io/requests.storage"] = use["requests.storage"]
    return use


def used_in(world: World, namespace: str) -> Amounts:
    total: Amounts = {}
    for body in world.in_namespace(namespace):
        _add(total, quota_use(body))
    return total


def _check_quota(world: World, namespace: str, body: KubernetesObject) -> None:
    quotas = world.in_namespace(namespace, "ResourceQuota") if namespace else []
    if not quotas:
        return
    asked = quota_use(body)
    used = used_in(world, namespace)
    what = f"{body['kind']} {namespace}/{body['metadata'].get('name', '')}"
    for quota in quotas:
        hard = {name: quantity.parse(value) or Decimal(0) for name, value in quota["spec"].get("hard", {}).items()}
        over = [name for name in hard if asked.get(name) and used.get(name, Decimal(0)) + asked[name] > hard[name]]
        if over:
            raise forbidden(what, _exceeded(quota["metadata"]["name"], over, asked, used, quota["spec"]["hard"]))
        unnamed = [name for name in hard if body["kind"] == "Pod" and _must_be_named(name) and name not in asked]
        if unnamed:
            raise forbidden(what, f"failed quota: {quota['metadata']['name']}: must specify {','.join(unnamed)}")


def _exceeded(name: str, over: list[str], asked: Amounts, used: Amounts, hard: Mapping[str, str]) -> str:
    def listed(amounts: Amounts) -> str:
        return ",".join(f"{one}={write(one, amounts.get(one, Decimal(0)))}" for one in over)

    limited = ",".join(f"{one}={hard[one]}" for one in over)
    return f"exceeded quota: {name}, requested: {listed(asked)}, used: {listed(used)}, limited: {limited}"


def write(name: str, amount: Decimal) -> str:
    """Bytes in binary units, as they are usually asked for."""
    text = format(amount.normalize(), "f")
    if name.endswith(("memory", "storage")) and amount == amount.to_integral_value():
        text = f"{amount / 1024}Ki" if amount % 1024 == 0 else text
    return quantity.canonical(text) or "0"


def _must_be_named(name: str) -> bool:
    return name in ("cpu", "memory") or name in ("requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def _apply_limit_ranges(world: World, namespace: str, pod: KubernetesObject) -> None:
    for limit_range in world.in_namespace(namespace, "LimitRange"):
        for limit in limit_range["spec"]["limits"]:
            if limit["type"] != "Container":
                continue
            for container in containers_of(pod["spec"]):
                _fill_from(limit, container)
            faults = [fault for container in containers_of(pod["spec"]) for fault in _limit_faults(limit, container)]
            if faults:
                raise forbidden(f'pods "{pod["metadata"].get("name", "")}"', f"[{', '.join(faults)}]")


def _fill_from(limit: Mapping[str, Any], container: dict[str, Any]) -> None:
    resources = container.setdefault("resources", {})
    for group, source in (("limits", "default"), ("requests", "defaultRequest")):
        for name, amount in (limit.get(source) or {}).items():
            own_limit = (resources.get("limits") or {}).get(name)
            if group == "requests" and own_limit is not None and source == "defaultRequest":
                amount = min(amount, own_limit, key=lambda text: quantity.parse(text) or Decimal(0))
            resources.setdefault(group, {}).setdefault(name, amount)


def _limit_faults(limit: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[str]:
    limits = (container.get("resources") or {}).get("limits") or {}
    requests = (container.get("resources") or {}).get("requests") or {}
    for name, maximum in (limit.get("max") or {}).items():
        if (quantity.parse(limits.get(name)) or Decimal(0)) > (quantity.parse(maximum) or Decimal(0)):
            yield f"maximum {name} usage per Container is {maximum}, but limit is {limits[name]}"
    for name, minimum in (limit.get("min") or {}).items():
        asked = quantity.parse(requests.get(name))
        if asked is not None and asked < (quantity.parse(minimum) or Decimal(0)):
            yield f"minimum {name} usage per Container is {minimum}, but request is {requests[name]}"


def _check_security(world: World, namespace: str, pod: KubernetesObject) -> None:
    holder = world.get("Namespace", "", namespace) or {"metadata": {}}
    level = str((holder["metadata"].get("labels") or {}).get(ENFORCE_LABEL, ""))
    judge = _LEVELS.get(level)
    faults = judge(pod["spec"]) if judge else []
    if faults:
        name = pod["metadata"].get("name", "")
        raise forbidden(f'pods "{name}"', f'violates PodSecurity "{level}:latest": {", ".join(faults)}')


def _amounts(container: Mapping[str, Any], group: str) -> Amounts:
    found = (container.get("resources") or {}).get(group) or {}
    return {name: quantity.parse(value) or Decimal(0) for name, value in found.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _raise(total: Amounts, floor: Amounts) -> None:
    for name, amount in floor.items():
        total[name] = max(total.get(name, Decimal(0)), amount)
