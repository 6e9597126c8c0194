"""What one pod of an LLMHost tells about itself, as one finding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from smarter.core.objects import KubernetesObject
from smarter.kinds.sam.llm_host import crashes, words
from smarter.render.pod import ENGINE_CONTAINER, FETCH_CONTAINER

WEIGHTS_ON_THEIR_WAY = "The weights are being brought to the volume."
State = Literal["active", "deploying", "downloading", "pending", "degraded", "error"]
_BAD_FIRST: tuple[State, ...] = ("error", "degraded", "pending", "downloading", "deploying", "active")
HOPELESS_RESTARTS = 5
"""After so many starts the next one ends no better; the pauses between them are minutes by then."""
HOPELESS_AFTER = timedelta(minutes=5)
"""What cannot be pulled or set up for so long will not be by itself: a slip in a name, or a right that is missing."""
_LATELY = timedelta(minutes=10)
_OFTEN = 3
_PROBE_SLACK = timedelta(seconds=30)
"""The kubelet counts failed probes, not seconds, and ends a server a little after its time is over."""
_HOPELESS_AT_ONCE = frozenset({"InvalidImageName", "ErrImageNeverPull"})


@dataclass(frozen=True, slots=True)
class Finding:
    """`reason` is a CamelCase word, Kubernetes' own where it has one. `final`: this version does not come up by
    waiting."""

    state: State
    reason: str
    message: str = ""
    final: bool = False
    ripens: bool = False
    """Whether it will be judged anew when time has passed, although nothing on the cluster changes."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the words about a pod need from its manifest, and the moment of the look."""

    compute: str
    memory: str
    health_path: str
    token_secret: str | None
    model_page: str
    startup_seconds: int
    now: datetime


def worst(findings: Iterable[Finding]) -> Finding | None:
    return min(findings, key=lambda finding: _BAD_FIRST.index(finding.state), default=None)


def finding_of(pod: KubernetesObject, context: Context, events: Sequence[KubernetesObject] = ()) -> Finding:
    """`events` are those about this pod, the newest last."""
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return _failed(status)
    if condition(status, "Ready").get("status") == "True" and not _brings(status):
        return _serving(status, context)
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        message = words.unschedulable(str(scheduled.get("message") or ""), context.compute)
        return Finding("pending", str(scheduled.get("reason") or "Unschedulable"), message)
    for name, since in (("initContainerStatuses", "PodScheduled"), ("containerStatuses", "Initialized")):
        begun = moment(condition(status, since).get("lastTransitionTime")) or moment(created(pod))
        for container in status.get(name) or ():
            found = _trouble(container, context, begun)
            if found:
                return found
    return _under_way(status, context, events)


def moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def created(body: KubernetesObject) -> object:
    return body["metadata"].get("creationTimestamp")


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((entry for entry in status.get("conditions") or () if entry.get("type") == kind), {})


def _failed(status: dict[str, Any]) -> Finding:
    reason = str(status.get("reason") or "Failed")
    detail = words.sentence(status.get("message"))
    known = words.POD_FAILED.get(reason)
    if known is None and reason.startswith("OutOf"):
        known = "The node had no room left when the replica came: {detail} A new one is made."
    text = known or "The replica failed: {detail}"
    return Finding("error", reason, " ".join(text.format(detail=detail).split()))


def _serving(status: dict[str, Any], context: Context) -> Finding:
    """A replica that is ready, and ends again and again, serves only now and then."""
    engine = _engine(status)
    last = (engine.get("lastState") or {}).get("terminated") or {}
    ended = moment(last.get("finishedAt"))
    restarts = int(engine.get("restartCount") or 0)
    if restarts < _OFTEN or ended is None or context.now - ended > _LATELY:
        return Finding("active", "Ready")
    found = _stopped(last, restarts, context)
    message = f"The server serves, but it keeps ending. {found.message}"
    return Finding("degraded", "Restarting", message, ripens=True)


def _trouble(container: dict[str, Any], context: Context, begun: datetime | None) -> Finding | None:
    """Of a container that waits for a bad reason, or that ended and was not replaced yet."""
    state = container.get("state") or {}
    waiting = state.get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    if reason in words.WAITING:
        text = words.WAITING[reason].format(
            image=words.clean(container.get("image"), 300), detail=words.sentence(waiting.get("message"))
        )
        long = begun is not None and context.now - begun >= HOPELESS_AFTER
        final = long or reason in _HOPELESS_AT_ONCE
        return Finding("error", reason, " ".join(text.split()), final=final, ripens=not final)
    terminated = state.get("terminated")
    if terminated is None and reason == "CrashLoopBackOff":
        terminated = (container.get("lastState") or {}).get("terminated") or {}
    if not terminated or (terminated.get("exitCode") == 0 and not reason):
        return None
    return _ended(container, terminated, reason, context)


