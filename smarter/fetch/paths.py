"""Which names files may have on the volume, and which files of a place are brought."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from smarter.fetch.errors import FetchError

MAX_PARTS = 999
_PART = re.compile(r"(.+)-[0-9]{5}-of-([0-9]{5})(\.[A-Za-z0-9]+)\Z", re.ASCII)
# Other spellings of the same weights; engines load the safetensors where they are.
_OTHER_WEIGHTS = (".pth", ".bin", ".pt", ".h5", ".msgpack", ".ot")


def is_safe_path(path: str) -> bool:
    parts = path.split("/")
    return (
        0 < len(path) <= 1024
        and path.isprintable()
        and "\\" not in path
        and not path.startswith("/")
        and all(part not in ("", ".", "..") and len(part.encode()) <= 200 for part in parts)
        and not parts[0].startswith(".smarter-")
    )


def selected(names: set[str], file: str | None, place: str) -> set[str]:
    """The one file (with its parts, if it is split), or all that an engine can use."""
    if file is not None:
        wanted = set(_parts(file))
        if not wanted <= names:
            raise FetchError("not_found", f"{place} has no file {min(wanted - names)}")
        return wanted
    wanted = {name for name in names if _is_wanted(name, names)}
    if not wanted:
        raise FetchError("not_found", f"{place} has no files")
    return wanted


def _is_wanted(name: str, names: set[str]) -> bool:
    if name.startswith("original/") or name in (".gitattributes", ".gitignore"):
        return False
    if not any(other.endswith(".safetensors") and not other.startswith("original/") for other in names):
        return True
    return PurePosixPath(name).suffix not in _OTHER_WEIGHTS


def _parts(file: str) -> Iterator[str]:
    """A split file is named by one of its parts and needs the others beside it."""
    match = _PART.match(file)
    if not match or not 1 <= int(match.group(2)) <= MAX_PARTS:
        yield file
        return
    stem, count, suffix = match.groups()
    for number in range(1, int(count) + 1):
        yield f"{stem}-{number:05d}-of-{count}{suffix}"
