"""What containers wrote: one file for each start. `container.py` writes them, the simulated cluster reads them."""

import os
from pathlib import Path

_MOST_BYTES = 64 * 1024 * 1024
_READ_BYTES = 1024 * 1024
_KEPT = 2


def path_of(pod_folder: Path, container: str, restarts: int) -> Path:
    return pod_folder / "logs" / container / f"{restarts}.log"


def tail(path: Path, *, lines: int) -> str:
    """The last lines, at most 1 MiB of them. Empty where nothing was written."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _READ_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    kept = text.splitlines(keepends=True)[-lines:] if lines > 0 else []
    return "".join(kept)


def bound(path: Path) -> None:
    """A container that writes without end does not fill the disk: beyond the limit its log begins anew."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            os.truncate(path, 0)
    except FileNotFoundError:
        return


def forget_old(pod_folder: Path, container: str, restarts: int) -> None:
    """Keeps the log of this start and of the one before."""
    path_of(pod_folder, container, restarts - _KEPT).unlink(missing_ok=True)
