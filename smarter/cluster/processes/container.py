"""The life of one container as a process: started, probed, ended, started again after a pause. `pod.py` steps it.

`state` and `last_state` have the shape of a pod's status. Time comes in as a Moment; nothing here sleeps.
"""

import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smarter.cluster.processes import logs
from smarter.cluster.processes.launch import Mount, Plan, Programs, RefusedStart, command_plan
from smarter.cluster.processes.probes import Probe, Question, http_question, port_question
from smarter.cluster.processes.process import Process, run_command
from smarter.cluster.processes.stopping import Stopping

FIRST_PAUSE_SECONDS = 10.0
LAST_PAUSE_SECONDS = 300.0
_STEADY_SECONDS = 600.0
"""Who ran for so long has its earlier crashes forgiven."""
_RETRY_SECONDS = 5.0
_MESSAGE_BYTES = 2048
_PROBES = ("startup", "liveness", "readiness")


@dataclass(frozen=True, slots=True)
class Moment:
    """`seconds` is for intervals, `stamp` is the cluster's time for the status."""

    seconds: float
    stamp: str


@dataclass(frozen=True, slots=True)
class Notice:
    """What becomes an Event of the pod."""

    reason: str
    message: str
    kind: str = "Warning"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a container runs. `folder` is that of its pod, `pod_title` is for messages."""

    folder: Path
    programs: Programs
    pool: ThreadPoolExecutor
    pod_title: str
    grace_seconds: float


@dataclass(slots=True)
class Container:
    spec: Mapping[str, Any]
    place: Place
    plan: Callable[[], tuple[Plan, tuple[Mount, ...]]]
    """What to run now, anew for each start. Raises RefusedStart."""
    restarts_after: Callable[[int], bool]
    """Whether it is started again after it ended with this exit code."""
    restarts: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    last_state: dict[str, Any] = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    finished: bool = False
    """It ended and is not started again."""
    process: Process | None = None
    notices: list[Notice] = field(default_factory=list)
    _began: Moment = Moment(0.0, "")
    _next_start: float = 0.0
    _crashes: int = 0
    _plan: tuple[Plan, tuple[Mount, ...]] | None = None
    _stopping: Stopping | None = None
    _probes: dict[str, Probe] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def log(self) -> Path:
        return logs.path_of(self.place.folder, self.name, self.restarts)

    def step(self, now: Moment) -> None:
        if self.process is None:
            if not self.finished and now.seconds >= self._next_start:
                self._start(now)
            return
        code = self.process.exit_code()
        if code is not None:
            self._end(self.process, code, now)
        elif self._stopping is not None:
            self._stopping.step(now.seconds, self.process)
        else:
            self._watch(now)
            logs.bound(self.log)

    def stop(self, now: Moment, grace_seconds: float, *, final: bool) -> None:
        """Asks the process to end; `step` brings it about. `final` is for a pod that is going away."""
        if final:
            self.restarts_after = _never
        if self.process is None:
            self.finished = self.finished or final
            return
        if self._stopping is None:
            self.ready = False
            self._stopping = Stopping(self._pre_stop(grace_seconds), now.seconds, grace_seconds, self.place.pool)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def _start(self, now: Moment) -> None:
        if "terminated" in self.state:
            self.last_state = self.state
        restarts = self.restarts + 1 if self.last_state else self.restarts
        try:
            self._plan = self.plan()
            self._require_ports()
            log = logs.path_of(self.place.folder, self.name, restarts)
            self.process = Process(self._plan[0], self.place.folder / "work", log)
        except RefusedStart as refusal:
            self._wait(refusal.reason, refusal.message, now, _RETRY_SECONDS)
            return
        except OSError as error:
            self._wait("RunContainerError", f"the program cannot be started: {error.strerror}", now, _RETRY_SECONDS)
            return
        self.restarts, self._began, self._stopping = restarts, now, None
        logs.forget_old(self.place.folder, self.name, restarts)
        self.state = {"running": {"startedAt": now.stamp}}
        self._probes = {kind: self._probe(kind, now) for kind in _PROBES if self.spec.get(f"{kind}Probe")}
        self.started = "startup" not in self._probes
        self.ready = self.started and "readiness" not in self._probes
        self.notices.append(Notice("Started", f"Started container {self.name}", "Normal"))

    def _wait(self, reason: str, message: str, now: Moment, seconds: float) -> None:
        waiting = {"reason": reason, "message": message}
        if self.state.get("waiting") != waiting:
            self.notices.append(Notice("Failed", f"Error: {message}"))
        self.state, self._next_start = {"waiting": waiting}, now.seconds + seconds

    def _require_ports(self) -> None:
        for port in ports_of(self.spec):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    words = f"port {port} is in use by another program of this machine"
                    raise RefusedStart("RunContainerError", words) from None

    def _end(self, process: Process, code: int, now: Moment) -> None:
        self.process, self._stopping = None, None
        self.ready = self.started = False
        ended: dict[str, Any] = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": self._began.stamp,
            "finishedAt": now.stamp,
            "containerID": f"process://{process.pid}",
        }
        if code and self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            ended["message"] = logs.tail(self.log, lines=80)[-_MESSAGE_BYTES:]
        self.state = {"terminated": ended}
        self.finished = not self.restarts_after(code)
        if self.finished:
            return
        self._crashes = 1 if now.seconds - self._began.seconds >= _STEADY_SECONDS else self._crashes + 1
        self._next_start = now.seconds
        if self._crashes > 1:
            self._back_off(now, {"terminated": ended})

    def _back_off(self, now: Moment, ended: dict[str, Any]) -> None:
        seconds = min(FIRST_PAUSE_SECONDS * 2 ** (self._crashes - 2), LAST_PAUSE_SECONDS)
        message = f"back-off {seconds:.0f}s restarting failed container={self.name} pod={self.place.pod_title}"
        self.state, self.last_state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}, ended
        self._next_start = now.seconds + seconds
        self.notices.append(Notice("BackOff", f"Back-off restarting failed container {self.name}"))

    def _watch(self, now: Moment) -> None:
        """Until it has started up only that is asked; afterwards whether it lives and whether it is ready."""
        verdicts = {}
        for kind in ("startup",) if not self.started else ("liveness", "readiness"):
            probe = self._probes.get(kind)
            if probe is not None:
                verdicts[kind] = probe.step(now.seconds, self.place.pool)
                self._tell(probe)
        if verdicts.get("startup"):
            self.started = True
            self.ready = "readiness" not in self._probes
            for probe in self._probes.values():
                probe.hurry(now.seconds)
        if verdicts.get("readiness") is not None:
            self.ready = bool(verdicts["readiness"])
        for kind in ("startup", "liveness"):
            if verdicts.get(kind) is False:
                words = f"Container {self.name} failed {kind} probe, will be restarted"
                self.notices.append(Notice("Killing", words, "Normal"))
                self.stop(now, self._grace_seconds(kind), final=False)

    def _tell(self, probe: Probe) -> None:
        news = probe.take_news()
        if news:
            self.notices.append(Notice("Unhealthy", f"{probe.kind.capitalize()} probe failed: {news}"))

    def _grace_seconds(self, kind: str) -> float:
        own = (self.spec.get(f"{kind}Probe") or {}).get("terminationGracePeriodSeconds")
        return float(own) if own is not None else self.place.grace_seconds

    def _probe(self, kind: str, now: Moment) -> Probe:
        spec = self.spec[f"{kind}Probe"]
        return Probe(kind, spec, self._question(spec, float(spec.get("timeoutSeconds") or 1)), now.seconds)

    def _question(self, action: Mapping[str, Any], timeout_seconds: float) -> Question:
        if "httpGet" in action:
            return http_question(action["httpGet"], port_number(self.spec, action["httpGet"]["port"]), timeout_seconds)
        if "tcpSocket" in action:
            return port_question(port_number(self.spec, action["tcpSocket"]["port"]), timeout_seconds)
        return self._command_question(action["exec"]["command"], timeout_seconds)

    def _command_question(self, command: list[str], timeout_seconds: float) -> Question:
        plan, mounts = self._plan or (Plan((), {}), ())

        def ask() -> str | None:
            try:
                argv = command_plan(command, plan.env, mounts, self.place.programs)
            except RefusedStart as refusal:
                return refusal.message
            return run_command(argv, dict(plan.env), self.place.folder / "work", timeout_seconds)

        return ask

    def _pre_stop(self, grace_seconds: float) -> float | Question | None:
        """Seconds to wait, or something to run, before the signal."""
        hook = (self.spec.get("lifecycle") or {}).get("preStop") or {}
        if "sleep" in hook:
            return float(hook["sleep"]["seconds"])
        return self._question(hook, grace_seconds) if hook else None


def ports_of(spec: Mapping[str, Any]) -> list[int]:
    return [port["containerPort"] for port in spec.get("ports") or () if port.get("protocol", "TCP") == "TCP"]


def port_number(spec: Mapping[str, Any], port: int | str) -> int:
    """Probes name a port of the container by its number or its name."""
    named = {one.get("name"): one["containerPort"] for one in spec.get("ports") or ()}
    return int(named.get(port, port))


def _never(_code: int) -> bool:
    return False
