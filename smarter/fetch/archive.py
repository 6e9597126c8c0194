"""Takes the files out of a tar archive that was brought, for a model that one address holds as a whole.

Only plain files come out, under safe names: links, devices and paths that lead elsewhere end the fetch. A folder that
holds everything is left away, since archives of a model are usually made of its folder.
"""

import hashlib
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smarter.fetch import store
from smarter.fetch.errors import FetchError
from smarter.fetch.paths import is_safe_path
from smarter.fetch.transfer import CHUNK_BYTES, disk_fault

MAX_FILES = 10_000


def unpacked(archive: Path, folder: Path, wanted: str | None) -> list[dict[str, Any]]:
    """The marker's entries of the files, which lie in `folder` afterwards. The archive stays. `wanted` is a file that
    must be among them."""
    entries = _all_of(archive, folder)
    if wanted is not None and wanted not in {entry["path"] for entry in entries}:
        raise FetchError("not_found", f"the archive has no file {wanted}")
    return entries


def _all_of(archive: Path, folder: Path) -> list[dict[str, Any]]:
    try:
        with tarfile.open(archive, "r:*") as tar:
            members = list(_files(tar))
            top = _common_folder([_name(member) for member in members])
            return [_written(tar, member, _name(member).removeprefix(top), folder) for member in members]
    except (tarfile.TarError, EOFError) as error:
        raise FetchError("bad_archive", f"{archive.name} is not a whole tar archive: {type(error).__name__}") from None
    except OSError as error:
        # A damaged gzip stream is an OSError without a number.
        if error.errno is None:
            raise FetchError("bad_archive", f"{archive.name} is damaged") from None
        raise disk_fault(error) from None


def _files(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    seen: set[str] = set()
    for member in tar:
        if member.isdir():
            continue
        name = _name(member)
        if not member.isreg() or not is_safe_path(name):
            raise FetchError("bad_archive", "the archive holds a link, a device or a path that leads out of it")
        if name in seen or len(seen) == MAX_FILES:
            raise FetchError("bad_archive", f"the archive holds a file twice, or more than {MAX_FILES} files")
        seen.add(name)
        yield member
    if not seen:
        raise FetchError("bad_archive", "the archive holds no files")


def _name(member: tarfile.TarInfo) -> str:
    return member.name.removeprefix("./")


def _common_folder(names: list[str]) -> str:
    """The folder that all files lie in, with its slash; '' where there is none."""
    tops = {name.partition("/")[0] for name in names}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in names) else ""


def _written(tar: tarfile.TarFile, member: tarfile.TarInfo, name: str, folder: Path) -> dict[str, Any]:
    if not is_safe_path(name):
        raise FetchError("bad_archive", "the archive holds a file with a name that is kept for other things")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    store.require_space(path.parent, member.size)
    digest = hashlib.sha256()
    content = tar.extractfile(member)
    if content is None:
        raise FetchError("bad_archive", "the archive holds something that is not a file")
    with content, path.open("wb") as file:
        while chunk := content.read(CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
        file.flush()
        os.fsync(file.fileno())
    if path.stat().st_size != member.size:
        raise FetchError("bad_archive", "the archive ends in the middle of a file")
    return {"path": name, "size": member.size, "sha256": digest.hexdigest()}
