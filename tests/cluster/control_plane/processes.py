"""Starts, recognises and ends the processes of a control plane, each in a process group of its own."""

import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.control_plane.versions import ControlPlaneError


@dataclass(frozen=True)
class Process:
    """A pid and when it started: together they never mean another process, even after the pid was given out again."""

    name: str
    pid: int
    started: str


def free_ports(count: int) -> list[int]:
    """Ports that nobody has at the moment; all are held until all are known, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def start(name: str, command: list[str], folder: Path) -> Process:
    """Output goes to logs/NAME.log; the process outlives the one that starts it."""
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    with (logs / f"{name}.log").open("wb") as log:
        popen = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            close_fds=True,
        )
    # It is ended by pid, perhaps by another process than this one, so Popen must not complain that nobody waits.
    popen.returncode = 0
    return Process(name, popen.pid, start_time(popen.pid) or "")


def start_time(pid: int) -> str | None:
    """When the process started, as the system counts it; None when it is gone or a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return start_time_by_ps(pid)
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in ("Z", "X"):
        return None
    return f"{boot_id()} {fields[19]}"


def boot_id() -> str:
    """Start times count from the boot, so the boot belongs to them."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time_by_ps(pid: int) -> str | None:
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = answer.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def is_alive(process: Process) -> bool:
    return start_time(process.pid) == process.started


def stop(process: Process, patience_seconds: float) -> None:
    """SIGTERM, and SIGKILL when patience ends. Nothing is sent to a pid that now belongs to another process."""
    reap(process)
    for number, seconds in ((signal.SIGTERM, patience_seconds), (signal.SIGKILL, 10.0)):
        if not is_alive(process):
            return
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            reap(process)
            if not is_alive(process):
                return
            time.sleep(0.02)
    raise ControlPlaneError(f"{process.name} (pid {process.pid}) does not end")


def reap(process: Process) -> None:
    """Collect the exit code when the process is a child of this one; otherwise the system does."""
    try:
        os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return


def log_tail(folder: Path, name: str, lines: int = 8) -> str:
    path = folder / "logs" / f"{name}.log"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""
