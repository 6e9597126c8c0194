"""The status of a pod that runs as processes, in the shape that a kubelet writes. `node.py` calls it."""

from typing import Any

from smarter.cluster.processes.container import Container
from smarter.cluster.processes.pod import PodRun
from smarter.cluster.simulation.world import set_condition

ADDRESS = "127.0.0.1"


def status_of(run: PodRun, now: str) -> dict[str, Any]:
    """`now` is the time of conditions that change."""
    before = run.told
    status: dict[str, Any] = {
        "phase": _phase(run),
        "conditions": _conditions(run, before, now),
        "startTime": run.started_at or now,
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "hostIP": ADDRESS,
        "qosClass": before.get("qosClass", "Burstable"),
        "containerStatuses": [_container(one, init=False) for one in run.main],
    }
    if run.init:
        status["initContainerStatuses"] = [_container(one, init=True) for one in run.init]
    return status


def _phase(run: PodRun) -> str:
    if run.failed_init:
        return "Failed"
    if not run.initialized:
        return "Pending"
    if all(container.finished for container in run.main):
        codes = [(container.state.get("terminated") or {}).get("exitCode", 0) for container in run.main]
        return "Failed" if any(codes) else "Succeeded"
    begun = all("running" in one.state or "terminated" in one.state or one.last_state for one in run.main)
    return "Running" if begun else "Pending"


def _conditions(run: PodRun, before: dict[str, Any], now: str) -> list[dict[str, Any]]:
    conditions = [dict(one) for one in before.get("conditions", ())]
    names = " ".join(one.name for one in run.init if not _succeeded(one))
    if run.initialized:
        set_condition(conditions, "Initialized", "True", "", "", now)
    else:
        words = f"containers with incomplete status: [{names}]"
        set_condition(conditions, "Initialized", "False", "ContainersNotInitialized", words, now)
    ready = run.initialized and not run.leaving and all(one.ready for one in run.main)
    phase = _phase(run)
    unready = " ".join(one.name for one in run.main if not one.ready)
    reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "ContainersNotReady")
    words = "" if phase in ("Succeeded", "Failed") else f"containers with unready status: [{unready}]"
    for kind in ("Ready", "ContainersReady"):
        set_condition(conditions, kind, str(ready), "" if ready else reason, "" if ready else words, now)
    return conditions


def _container(one: Container, *, init: bool) -> dict[str, Any]:
    status: dict[str, Any] = {
        "name": one.name,
        "image": one.spec["image"],
        "imageID": "",
        "ready": _succeeded(one) if init else one.ready,
        "started": False if init else one.started,
        "restartCount": one.restarts,
        "state": one.state,
    }
    if one.process is not None:
        status["containerID"] = f"process://{one.process.pid}"
    if one.last_state:
        status["lastState"] = one.last_state
    return status


def _succeeded(one: Container) -> bool:
    return one.finished and (one.state.get("terminated") or {}).get("exitCode") == 0
