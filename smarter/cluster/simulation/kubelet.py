"""The life of a pod on its node: created, initialised, ready, or whatever the label smarter.sh/test-fate has in store.

Each step changes the pod and sets the timer of the next one. `loop.py` fires the timers. Statuses have the shape that
the stages of the real control plane for tests write.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from smarter.cluster.simulation import fates, scheduler
from smarter.cluster.simulation.world import (
    DELAY_ANNOTATION,
    World,
    controller_of,
    fate_of,
    hash_text,
    is_leaving,
    set_condition,
)
from smarter.core.objects import KubernetesObject

Step = Callable[[World, KubernetesObject], None]

_NEVER_READY = ("failing-probe", "slow-start")
_CRASHING = ("crash-loop", "oom-kill")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_FIRST_BACKOFF_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 300.0


def create(world: World, pod: KubernetesObject) -> None:
    if fate_of(pod) == "held":
        return
    status, now = pod["status"], world.timestamp()
    init = pod["spec"].get("initContainers") or []
    reason = "PodInitializing" if init else "ContainerCreating"
    status.update(startTime=now, podIP=_address(pod), hostIP="10.0.0.1", qosClass="Burstable")
    status["podIPs"] = [{"ip": status["podIP"]}]
    if init:
        names = " ".join(container["name"] for container in init)
        message = f"containers with incomplete status: [{names}]"
        _set(status, "Initialized", "False", now, "ContainersNotInitialized", message)
        status["initContainerStatuses"] = [_waiting(container, "PodInitializing") for container in init]
    else:
        _set(status, "Initialized", "True", now)
    status["containerStatuses"] = [_waiting(container, reason) for container in pod["spec"]["containers"]]
    names = " ".join(container["name"] for container in pod["spec"]["containers"])
    for kind in ("Ready", "ContainersReady"):
        _set(status, kind, "False", now, "ContainersNotReady", f"containers with unready status: [{names}]")
    world.put(pod)
    instead = fates.BEFORE_INIT.get(fate_of(pod))
    if instead is not None and (init or instead == "prepare_in_vain"):
        world.wake(pod, instead, world.pace.initialize)
        return
    world.wake(pod, "initialize" if init else "start", world.pace.initialize if init else world.pace.start)


def initialize(world: World, pod: KubernetesObject) -> None:
    """One step: the running init container ends, the next one starts. A sidecar starts and stays."""
    status, now = pod["status"], world.timestamp()
    busy = False
    for container, state in zip(pod["spec"]["initContainers"], status["initContainerStatuses"], strict=True):
        sidecar = container.get("restartPolicy") == "Always"
        if "terminated" in state["state"] or busy:
            continue
        if "running" in state["state"]:
            _finish(state, sidecar, now)
        else:
            _run(pod, state, now, ready=sidecar, started=True)
            busy = not sidecar
    if busy:
        slow = fate_of(pod) == "download-progress"
        seconds = delay_of(pod, world.pace.download) if slow else world.pace.initialize
        world.put(pod)
        world.wake(pod, "initialize", seconds)
        return
    _set(status, "Initialized", "True", now)
    world.put(pod)
    world.wake(pod, "start", world.pace.start)


def start(world: World, pod: KubernetesObject) -> None:
    fate = fate_of(pod)
    if fate == "image-pull-failure":
        _fail_pull(world, pod)
    elif fate in _CRASHING:
        crash_start(world, pod)
    elif fate in fates.AFTER_INIT:
        world.wake(pod, fates.AFTER_INIT[fate], 0)
    elif fate in _NEVER_READY:
        _run_all(world, pod, ready=False, started=fate == "failing-probe")
        world.warn(pod, "Unhealthy", "Probe failed: HTTP probe failed with statuscode: 503")
        if fate == "slow-start":
            world.wake(pod, "become_ready", delay_of(pod, world.pace.slow_start))
    else:
        become_ready(world, pod)
        if fate == "evicted":
            world.wake(pod, "evict", delay_of(pod, world.pace.evict))


def become_ready(world: World, pod: KubernetesObject) -> None:
    _run_all(world, pod, ready=True, started=True)
    later = fates.WHEN_READY.get(fate_of(pod))
    if later is not None:
        world.wake(pod, later, delay_of(pod, world.pace.evict))
    owner = controller_of(pod)
    if owner is not None and owner["kind"] == "Job" and fate_of(pod) in ("none", "download-progress"):
        slow = fate_of(pod) == "download-progress"
        world.wake(pod, "complete", delay_of(pod, world.pace.download) if slow else world.pace.complete)


def back_off_pull(world: World, pod: KubernetesObject) -> None:
    for container, state in zip(pod["spec"]["containers"], pod["status"]["containerStatuses"], strict=True):
        message = f'Back-off pulling image "{container["image"]}"'
        state["state"] = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
    world.put(pod)
    world.warn(pod, "BackOff", "Back-off pulling image", kind="Normal")


def crash_start(world: World, pod: KubernetesObject) -> None:
    pod["status"]["phase"] = "Running"
    for state in pod["status"]["containerStatuses"]:
        again = "terminated" in state["state"] or "lastState" in state
        if "terminated" in state["state"]:
            state["lastState"] = state["state"]
        state["restartCount"] += 1 if again else 0
        _run(pod, state, world.timestamp(), ready=False, started=False)
    world.put(pod)
    world.wake(pod, "crash_die", world.pace.crash)


def crash_die(world: World, pod: KubernetesObject) -> None:
    oom = fate_of(pod) == "oom-kill"
    metadata = pod["metadata"]
    seconds = world.pace.initialize
    for state in pod["status"]["containerStatuses"]:
        began, now = state["state"]["running"]["startedAt"], world.timestamp()
        ended = fates.ended(pod, began, now, 137 if oom else 1, "OOMKilled" if oom else "Error")
        ended["containerID"] = state.get("containerID", "")
        if state["restartCount"] == 0:
            state["state"] = {"terminated": ended}
            continue
        seconds = min(_FIRST_BACKOFF_SECONDS * 2 ** (state["restartCount"] - 1), _LAST_BACKOFF_SECONDS)
        place = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        message = f"back-off {int(seconds)}s restarting failed container={state['name']} pod={place}"
        state["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        state["lastState"] = {"terminated": ended}
    world.put(pod)
    world.warn(pod, "BackOff", "Back-off restarting failed container")
    world.wake(pod, "crash_start", seconds)


def evict(world: World, pod: KubernetesObject) -> None:
    status, now = pod["status"], world.timestamp()
    why = "The node was low on resource: memory."
    status.update(phase="Failed", reason="Evicted", message=f"{why} Threshold quantity: 100Mi, available: 52Mi.")
    for kind in ("Ready", "ContainersReady"):
        _set(status, kind, "False", now, "PodFailed")
    _set(status, "DisruptionTarget", "True", now, "TerminationByKubelet", why)
    _end_all(pod, now, 137, "Error")
    _let_go(world, pod)
    world.put(pod)
    world.warn(pod, "Evicted", why)


def fail(world: World, pod: KubernetesObject) -> None:
    """The pod as a whole, for a reason that it brought along."""
    status, now = pod["status"], world.timestamp()
    reason = fates.told(pod, fates.REASON_ANNOTATION, "NodeShutdown")
    message = fates.told(pod, fates.MESSAGE_ANNOTATION, "")
    status.update(phase="Failed", reason=reason, **({"message": message} if message else {}))
    for kind in ("Ready", "ContainersReady"):
        _set(status, kind, "False", now, "PodFailed")
    _end_all(pod, now, 137, "Error")
    _let_go(world, pod)
    world.put(pod)
    world.warn(pod, reason, message)


def complete(world: World, pod: KubernetesObject) -> None:
    status, now = pod["status"], world.timestamp()
    status["phase"] = "Succeeded"
    for kind in ("Ready", "ContainersReady"):
        _set(status, kind, "False", now, "PodCompleted")
    _end_all(pod, now, 0, "Completed")
    _let_go(world, pod)
    world.put(pod)


def gone(world: World, pod: KubernetesObject) -> None:
    holder = world.get("Namespace", "", pod["metadata"]["namespace"])
    if fate_of(pod) == "stuck-terminating" and holder is not None and not is_leaving(holder):
        world.wake(pod, "gone", _LOOK_AGAIN_SECONDS)
        return
    _let_go(world, pod)
    world.erase(pod)


def delay_of(pod: KubernetesObject, default: float) -> float:
    text = (pod["metadata"].get("annotations") or {}).get(DELAY_ANNOTATION, "")
    match = _DURATION.fullmatch(text)
    return float(match[1]) * _UNIT_SECONDS[match[2]] if match else default


STEPS: Mapping[str, Step] = {
    "create": create,
    "initialize": initialize,
    "start": start,
    "become_ready": become_ready,
    "back_off_pull": back_off_pull,
    "crash_start": crash_start,
    "crash_die": crash_die,
    "evict": evict,
    "fail": fail,
    "complete": complete,
    "gone": gone,
    **fates.STEPS,
}


def _let_go(world: World, pod: KubernetesObject) -> None:
    scheduler.release(world, pod)
    world.freed = True
    world.counted.add(pod["metadata"]["namespace"])


def _fail_pull(world: World, pod: KubernetesObject) -> None:
    for container, state in zip(pod["spec"]["containers"], pod["status"]["containerStatuses"], strict=True):
        message = f'failed to pull and unpack image "{container["image"]}": not found'
        state["state"] = {"waiting": {"reason": "ErrImagePull", "message": message}}
    world.put(pod)
    world.warn(pod, "Failed", "Failed to pull image: not found")
    world.wake(pod, "back_off_pull", world.pace.start)


def _run_all(world: World, pod: KubernetesObject, *, ready: bool, started: bool) -> None:
    status, now = pod["status"], world.timestamp()
    status["phase"] = "Running"
    if ready:
        for kind in ("Ready", "ContainersReady"):
            _set(status, kind, "True", now)
    for state in status["containerStatuses"]:
        running = state["state"].get("running")
        _run(pod, state, running["startedAt"] if running else now, ready=ready, started=started)
    world.put(pod)


def _run(pod: KubernetesObject, state: dict[str, Any], now: str, *, ready: bool, started: bool) -> None:
    state.update(ready=ready, started=started, imageID=f"simulated://{hash_text(state['image'])}")
    state["containerID"] = f"simulated://{hash_text(pod['metadata']['uid'] + state['name'])}"
    state["state"] = {"running": {"startedAt": now}}


def _finish(state: dict[str, Any], sidecar: bool, now: str) -> None:
    state["ready"] = True
    if not sidecar:
        started = state["state"]["running"]["startedAt"]
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": now}
        state.update(started=False, state={"terminated": ended})


def _end_all(pod: KubernetesObject, now: str, code: int, reason: str) -> None:
    for state in pod["status"].get("containerStatuses", []):
        started = (state["state"].get("running") or {}).get("startedAt", now)
        ended = {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now}
        state.update(ready=False, started=False, state={"terminated": ended})


def _waiting(container: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": reason}},
    }


def _set(status: dict[str, Any], kind: str, value: str, now: str, reason: str = "", message: str = "") -> None:
    set_condition(status.setdefault("conditions", []), kind, value, reason, message, now)


def _address(pod: KubernetesObject) -> str:
    mark = int(hash_text(pod["metadata"]["uid"])[:6], 16)
    return f"10.244.{(mark >> 8) & 255}.{max(mark & 255, 2)}"
