"""One writer per target, also where file locks do nothing.

The lock is a `flock` where that works, and on top of it a sign of life: the holder rewrites a small file every few
seconds. Whoever wants the lock also needs to see that sign stand still. Clocks of different machines are not compared;
each waiter measures with its own.
"""

import fcntl
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

BEAT_SECONDS = 5.0
# Longer than some missed beats and an attribute cache of a network file system.
DEAD_AFTER_SECONDS = 45.0
POLL_SECONDS = 1.0


@contextmanager
def held(target: Path, done: Callable[[], bool], waiting: Callable[[], None]) -> Iterator[bool]:
    """Yields True with the lock held, or False when `done` came true while waiting for it."""
    path = target.parent / f".lock-{target.name}"
    sign = target.parent / f".owner-{target.name}"
    handle = _opened(path)
    try:
        if not _acquired(handle, sign, done, waiting):
            yield False
            return
        with _Heartbeat(sign):
            yield True
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """Pods of other users share the volume, so the file is open to all; whoever did not make it need not change it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    with suppress(PermissionError):
        os.fchmod(handle, 0o666)
    return handle


def _acquired(handle: int, sign: Path, done: Callable[[], bool], waiting: Callable[[], None]) -> bool:
    seen, seen_at = _read(sign), time.monotonic()
    while not done():
        if _flock(handle):
            # Processes of one machine see each other's flock, so here a free lock means a dead owner.
            if seen is None or seen.get("host") == socket.gethostname():
                return True
            if time.monotonic() - seen_at > DEAD_AFTER_SECONDS:
                return True
            fcntl.flock(handle, fcntl.LOCK_UN)
        waiting()
        time.sleep(POLL_SECONDS)
        latest = _read(sign)
        if latest != seen:
            seen, seen_at = latest, time.monotonic()
    return False


def _flock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # This file system cannot lock; the sign of life has to do.
        return True
    return True


def _read(sign: Path) -> dict[str, object] | None:
    try:
        found = json.loads(sign.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class _Heartbeat:
    """The sign of life, from a thread of its own, so that a slow server does not look like death."""

    def __init__(self, sign: Path) -> None:
        self._sign = sign
        self._owner = secrets.token_hex(8)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._sign.unlink(missing_ok=True)

    def _beat(self) -> None:
        count = 0
        while True:
            count += 1
            scratch = self._sign.with_name(f"{self._sign.name}.{self._owner}")
            try:
                scratch.write_text(json.dumps({"host": socket.gethostname(), "owner": self._owner, "beat": count}))
                scratch.replace(self._sign)
            except OSError:
                # A full volume; the next beat may succeed, and flock still holds where it works.
                scratch.unlink(missing_ok=True)
            if self._over.wait(BEAT_SECONDS):
                return
