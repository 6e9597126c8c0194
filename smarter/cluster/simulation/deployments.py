"""The Deployment controller: a ReplicaSet per template, moved from old to new by the strategy, and the conditions that
tell how far it got. `loop.py` calls it."""

import math
from datetime import timedelta
from typing import Any

import orjson

from smarter.cluster.simulation.deletion import delete_object
from smarter.cluster.simulation.world import (
    World,
    condition_of,
    controller_reference,
    hash_text,
    is_leaving,
    moment_of,
    set_condition,
)
from smarter.core.objects import KubernetesObject

HASH_LABEL = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"
Sets = list[KubernetesObject]


def reconcile_deployment(world: World, deployment: KubernetesObject) -> None:
    if is_leaving(deployment):
        return
    sets = world.owned_by(deployment["metadata"]["uid"], "ReplicaSet")
    mark = hash_text(orjson.dumps(deployment["spec"]["template"], option=orjson.OPT_SORT_KEYS).decode())
    current = next((one for one in sets if one["metadata"]["labels"].get(HASH_LABEL) == mark), None)
    paused = deployment["spec"].get("paused", False)
    if current is None and not paused:
        current = _create_set(world, deployment, mark, sets)
        sets.append(current)
    old = [one for one in sets if one is not current]
    if current is not None and not paused:
        _set_revision(world, deployment, current, old)
        if deployment["spec"]["strategy"]["type"] == "Recreate":
            _recreate(world, deployment, current, old)
        else:
            _roll(world, deployment, current, old)
    _forget_old(world, deployment, old)
    _report(world, deployment, current, old)


def _create_set(world: World, deployment: KubernetesObject, mark: str, sets: Sets) -> KubernetesObject:
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = {**spec["template"], "metadata": dict(spec["template"].get("metadata") or {})}
    labels = {**(template["metadata"].get("labels") or {}), HASH_LABEL: mark}
    template["metadata"]["labels"] = labels
    selector = {**spec["selector"], "matchLabels": {**spec["selector"].get("matchLabels", {}), HASH_LABEL: mark}}
    strategy_recreate = spec["strategy"]["type"] == "Recreate"
    replica_set = world.fresh(
        "ReplicaSet",
        metadata["namespace"],
        f"{metadata['name']}-{mark}",
        metadata={
            "labels": labels,
            "annotations": {_REVISION: str(len(sets) + 1)},
            "ownerReferences": [controller_reference(deployment)],
            "generation": 1,
        },
        spec={
            "replicas": 0 if strategy_recreate or sets else spec["replicas"],
            "selector": selector,
            "template": template,
            "minReadySeconds": spec.get("minReadySeconds", 0),
        },
        status={"replicas": 0},
    )
    world.put(replica_set)
    return replica_set


def _set_revision(world: World, deployment: KubernetesObject, current: KubernetesObject, old: Sets) -> None:
    """A template that comes back takes the newest revision."""
    newest = max((int(one["metadata"]["annotations"][_REVISION]) for one in old), default=0)
    if int(current["metadata"]["annotations"][_REVISION]) <= newest:
        current["metadata"]["annotations"][_REVISION] = str(newest + 1)
        world.put(current)
    revision = current["metadata"]["annotations"][_REVISION]
    annotations = deployment["metadata"].setdefault("annotations", {})
    if annotations.get(_REVISION) != revision:
        annotations[_REVISION] = revision
        world.put(deployment)


