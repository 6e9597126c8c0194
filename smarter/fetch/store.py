"""The volume's side of a fetch: complete or absent, never half.

Files are brought into `.tmp-<key>-<random>` beside the target and appear under their final name in one rename, with the
marker already inside. Engines start only where the marker is. `lock` sees to it that one process writes; if it should
fail to (some network file systems do not lock), each still has a folder of its own and the first rename wins.
"""

import json
import os
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from smarter.fetch.errors import FetchError

MARKER = ".smarter-complete"
PLAN = ".smarter-plan"
# What the file system itself needs beside the bytes of the files.
SPARE_BYTES = 16 * 1024 * 1024


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def require_space(folder: Path, needed_bytes: int) -> None:
    free = free_bytes(folder)
    if needed_bytes + SPARE_BYTES > free:
        raise FetchError(
            "disk_full",
            f"{needed_bytes} bytes are needed and {free} are free on the volume; a larger storage size is needed",
        )


def used_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, json.dumps(value).encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Whole or not at all, and on the disk when it returns."""
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with scratch.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def read_marker(target: Path, name: str = MARKER) -> dict[str, Any] | None:
    """The marker of a folder whose files are all there in their sizes; None where anything is missing."""
    try:
        marker = json.loads((target / name).read_text())
        whole = all((target / entry["path"]).stat().st_size == entry["size"] for entry in marker["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return marker if whole and isinstance(marker, dict) else None


def working_folder(target: Path, identity: dict[str, Any]) -> Path:
    """A folder for this process alone: what an earlier one left of the same identity, or a new one. Only for the holder
    of the lock, since it removes what others left."""
    mine = target.parent / f".tmp-{target.name}-{secrets.token_hex(8)}"
    for left in sorted(target.parent.glob(f".tmp-{target.name}-*"), key=_modified, reverse=True):
        if not mine.exists() and _identity_of(left) == identity:
            # A rename is the claim: of two processes only one can do it.
            try:
                left.rename(mine)
            except OSError:
                continue
        else:
            shutil.rmtree(left, ignore_errors=True)
    if not mine.exists():
        mine.mkdir()
        write_json(mine / PLAN, identity)
    return mine


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _identity_of(folder: Path) -> Any:
    try:
        return json.loads((folder / PLAN).read_text())
    except (OSError, ValueError):
        return None


def remove_strangers(folder: Path, wanted: set[str]) -> None:
    """Deletes files that an earlier fetch left and this one does not want."""
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif name not in wanted:
            path.unlink()


def publish(folder: Path, target: Path, identity: dict[str, Any], files: list[dict[str, Any]]) -> None:
    """Writes the marker last, then gives the folder its name. A complete folder that is there already wins."""
    remove_strangers(folder, {entry["path"] for entry in files})
    finished = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    write_json(folder / MARKER, {**identity, "files": files, "finished": finished})
    sync(folder)
    for _ in range(3):
        try:
            folder.rename(target)
        except OSError:
            if read_marker(target):
                shutil.rmtree(folder, ignore_errors=True)
                return
            _put_aside(target)
        else:
            sync(target.parent)
            return
    raise FetchError("failed", "the finished folder cannot be given its name")


def _put_aside(target: Path) -> None:
    """A target without a good marker was damaged, or made by something else. It does not come back."""
    aside = target.parent / f".tmp-{target.name}-{secrets.token_hex(8)}"
    try:
        target.rename(aside)
    except OSError as error:
        raise FetchError("failed", f"an incomplete folder is in the way: {error.strerror}") from None
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink()


def sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
