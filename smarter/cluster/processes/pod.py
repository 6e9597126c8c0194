"""One pod of a process node: its init containers one after the other, then its containers side by side.

`node.py` makes a PodRun for each pod that the scheduler gave it, steps it, and writes `status.py`'s picture of it.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smarter.cluster.processes import volumes
from smarter.cluster.processes.container import Container, Moment, Notice, Place
from smarter.cluster.processes.launch import Lookup, Mount, Plan, Programs, RefusedStart, plan_of
from smarter.core.objects import KubernetesObject


@dataclass(frozen=True, slots=True)
class Site:
    """What all pods of a node share."""

    folder: Path
    programs: Programs
    pool: ThreadPoolExecutor


@dataclass(slots=True)
class PodRun:
    body: KubernetesObject
    init: list[Container]
    main: list[Container]
    leaving: bool = False
    started_at: str = ""
    told: dict[str, Any] = field(default_factory=dict)
    """The status as it was last written."""

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def initialized(self) -> bool:
        return all(container.finished and _exit_code(container) == 0 for container in self.init)

    @property
    def failed_init(self) -> bool:
        return any(container.finished and _exit_code(container) != 0 for container in self.init)

    @property
    def ended(self) -> bool:
        """Nothing of it runs, and nothing will."""
        if any(container.process is not None for container in self.all()):
            return False
        return self.leaving or self.failed_init or (self.initialized and all(one.finished for one in self.main))

    def all(self) -> Iterator[Container]:
        yield from self.init
        yield from self.main

    def step(self, now: Moment) -> None:
        self.started_at = self.started_at or now.stamp
        if self.leaving:
            for container in self.all():
                if container.process is not None:
                    container.step(now)
            return
        for container in self.init:
            if not container.finished:
                container.step(now)
            if not container.finished or _exit_code(container) != 0:
                return
        for container in self.main:
            container.step(now)

    def leave(self, now: Moment, grace_seconds: float) -> None:
        self.leaving = True
        for container in self.all():
            container.stop(now, grace_seconds, final=True)

    def kill(self) -> None:
        self.leaving = True
        for container in self.all():
            container.kill()

    def take_notices(self) -> list[Notice]:
        notices = [notice for container in self.all() for notice in container.notices]
        for container in self.all():
            container.notices.clear()
        return notices


def pod_run(body: KubernetesObject, site: Site, lookup: Lookup, now: str) -> PodRun:
    """Also for a pod that the node had before it was started anew: its containers then begin again, and say so."""
    metadata, spec = body["metadata"], body["spec"]
    title = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    grace = float(spec.get("terminationGracePeriodSeconds", 30))
    place = Place(volumes.pod_folder(site.folder, metadata["uid"]), site.programs, site.pool, title, grace)
    policy = spec.get("restartPolicy", "Always")
    status = body.get("status") or {}
    known = {
        one["name"]: one for one in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    }
    waiting = "PodInitializing" if spec.get("initContainers") else "ContainerCreating"

    def container(one: Mapping[str, Any], *, init: bool) -> Container:
        def plan() -> tuple[Plan, tuple[Mount, ...]]:
            if init and one.get("restartPolicy") == "Always":
                raise RefusedStart("CreateContainerConfigError", "sidecars are not offered on this machine")
            mounts = volumes.mounts_of(one, volumes.prepare(site.folder, body, lookup))
            return plan_of(one, body, mounts, site.programs, lookup), mounts

        def again(code: int) -> bool:
            return policy != "Never" and (code != 0 or (policy == "Always" and not init))

        made = Container(one, place, plan, again, state={"waiting": {"reason": waiting}})
        _remember(made, known.get(one["name"]), now)
        return made

    return PodRun(
        body,
        [container(one, init=True) for one in spec.get("initContainers") or ()],
        [container(one, init=False) for one in spec["containers"]],
        started_at=status.get("startTime", ""),
        told=status,
    )


def _remember(container: Container, known: Mapping[str, Any] | None, now: str) -> None:
    """What an earlier process of the node wrote. Its programs ended with it."""
    if known is None:
        return
    container.restarts = known["restartCount"]
    container.last_state = dict(known.get("lastState") or {})
    state = known["state"]
    if "terminated" in state:
        container.state = state
        container.finished = state["terminated"]["exitCode"] == 0 and not container.restarts_after(0)
        container.finished = container.finished or not container.restarts_after(state["terminated"]["exitCode"])
    elif "running" in state:
        ended = {
            "exitCode": 137,
            "reason": "ContainerStatusUnknown",
            "message": "The container could not be located when the node was started again",
            "startedAt": state["running"]["startedAt"],
            "finishedAt": now,
        }
        container.state = {"terminated": ended}


def _exit_code(container: Container) -> int:
    return int((container.state.get("terminated") or {}).get("exitCode", -1))