def _recreate(world: World, deployment: KubernetesObject, current: KubernetesObject, old: Sets) -> None:
    for replica_set in old:
        _scale(world, replica_set, 0)
    still_there = [
        pod
        for replica_set in old
        for pod in world.owned_by(replica_set["metadata"]["uid"], "Pod")
        if pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    if not still_there:
        _scale(world, current, deployment["spec"]["replicas"])


def _roll(world: World, deployment: KubernetesObject, current: KubernetesObject, old: Sets) -> None:
    replicas = deployment["spec"]["replicas"]
    surge, unavailable = _limits(deployment, replicas)
    total = sum(one["spec"]["replicas"] for one in (current, *old))
    if current["spec"]["replicas"] < replicas:
        room = replicas + surge - total
        _scale(world, current, min(replicas, current["spec"]["replicas"] + max(room, 0)))
    elif current["spec"]["replicas"] > replicas:
        _scale(world, current, replicas)
    running_old = [one for one in old if one["spec"]["replicas"] > 0]
    if running_old:
        _shrink_old(world, current, running_old, replicas - unavailable)


def _shrink_old(world: World, current: KubernetesObject, old: Sets, minimum: int) -> None:
    """First pods that are no use anyway, then as many as the new ones replace."""
    total = sum(one["spec"]["replicas"] for one in (current, *old))
    new_unavailable = current["spec"]["replicas"] - _available(current)
    spare = total - minimum - max(new_unavailable, 0)
    for replica_set in old:
        useless = min(replica_set["spec"]["replicas"] - _available(replica_set), spare)
        if useless > 0:
            _scale(world, replica_set, replica_set["spec"]["replicas"] - useless)
            spare -= useless
    spare = min(spare, sum(_available(one) for one in (current, *old)) - minimum)
    for replica_set in old:
        step = min(replica_set["spec"]["replicas"], spare)
        if step > 0:
            _scale(world, replica_set, replica_set["spec"]["replicas"] - step)
            spare -= step


def _limits(deployment: KubernetesObject, replicas: int) -> tuple[int, int]:
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    surge = _share(rolling.get("maxSurge", "25%"), replicas, math.ceil)
    unavailable = _share(rolling.get("maxUnavailable", "25%"), replicas, math.floor)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _share(value: int | str, replicas: int, rounding: Any) -> int:
    if isinstance(value, int):
        return value
    return int(rounding(int(value.rstrip("%")) * replicas / 100))


def _available(replica_set: KubernetesObject) -> int:
    return int((replica_set.get("status") or {}).get("availableReplicas", 0))


def _scale(world: World, replica_set: KubernetesObject, replicas: int) -> None:
    if replica_set["spec"]["replicas"] != replicas:
        replica_set["spec"]["replicas"] = replicas
        replica_set["metadata"]["generation"] = replica_set["metadata"].get("generation", 1) + 1
        world.put(replica_set)


def _forget_old(world: World, deployment: KubernetesObject, old: Sets) -> None:
    empty = [one for one in old if not one["spec"]["replicas"] and not (one.get("status") or {}).get("replicas")]
    empty.sort(key=lambda one: int(one["metadata"]["annotations"][_REVISION]))
    excess = len(empty) - deployment["spec"].get("revisionHistoryLimit", 10)
    for replica_set in empty[: max(excess, 0)]:
        delete_object(world, replica_set)


def _report(world: World, deployment: KubernetesObject, current: KubernetesObject | None, old: Sets) -> None:
    everything = ([current] if current else []) + old
    replicas = deployment["spec"]["replicas"]

    def total(name: str) -> int:
        return sum(int((one.get("status") or {}).get(name, 0)) for one in everything)

    available = total("availableReplicas")
    status: dict[str, Any] = {
        "replicas": total("replicas"),
        "updatedReplicas": int(((current or {}).get("status") or {}).get("replicas", 0)),
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(max(replicas, total("replicas")) - available, 0),
    }
    status = {name: count for name, count in status.items() if count}
    status["observedGeneration"] = deployment["metadata"].get("generation", 1)
    before = (deployment.get("status") or {}).get("conditions", [])
    conditions = [dict(condition) for condition in before if condition["type"] != "ReplicaFailure"]
    _set_available(world, deployment, conditions, available)
    _set_failure(everything, conditions)
    _set_progress(world, deployment, current, status, conditions)
    status["conditions"] = conditions
    world.put_status(deployment, status)


def _set_available(
    world: World, deployment: KubernetesObject, conditions: list[dict[str, Any]], available: int
) -> None:
    replicas = deployment["spec"]["replicas"]
    enough = available >= replicas - min(_unavailable_limit(deployment, replicas), replicas)
    word, text = ("Available", "has") if enough else ("Unavailable", "does not have")
    message = f"Deployment {text} minimum availability."
    _set(world, conditions, "Available", "True" if enough else "False", f"MinimumReplicas{word}", message)


def _unavailable_limit(deployment: KubernetesObject, replicas: int) -> int:
    return 0 if deployment["spec"]["strategy"]["type"] == "Recreate" else _limits(deployment, replicas)[1]


def _set_failure(sets: Sets, conditions: list[dict[str, Any]]) -> None:
    for replica_set in sets:
        failure = condition_of(replica_set, "ReplicaFailure")
        if failure is not None:
            conditions.append(dict(failure))
            return


def _set_progress(
    world: World,
    deployment: KubernetesObject,
    current: KubernetesObject | None,
    status: dict[str, Any],
    conditions: list[dict[str, Any]],
) -> None:
    """Complete, moving, or stuck for longer than progressDeadlineSeconds; `lastUpdateTime` is when it last moved."""
    if current is None:
        return
    replicas, name = deployment["spec"]["replicas"], current["metadata"]["name"]
    before = next((one for one in conditions if one["type"] == "Progressing"), None)
    done = all(status.get(count, 0) == replicas for count in ("updatedReplicas", "availableReplicas", "replicas"))
    if done:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        _set(world, conditions, "Progressing", "True", "NewReplicaSetAvailable", message)
        return
    old_status = deployment.get("status") or {}
    counts = ("updatedReplicas", "readyReplicas", "availableReplicas", "replicas", "observedGeneration")
    moved = before is None or any(old_status.get(count, 0) != status.get(count, 0) for count in counts)
    if before is not None and before["reason"] == "NewReplicaSetAvailable" and not moved:
        return
    deadline = timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])
    since = world.now if moved or before is None else moment_of(before["lastUpdateTime"])
    if not moved and world.now - since >= deadline:
        message = f'ReplicaSet "{name}" has timed out progressing.'
        _set(world, conditions, "Progressing", "False", "ProgressDeadlineExceeded", message)
        return
    if moved:
        message = f'ReplicaSet "{name}" is progressing.'
        _set(world, conditions, "Progressing", "True", "ReplicaSetUpdated", message)
        world.wake(deployment, "deadline", deadline.total_seconds() + 1)


def _set(world: World, conditions: list[dict[str, Any]], kind: str, status: str, reason: str, message: str) -> None:
    now = world.timestamp()
    before = next((one for one in conditions if one["type"] == kind), {})
    same = before.get("reason") == reason and kind != "Progressing"
    updated = (
        before.get("lastUpdateTime", now) if same or reason == "NewReplicaSetAvailable" == before.get("reason") else now
    )
    set_condition(conditions, kind, status, reason, message, now)
    next(one for one in conditions if one["type"] == kind)["lastUpdateTime"] = updated
