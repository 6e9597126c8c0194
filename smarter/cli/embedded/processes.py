"""Start, recognise and end processes that outlive their starter. Used by every other module of this package.

A process id alone does not name a process, because ids are used again. A record therefore holds the id together with
the time at which the process started, and nothing is ever signalled unless both still agree.
"""

import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smarter.core.errors import PermanentError

POLL_SECONDS = 0.02
PROC = Path("/proc")
HAS_PROC = (PROC / "self/stat").exists()

# The shell puts the program in the background, prints its id and ends, so that the program is adopted by init. It is
# then nobody's child: it survives its starter, and leaves its starter no zombie. Standard error is the log.
DETACH = '"$@" >&2 </dev/null & echo $!'


@dataclass(frozen=True)
class ProcessRecord:
    """`group` is the process group that only this process and its children belong to; `started` is opaque."""

    pid: int
    group: int
    started: str


@dataclass(frozen=True)
class Command:
    """`user` is the account to run as, or None for the account of the caller. `env` is the whole environment.
    `descriptors` are files of the caller that the program finds open under the same numbers."""

    argv: Sequence[str]
    log: Path
    env: Mapping[str, str]
    folder: Path
    user: pwd.struct_passwd | None = None
    descriptors: tuple[int, ...] = ()


def spawn(command: Command) -> ProcessRecord:
    descriptor = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        result = subprocess.run(
            ["/bin/sh", "-c", DETACH, "sh", *command.argv],
            stdout=subprocess.PIPE,
            stderr=descriptor,
            env=dict(command.env),
            cwd=command.folder,
            start_new_session=True,
            pass_fds=command.descriptors,
            umask=0o077,
            check=True,
            **identity_of(command.user),
        )
    finally:
        os.close(descriptor)
    pid = int(result.stdout)
    started = start_time(pid)
    try:
        group = os.getpgid(pid)
    except ProcessLookupError:
        group = pid
    return ProcessRecord(pid, group, started or "")


def identity_of(user: pwd.struct_passwd | None) -> dict[str, Any]:
    """The arguments of `subprocess` that give up root for `user`; nothing when the caller keeps its own account."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def start_time(pid: int) -> str | None:
    """None when there is no such process, or only its zombie."""
    if not HAS_PROC:
        return _start_time_by_ps(pid)
    fields = _stat(pid)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    # Field 22 counts ticks since boot; the boot id tells boots apart.
    return f"{(PROC / 'sys/kernel/random/boot_id').read_text().strip()}:{fields[19]}"


def _start_time_by_ps(pid: int) -> str | None:
    result = subprocess.run(
        ["/bin/ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = result.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the third on: the second, the name, may hold spaces and brackets."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def alive(record: ProcessRecord | None) -> bool:
    return record is not None and record.started != "" and start_time(record.pid) == record.started


def processes_in(folder: Path) -> list[int]:
    """Ids of processes whose working directory is `folder`; both servers change into their data directory.

    Empty where there is no /proc: there the servers' own pid files have to do.
    """
    found = []
    for entry in PROC.glob("[0-9]*") if HAS_PROC else ():
        try:
            same = (entry / "cwd").readlink() == folder
        except OSError:
            continue  # It ended, or it belongs to somebody else.
        if same and start_time(int(entry.name)) is not None:
            found.append(int(entry.name))
    return sorted(found)


def adopt(pid: int) -> ProcessRecord | None:
    """A record for a process that is known to be ours although its record was lost."""
    started = start_time(pid)
    return ProcessRecord(pid, os.getpgid(pid), started) if started else None


def members(group: int) -> list[int]:
    """Live processes of a group. The starter's shell led the group and is gone; a process that has the group's own
    number as its id is therefore a stranger that got the number again."""
    if not HAS_PROC:
        lines = subprocess.run(["/bin/ps", "-A", "-o", "pid=,pgid="], capture_output=True, text=True, check=True).stdout
        pairs = [tuple(map(int, line.split())) for line in lines.splitlines()]
    else:
        pairs = []
        for entry in PROC.glob("[0-9]*"):
            fields = _stat(int(entry.name))
            if fields is not None and fields[0] not in ("Z", "X"):
                pairs.append((int(entry.name), int(fields[2])))
    found = sorted(pid for pid, owner in pairs if owner == group)
    return [] if group in found else found


def terminate(record: ProcessRecord, first: signal.Signals, last: signal.Signals, grace_seconds: float) -> None:
    """Ask with `first`; after the grace period insist with `last`, which goes to the whole group."""
    if alive(record):
        _signal(record.pid, first)
        wait_until(lambda: not alive(record), grace_seconds)
    for pid in [record.pid] if alive(record) else []:
        _signal(pid, last)
    wait_until(lambda: not members(record.group), 2.0)
    for pid in members(record.group):
        _signal(pid, last)
    if not wait_until(lambda: not alive(record) and not members(record.group), grace_seconds):
        raise PermanentError(f"Process {record.pid} does not end.", reason="ProcessStuck")


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def free_port(wanted: int = 0) -> int:
    """`wanted` if nothing listens there, else one that the kernel picks."""
    with listen(wanted) as listener:
        return int(listener.getsockname()[1])


def listen(wanted: int, *, fixed: bool = False) -> socket.socket:
    """A listening socket on loopback: at `wanted`, or elsewhere where that is taken and not `fixed`."""
    for port in (wanted,) if fixed else (wanted, 0):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(2048)
        except OSError:
            listener.close()
            continue
        return listener
    raise PermanentError(f"Port {wanted} is in use.", reason="PortTaken")