def _ended(container: dict[str, Any], terminated: dict[str, Any], waits: str, context: Context) -> Finding:
    restarts = int(container.get("restartCount") or 0)
    if container.get("name") == FETCH_CONTAINER:
        told = crashes.fetch_failed(terminated, context.token_secret, context.model_page)
        final = restarts >= HOPELESS_RESTARTS or (told.for_good and restarts > 0)
        return Finding("error", told.reason, told.message, final)
    found = _stopped(terminated, restarts, context)
    reason = found.reason or waits or "ContainerEnded"
    return replace(found, reason=reason, final=restarts >= HOPELESS_RESTARTS)


def _stopped(terminated: dict[str, Any], restarts: int, context: Context) -> Finding:
    """A server that ended, by itself or because the kubelet gave it up. An empty reason where nothing is known."""
    if not crashes.was_killed(terminated):
        told = crashes.crash(terminated, restarts, context.memory)
        return Finding("error", told.reason, told.message)
    times = f" It was started {restarts + 1} times." if restarts else ""
    text = (
        f"The cluster stopped the server, because it did not answer its health check at {context.health_path}.{times} "
        f"If it needs longer than {context.startup_seconds} seconds to load, raise healthCheck.startupTimeoutSeconds; "
        "otherwise see the logs."
    )
    return Finding("error", "HealthCheckFailed", text)


def _under_way(status: dict[str, Any], context: Context, events: Sequence[KubernetesObject]) -> Finding:
    if _node_is_lost(status):
        return Finding("error", "NodeLost", words.POD_FAILED["NodeLost"])
    bringing = [*(status.get("initContainerStatuses") or ()), *(_containers(status) if _brings(status) else ())]
    if any("running" in (entry.get("state") or {}) for entry in bringing):
        return Finding("downloading", "Downloading", WEIGHTS_ON_THEIR_WAY)
    engine = _engine(status)
    if "running" not in (engine.get("state") or {}):
        return by_event(events) or Finding(
            "deploying", "Starting", "The replica is being prepared: its volume, then its image."
        )
    return _running(engine, context)


def _brings(status: dict[str, Any]) -> bool:
    """Whether it is a pod that brings weights and serves nothing."""
    return any(entry.get("name") == FETCH_CONTAINER for entry in _containers(status))


def _containers(status: dict[str, Any]) -> list[dict[str, Any]]:
    return status.get("containerStatuses") or []


def _node_is_lost(status: dict[str, Any]) -> bool:
    """Of a node that is silent the cluster says that its pods are not ready, and the pods' own word stays as it was."""
    ready = condition(status, "Ready")
    untrue = ready.get("status") == "False" and condition(status, "ContainersReady").get("status") == "True"
    return untrue or status.get("reason") == "NodeLost" or ready.get("reason") == "NodeNotReady"


def by_event(events: Sequence[KubernetesObject]) -> Finding | None:
    """The newest that explains why a pod or a claim does not get on."""
    for event in reversed(events):
        found = words.volume_event(str(event.get("reason") or ""), str(event.get("message") or ""))
        if found:
            return Finding("pending", found.reason, found.message)
    return None


def _engine(status: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        (entry for entry in status.get("containerStatuses") or () if entry.get("name") == ENGINE_CONTAINER), {}
    )
    return found


def _running(engine: dict[str, Any], context: Context) -> Finding:
    restarts = int(engine.get("restartCount") or 0)
    last = (engine.get("lastState") or {}).get("terminated")
    before = _stopped(last, 0, context) if last and restarts else None
    if engine.get("started"):
        text = (
            f"The server runs but does not pass its health check at {context.health_path}. It may be overloaded, or "
            "the path may be wrong; see the logs."
        )
        return Finding("degraded", "Unhealthy", f"{text} Before that: {before.message}" if before else text)
    if last and before and before.reason in ("OOMKilled", "HealthCheckFailed"):
        final = restarts >= HOPELESS_RESTARTS
        return replace(_stopped(last, restarts, context), final=final)
    since = moment(((engine.get("state") or {}).get("running") or {}).get("startedAt"))
    if since and context.now - since > timedelta(seconds=context.startup_seconds) + _PROBE_SLACK:
        text = (
            f"The server has not become ready within the {context.startup_seconds} seconds of "
            "healthCheck.startupTimeoutSeconds. See the logs; raise it if the model only needs longer."
        )
        return Finding("error", "StartupTimeout", text)
    text = "The server loads the model."
    return Finding("deploying", "Loading", f"{text} Before that: {before.message}" if before else text)
