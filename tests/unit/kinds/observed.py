"""Live objects as a cluster would answer them, in the states that hosts get into."""

from datetime import UTC, datetime
from typing import Any

from smarter.core.objects import KubernetesObject
from tests.llm_hosts import one

NOW = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
CREATED = "2026-11-30T12:00:00Z"
LONG_AGO = "2026-11-30T10:00:00Z"


def deployment(rendered: list[KubernetesObject], *, created: str = CREATED, **status: Any) -> KubernetesObject:
    """Fully rolled out, but for what `status` says."""
    body = one(rendered, "Deployment")
    wanted = body["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), wanted)
    return {
        **body,
        "metadata": {**body["metadata"], "generation": 3, "creationTimestamp": created},
        "status": {"observedGeneration": 3, **counts, **status},
    }


def not_ready(rendered: list[KubernetesObject], **status: Any) -> KubernetesObject:
    return deployment(rendered, readyReplicas=0, availableReplicas=0, **status)


def refused(rendered: list[KubernetesObject], message: str) -> KubernetesObject:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    return not_ready(rendered, replicas=0, updatedReplicas=0, conditions=[condition])


def late(rendered: list[KubernetesObject]) -> KubernetesObject:
    condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    return not_ready(rendered, replicas=0, conditions=[condition])


def pod(status: dict[str, Any], *, created: str = CREATED, leaving: bool = False) -> KubernetesObject:
    metadata: dict[str, Any] = {"name": "lh-x-1", "uid": "pod-1", "creationTimestamp": created}
    if leaving:
        metadata["deletionTimestamp"] = created
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}


def condition(kind: str, status: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, **more}


PLACED = [condition("PodScheduled", "True")]
READY = [*PLACED, condition("Initialized", "True"), condition("Ready", "True")]
STARTED = [*PLACED, condition("Initialized", "True"), condition("Ready", "False")]


def ready_pod() -> KubernetesObject:
    return pod({"phase": "Running", "conditions": READY})


def unscheduled(message: str, reason: str = "Unschedulable") -> KubernetesObject:
    return pod({"phase": "Pending", "conditions": [condition("PodScheduled", "False", reason=reason, message=message)]})


def container(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "example.com/server:1", "restartCount": 0, **fields}


def waiting(reason: str, message: str = "") -> KubernetesObject:
    state = {"waiting": {"reason": reason, "message": message}}
    return pod({"phase": "Pending", "conditions": STARTED, "containerStatuses": [container("engine", state=state)]})


def crashed(terminated: dict[str, Any], *, restarts: int = 4, back_off: bool = True) -> KubernetesObject:
    state: dict[str, Any] = {"waiting": {"reason": "CrashLoopBackOff"}} if back_off else {"terminated": terminated}
    status = container("engine", state=state, restartCount=restarts, lastState={"terminated": terminated})
    return pod({"phase": "Running", "conditions": STARTED, "containerStatuses": [status]})


def running(*, started: bool, **fields: Any) -> KubernetesObject:
    status = container("engine", state={"running": {"startedAt": CREATED}}, started=started, ready=False, **fields)
    return pod({"phase": "Running", "conditions": STARTED, "containerStatuses": [status]})


def fetching(state: dict[str, Any], **fields: Any) -> KubernetesObject:
    status = container("fetch", state=state, **fields)
    return pod({"phase": "Pending", "conditions": PLACED, "initContainerStatuses": [status]})


def failed(reason: str, message: str = "") -> KubernetesObject:
    return pod({"phase": "Failed", "reason": reason, "message": message})


def claim(rendered: list[KubernetesObject], phase: str) -> KubernetesObject:
    return {**one(rendered, "PersistentVolumeClaim"), "status": {"phase": phase}}


def certificate(rendered: list[KubernetesObject], *conditions: dict[str, Any]) -> KubernetesObject:
    body = one(rendered, "Certificate")
    metadata = {**body["metadata"], "creationTimestamp": CREATED}
    return {**body, "metadata": metadata, "status": {"conditions": list(conditions)}}
