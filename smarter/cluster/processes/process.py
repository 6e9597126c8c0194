"""One program of a container as a process of this machine, in a process group of its own. `container.py` calls it.

The kernel ends the process when the node's process ends, however that ends: a pod never outlives its kubelet.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from smarter.cluster.processes.launch import Plan

_PR_SET_PDEATHSIG = 1
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True)


class Process:
    """Started from the main thread only: the kernel's watch is over the thread that started it."""

    def __init__(self, plan: Plan, folder: Path, log: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._child = subprocess.Popen(
                plan.argv,
                cwd=folder,
                env=dict(plan.env),
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,
                umask=0o077,
                preexec_fn=_die_with(os.getpid()) if _LINUX else None,
            )
        finally:
            os.close(descriptor)
        self.pid = self._child.pid

    def exit_code(self) -> int | None:
        """None while it runs. What it left running in its group is ended before its number can be given away."""
        if self._child.returncode is None:
            if not _has_ended(self.pid):
                return None
            signal_group(self.pid, signal.SIGKILL)
            self._child.wait()
        code = self._child.returncode
        return code if code >= 0 else 128 - code

    def terminate(self) -> None:
        if self._child.returncode is None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._child.returncode is None:
            signal_group(self.pid, signal.SIGKILL)


def signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def run_command(argv: Sequence[str], env: dict[str, str], folder: Path, timeout_seconds: float) -> str | None:
    """None if it ended with 0, else why not. For probes and hooks, which threads may run: it has an end of its own."""
    try:
        child = subprocess.Popen(
            argv,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return f"the command cannot be run: {error.strerror}"
    try:
        code = child.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        return f"the command did not end within {timeout_seconds:g} s"
    finally:
        signal_group(child.pid, signal.SIGKILL)
        child.wait()
    return None if code == 0 else f"the command ended with exit code {code}"


def _has_ended(pid: int) -> bool:
    """Leaves the process to be collected, so that its number stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _die_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare
