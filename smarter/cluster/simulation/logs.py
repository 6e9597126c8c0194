"""The log lines that a simulated container would have written. `simulated.py` calls it for the port's `logs`."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from smarter.cluster.processes.logs import path_of, tail
from smarter.cluster.simulation import process_nodes, refusals
from smarter.cluster.simulation.kubelet import delay_of
from smarter.cluster.simulation.world import World, fate_of, moment_of
from smarter.core.objects import KubernetesObject

_MAX_TICKS = 5_000
_FETCH = "fetch"
_WEIGHTS_BYTES = 16_400_000_000
"""Eight billion parameters in 16 bits."""


def read_logs(world: World, namespace: str, name: str, container: str, *, tail_lines: int, previous: bool) -> str:
    what = f"logs of Pod {namespace}/{name}"
    pod = world.get("Pod", namespace, name)
    if pod is None:
        raise refusals.bad_request(what, f'pods "{name}" not found')
    state = _state_of(pod, container)
    if state is None:
        if container in _names(pod):
            raise refusals.bad_request(what, f"pod {name} does not have a host assigned")
        raise refusals.bad_request(what, f"container {container} is not valid for pod {name}")
    if previous and "lastState" not in state:
        raise refusals.bad_request(what, f'previous terminated container "{container}" in pod "{name}" not found')
    phase = state["lastState"] if previous else state["state"]
    if "waiting" in phase and "lastState" not in state:
        reason = phase["waiting"]["reason"]
        raise refusals.bad_request(what, f'container "{container}" in pod "{name}" is waiting to start: {reason}')
    if "waiting" in phase:
        phase = state["lastState"]
    folder = process_nodes.folder_of_pod(world, pod)
    if folder is not None:
        before = previous and "waiting" not in state["state"]
        file = path_of(folder / "pods" / pod["metadata"]["uid"], container, state["restartCount"] - before)
        return tail(file, lines=tail_lines)
    lines = _lines(world, pod, container, phase)
    return "".join(f"{line}\n" for line in lines[-tail_lines:] if tail_lines > 0)


def _names(pod: KubernetesObject) -> set[str]:
    return {one["name"] for group in ("initContainers", "containers") for one in pod["spec"].get(group) or ()}


def _state_of(pod: KubernetesObject, container: str) -> dict[str, Any] | None:
    status = pod.get("status") or {}
    states = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    return next((state for state in states if state["name"] == container), None)


def _lines(world: World, pod: KubernetesObject, container: str, phase: Mapping[str, Any]) -> list[str]:
    ended = phase.get("terminated") or {}
    started = ended.get("startedAt") or phase["running"]["startedAt"]
    lines = [
        f"{started} INFO simulated container {container} starting",
        f"{started} INFO image {_image(pod, container)}",
    ]
    if container == _FETCH:
        return lines + _fetched(world, pod, phase)
    if ended.get("message"):
        return [*lines, *str(ended["message"]).splitlines()]
    if ended.get("reason") == "OOMKilled":
        return [*lines, f"{ended['finishedAt']} INFO allocating memory for the model"]
    if ended.get("exitCode"):
        return [*lines, f"{ended['finishedAt']} ERROR simulated failure, exit code {ended['exitCode']}"]
    if ended:
        return [*lines, f"{ended['finishedAt']} INFO done"]
    if fate_of(pod) in ("failing-probe", "slow-start"):
        return [*lines, f"{started} INFO loading the model"]
    lines.append(f"{started} INFO ready to serve")
    start = moment_of(started)
    ticks = min(int((world.now - start).total_seconds() // 10), _MAX_TICKS)
    stamps = (start + timedelta(seconds=10 * (tick + 1)) for tick in range(ticks))
    return lines + [f"{stamp.strftime('%Y-%m-%dT%H:%M:%SZ')} INFO GET /health 200" for stamp in stamps]


def _fetched(world: World, pod: KubernetesObject, phase: Mapping[str, Any]) -> list[str]:
    """What the fetch program says: how much has come, each second of the time that the simulation gives a download."""
    ended = phase.get("terminated") or {}
    if ended.get("exitCode"):
        return [str(ended.get("message") or json.dumps({"event": "error", "reason": "failed", "message": "simulated"}))]
    started = moment_of(ended.get("startedAt") or phase["running"]["startedAt"])
    until = moment_of(ended["finishedAt"]) if ended else world.now
    takes = max(delay_of(pod, world.pace.download), 1.0)
    seconds = min(int((until - started).total_seconds()), int(takes), _MAX_TICKS)
    amounts = [int(_WEIGHTS_BYTES * second / takes) for second in range(1, seconds + 1)]
    records: list[dict[str, Any]] = [{"event": "start", "files": 9, "total": _WEIGHTS_BYTES}]
    records += [{"event": "progress", "bytes": amount, "total": _WEIGHTS_BYTES} for amount in amounts]
    if ended:
        records.append({"event": "complete", "revision": "", "files": 9, "bytes": _WEIGHTS_BYTES})
    return [json.dumps(record) for record in records]


def _image(pod: KubernetesObject, container: str) -> str:
    for group in ("initContainers", "containers"):
        for one in pod["spec"].get(group) or ():
            if one["name"] == container:
                return str(one["image"])
    return ""
