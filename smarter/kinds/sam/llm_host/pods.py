"""What one pod of an LLMHost tells about itself, as one finding."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from smarter.core.objects import KubernetesObject
from smarter.kinds.sam.llm_host import words
from smarter.render.pod import ENGINE_CONTAINER, FETCH_CONTAINER

State = Literal["active", "deploying", "downloading", "pending", "degraded", "error"]
_BAD_FIRST: tuple[State, ...] = ("error", "degraded", "pending", "downloading", "deploying", "active")


@dataclass(frozen=True, slots=True)
class Finding:
    """`reason` is a CamelCase word, Kubernetes' own where it has one."""

    state: State
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What the words about a pod need from its manifest."""

    compute: str
    memory: str
    health_path: str
    token_secret: str | None


def worst(findings: Iterable[Finding]) -> Finding | None:
    return min(findings, key=lambda finding: _BAD_FIRST.index(finding.state), default=None)


def finding_of(pod: KubernetesObject, context: Context) -> Finding:
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return _failed(status)
    if _condition(status, "Ready").get("status") == "True":
        return Finding("active", "Ready")
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        message = words.unschedulable(str(scheduled.get("message") or ""), context.compute)
        return Finding("pending", str(scheduled.get("reason") or "Unschedulable"), message)
    for name in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(name) or ():
            found = _trouble(container, context)
            if found:
                return found
    return _under_way(pod, status, context)


def _failed(status: dict[str, Any]) -> Finding:
    reason = str(status.get("reason") or "Failed")
    detail = words.sentence(status.get("message"))
    known = words.POD_FAILED.get(reason)
    if known is None and reason.startswith("OutOf"):
        known = "The node had no room left when the replica came: {detail} A new one is made."
    text = known or "The replica failed: {detail}"
    return Finding("error", reason, " ".join(text.format(detail=detail).split()))


def _trouble(container: dict[str, Any], context: Context) -> Finding | None:
    """Of a container that waits for a bad reason, or that ended and was not replaced yet."""
    state = container.get("state") or {}
    waiting = state.get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    if reason in words.WAITING:
        text = words.WAITING[reason].format(
            image=words.clean(container.get("image"), 300), detail=words.sentence(waiting.get("message"))
        )
        return Finding("error", reason, " ".join(text.split()))
    terminated = state.get("terminated")
    if terminated is None and reason == "CrashLoopBackOff":
        terminated = (container.get("lastState") or {}).get("terminated") or {}
    if not terminated or (terminated.get("exitCode") == 0 and not reason):
        return None
    return _ended(container, terminated, reason, context)


def _ended(container: dict[str, Any], terminated: dict[str, Any], reason: str, context: Context) -> Finding:
    if container.get("name") == FETCH_CONTAINER:
        return Finding("error", "WeightsFailed", words.fetch_failed(terminated, context.token_secret))
    restarts = int(container.get("restartCount") or 0)
    message = words.crash(terminated, restarts, context.memory)
    if terminated.get("reason") == "OOMKilled":
        return Finding("error", "OOMKilled", message)
    return Finding("error", reason or "ContainerEnded", message)


def _under_way(pod: KubernetesObject, status: dict[str, Any], context: Context) -> Finding:
    if status.get("reason") == "NodeLost" or _condition(status, "Ready").get("reason") == "NodeNotReady":
        return Finding("error", "NodeLost", words.POD_FAILED["NodeLost"])
    if any("running" in (entry.get("state") or {}) for entry in status.get("initContainerStatuses") or ()):
        return Finding("downloading", "Downloading", "The weights are being brought to the volume.")
    engine: dict[str, Any] = next(
        (entry for entry in status.get("containerStatuses") or () if entry.get("name") == ENGINE_CONTAINER), {}
    )
    if "running" not in (engine.get("state") or {}):
        return Finding("deploying", "Starting", "The replica is being prepared: its volume, then its image.")
    return _running(engine, context)


def _running(engine: dict[str, Any], context: Context) -> Finding:
    restarts = int(engine.get("restartCount") or 0)
    last = (engine.get("lastState") or {}).get("terminated")
    before = f" Before that: {words.crash(last, 0, context.memory)}" if last and restarts else ""
    if engine.get("started"):
        text = (
            f"The server runs but does not pass its health check at {context.health_path}. It may be overloaded, or "
            "the path may be wrong; see the logs."
        )
        return Finding("degraded", "Unhealthy", text + before)
    if last and restarts and last.get("reason") == "OOMKilled":
        return Finding("error", "OOMKilled", words.crash(last, restarts, context.memory))
    return Finding("deploying", "Loading", f"The server loads the model.{before}")


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((entry for entry in status.get("conditions") or () if entry.get("type") == kind), {})
