"""The Job controller: pods until enough of them succeeded or too many failed. `loop.py` calls it."""

from typing import Any

from smarter.cluster.simulation.deletion import delete_object
from smarter.cluster.simulation.replicas import active_pods, create_pod
from smarter.cluster.simulation.world import World, condition_of, is_leaving, is_true, set_condition
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import KubernetesObject


def reconcile_job(world: World, job: KubernetesObject) -> None:
    if is_leaving(job) or condition_of(job, "Complete") or condition_of(job, "Failed"):
        return
    spec = job["spec"]
    pods = world.owned_by(job["metadata"]["uid"], "Pod")
    succeeded = sum(pod["status"].get("phase") == "Succeeded" for pod in pods)
    failed = sum(pod["status"].get("phase") == "Failed" for pod in pods)
    failure = ""
    missing = 0
    if not spec.get("suspend") and not world.waiting(job, "retry") and failed <= spec["backoffLimit"]:
        missing = min(spec["parallelism"], spec["completions"] - succeeded) - len(active_pods(world, job))
    for _ in range(missing):
        try:
            create_pod(world, job, spec["template"])
        except (PermanentError, TemporaryError) as refusal:
            failure = refusal.message
            world.warn(job, "FailedCreate", f"Error creating: {failure}")
            world.wake(job, "retry", world.pace.retry)
            break
    _report(world, job, succeeded, failed)


def _report(world: World, job: KubernetesObject, succeeded: int, failed: int) -> None:
    pods = active_pods(world, job)
    now = world.timestamp()
    before = job.get("status") or {}
    status: dict[str, Any] = {
        "startTime": before.get("startTime", now),
        "active": len(pods),
        "ready": sum(is_true(pod, "Ready") for pod in pods),
        "succeeded": succeeded,
        "failed": failed,
    }
    status = {name: value for name, value in status.items() if value or name == "ready"}
    conditions: list[dict[str, Any]] = [dict(condition) for condition in before.get("conditions", [])]
    if succeeded >= job["spec"]["completions"]:
        set_condition(
            conditions, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods", now
        )
        status["completionTime"] = now
    elif failed > job["spec"]["backoffLimit"]:
        message = "Job has reached the specified backoff limit"
        set_condition(conditions, "Failed", "True", "BackoffLimitExceeded", message, now)
        for pod in pods:
            delete_object(world, pod)
    if conditions:
        status["conditions"] = conditions
    world.put_status(job, status)
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if conditions and seconds is not None:
        world.wake(job, "expire", seconds)
