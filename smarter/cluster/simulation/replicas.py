"""The ReplicaSet controller: as many pods as asked for, and a status that says how many live. `loop.py` calls it."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from smarter.cluster.simulation import admission, defaults
from smarter.cluster.simulation.deletion import delete_object
from smarter.cluster.simulation.world import (
    World,
    condition_of,
    controller_reference,
    is_leaving,
    is_true,
    moment_of,
    set_condition,
)
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import KubernetesObject


def reconcile_replica_set(world: World, replica_set: KubernetesObject) -> None:
    if is_leaving(replica_set):
        return
    pods = active_pods(world, replica_set)
    wanted = replica_set["spec"].get("replicas", 1)
    failure = _standing_failure(world, replica_set)
    for _ in range(0 if failure else wanted - len(pods)):
        try:
            create_pod(world, replica_set, replica_set["spec"]["template"])
        except (PermanentError, TemporaryError) as refusal:
            failure = refusal.message
            world.warn(replica_set, "FailedCreate", f"Error creating: {failure}")
            world.wake(replica_set, "retry", world.pace.retry)
            break
    if len(pods) > wanted:
        for pod in sorted(pods, key=_worth)[: len(pods) - wanted]:
            delete_object(world, pod)
    _report(world, replica_set, active_pods(world, replica_set), failure)
    if wanted == 0:
        # A Deployment that recreates waits for the last old pod to be gone, which changes no count here.
        world.notice_owner(replica_set)


def _standing_failure(world: World, replica_set: KubernetesObject) -> str:
    """Why pods were refused, until the next try is due or the ReplicaSet asks for something else."""
    failure = condition_of(replica_set, "ReplicaFailure")
    observed = (replica_set.get("status") or {}).get("observedGeneration")
    current = observed == replica_set["metadata"].get("generation", 1)
    return str(failure["message"]) if failure and current and world.waiting(replica_set, "retry") else ""


def active_pods(world: World, owner: KubernetesObject) -> list[KubernetesObject]:
    pods = world.owned_by(owner["metadata"]["uid"], "Pod")
    return [pod for pod in pods if not is_leaving(pod) and pod["status"].get("phase") not in ("Succeeded", "Failed")]


def create_pod(world: World, owner: KubernetesObject, template: dict[str, Any]) -> KubernetesObject:
    """Raises the refusal of admission."""
    source = template.get("metadata") or {}
    metadata = {
        "generateName": f"{owner['metadata']['name']}-",
        "labels": dict(source.get("labels") or {}),
        "annotations": dict(source.get("annotations") or {}),
        "ownerReferences": [controller_reference(owner)],
    }
    if not metadata["annotations"]:
        del metadata["annotations"]
    name = f"{owner['metadata']['name'][:52]}-{uuid4().hex[:5]}"
    pod = world.fresh("Pod", owner["metadata"]["namespace"], name, metadata=metadata, spec=_copy(template["spec"]))
    defaults.fill(pod)
    admission.admit(world, pod)
    pod["metadata"]["generation"] = 1
    world.put(pod)
    return pod


def available_at_once(world: World, replica_set: KubernetesObject, pods: list[KubernetesObject]) -> int:
    """Pods that have been ready for minReadySeconds; a timer looks again for the others."""
    seconds = replica_set["spec"].get("minReadySeconds", 0)
    ready = [pod for pod in pods if is_true(pod, "Ready")]
    if not seconds:
        return len(ready)
    available = 0
    for pod in ready:
        since = moment_of((condition_of(pod, "Ready") or {})["lastTransitionTime"])
        left = (since + timedelta(seconds=seconds) - world.now).total_seconds()
        if left <= 0:
            available += 1
        else:
            world.wake(replica_set, "available", left)
    return available


def _report(world: World, replica_set: KubernetesObject, pods: list[KubernetesObject], failure: str) -> None:
    status: dict[str, Any] = {
        "replicas": len(pods),
        "fullyLabeledReplicas": len(pods),
        "readyReplicas": sum(is_true(pod, "Ready") for pod in pods),
        "availableReplicas": available_at_once(world, replica_set, pods),
        "observedGeneration": replica_set["metadata"].get("generation", 1),
    }
    status = {name: count for name, count in status.items() if count or name in ("replicas", "observedGeneration")}
    if failure:
        conditions = [dict(one) for one in (replica_set.get("status") or {}).get("conditions", [])]
        set_condition(conditions, "ReplicaFailure", "True", "FailedCreate", failure, world.timestamp())
        status["conditions"] = conditions
    world.put_status(replica_set, status)


def _worth(pod: KubernetesObject) -> tuple[bool, bool, str]:
    """Pods that go first sort first: without a node, then not ready, then the youngest."""
    return bool(pod["spec"].get("nodeName")), is_true(pod, "Ready"), _reversed(pod["metadata"]["creationTimestamp"])


def _reversed(text: str) -> str:
    return "".join(chr(127 - ord(letter)) for letter in text)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_copy(child) for child in value]
    return value
