"""Troubles of pods whose words the pod itself brings along, in annotations: a container that cannot be set up, a fetch
that fails, a pod that its node refuses. One fate stands for a whole family of failures.

`kubelet.py` hands a pod over by the timer of its fate, `loop.py` fires it. Statuses have the shape that the stages of
the real control plane for tests write.
"""

from collections.abc import Callable, Mapping
from typing import Any

from smarter.cluster.simulation.world import World, fate_of, set_condition
from smarter.core.objects import KubernetesObject

REASON_ANNOTATION = "smarter.sh/test-reason"
MESSAGE_ANNOTATION = "smarter.sh/test-message"
EXIT_CODE_ANNOTATION = "smarter.sh/test-exit-code"

BEFORE_INIT: Mapping[str, str] = {
    "fetch-waiting": "wait_in_fetch",
    "fetch-crash": "fetch_start",
    "multi-attach": "prepare_in_vain",
    "attach-failed": "prepare_in_vain",
    "mount-failed": "prepare_in_vain",
    "sandbox-failed": "prepare_in_vain",
}
"""Fates that a pod meets instead of its init containers, to the step that plays them."""
AFTER_INIT: Mapping[str, str] = {"container-waiting": "wait_in_vain"}
WHEN_READY: Mapping[str, str] = {"pod-failed": "fail", "node-lost": "lose_node", "liveness-restarts": "kill"}

_VAIN_EVENTS = {
    "multi-attach": (
        "FailedAttachVolume",
        'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node and can\'t be '
        "attached to another",
    ),
    "attach-failed": (
        "FailedAttachVolume",
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = Internal desc = the disk is not found',
    ),
    "mount-failed": (
        "FailedMount",
        'MountVolume.SetUp failed for volume "pvc-1" : rpc error: code = Internal desc = wrong fs type, bad superblock',
    ),
    "sandbox-failed": (
        "FailedCreatePodSandBox",
        'Failed to create pod sandbox: plugin type="network" failed (add): no addresses are left in the node\'s range',
    ),
}


def told(pod: KubernetesObject, annotation: str, default: str) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(annotation, default))


def ended(pod: KubernetesObject, started: str, finished: str, code: int, reason: str) -> dict[str, Any]:
    """The state of a container that died, with the words and the exit code that the pod brought along."""
    state: dict[str, Any] = {
        "exitCode": int(told(pod, EXIT_CODE_ANNOTATION, str(code))),
        "reason": reason,
        "startedAt": started,
        "finishedAt": finished,
    }
    message = told(pod, MESSAGE_ANNOTATION, "")
    return {**state, "message": message} if message else state


def prepare_in_vain(world: World, pod: KubernetesObject) -> None:
    """The node cannot give the pod its volume or its network; only Events say so."""
    world.warn(pod, *_VAIN_EVENTS[fate_of(pod)])


def wait_in_vain(world: World, pod: KubernetesObject) -> None:
    _wait(world, pod, pod["status"]["containerStatuses"])


def wait_in_fetch(world: World, pod: KubernetesObject) -> None:
    _wait(world, pod, pod["status"]["initContainerStatuses"][:1])


def fetch_start(world: World, pod: KubernetesObject) -> None:
    state = pod["status"]["initContainerStatuses"][0]
    last = state["state"].get("terminated") or (state.get("lastState") or {}).get("terminated")
    if last:
        state["lastState"] = {"terminated": last}
        state["restartCount"] += 1
    state.update(started=True, state={"running": {"startedAt": world.timestamp()}})
    world.put(pod)
    world.wake(pod, "fetch_die", world.pace.crash)


def fetch_die(world: World, pod: KubernetesObject) -> None:
    state = pod["status"]["initContainerStatuses"][0]
    started = state["state"]["running"]["startedAt"]
    end = ended(pod, started, world.timestamp(), 1, told(pod, REASON_ANNOTATION, "Error"))
    state.update(started=False)
    if state["restartCount"] == 0:
        state["state"] = {"terminated": end}
        world.put(pod)
        world.wake(pod, "fetch_start", world.pace.initialize)
        return
    seconds = min(10.0 * 2 ** (state["restartCount"] - 1), 300.0)
    message = f"back-off {int(seconds)}s restarting failed container={state['name']} pod={pod['metadata']['name']}"
    state["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    state["lastState"] = {"terminated": end}
    world.put(pod)
    world.wake(pod, "fetch_start", seconds)


def lose_node(world: World, pod: KubernetesObject) -> None:
    """What the node lifecycle controller writes about pods of a silent node; the pod's own word stays as it was."""
    set_condition(pod["status"]["conditions"], "Ready", "False", "", "", world.timestamp())
    world.put(pod)
    world.warn(pod, "NodeNotReady", "Node is not ready")


def kill(world: World, pod: KubernetesObject) -> None:
    """The kubelet ends a server that stopped answering, and starts it again."""
    now = world.timestamp()
    for state in pod["status"]["containerStatuses"]:
        started = (state["state"].get("running") or {}).get("startedAt", now)
        state["lastState"] = {
            "terminated": {"exitCode": 137, "reason": "Error", "startedAt": started, "finishedAt": now}
        }
        state["restartCount"] += 1
        state.update(ready=False, started=False, state={"running": {"startedAt": now}})
    for kind in ("Ready", "ContainersReady"):
        set_condition(pod["status"]["conditions"], kind, "False", "ContainersNotReady", "", now)
    world.put(pod)
    world.warn(pod, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503")
    world.wake(pod, "become_ready", world.pace.crash)


def _wait(world: World, pod: KubernetesObject, states: list[dict[str, Any]]) -> None:
    waiting = {"reason": told(pod, REASON_ANNOTATION, "CreateContainerError")}
    message = told(pod, MESSAGE_ANNOTATION, "")
    if message:
        waiting["message"] = message
    for state in states:
        state["state"] = {"waiting": dict(waiting)}
    world.put(pod)
    world.warn(pod, "Failed", f"Error: {message or waiting['reason']}")


STEPS: Mapping[str, Callable[[World, KubernetesObject], None]] = {
    "prepare_in_vain": prepare_in_vain,
    "wait_in_vain": wait_in_vain,
    "wait_in_fetch": wait_in_fetch,
    "fetch_start": fetch_start,
    "fetch_die": fetch_die,
    "lose_node": lose_node,
    "kill": kill,
}
