"""Brings one file into a folder: resumes, checks size and checksum, and only then gives it its name.

A file under way is `<name>.partial` with a small record beside it of the version that the server named. A later
process that takes the folder over goes on from there if the server still has that version.
"""

import errno
import json
import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from smarter.fetch import store
from smarter.fetch.digest import Digest, Item
from smarter.fetch.errors import Broken, FetchError, Stopped
from smarter.fetch.pace import Pace, wait
from smarter.fetch.progress import Progress
from smarter.fetch.web import Answer, Credential, Rules, request, require_success

CHUNK_BYTES = 1024 * 1024
# Fewer bytes than this in one stall period count as nothing: a server that drips would hold a pod for ever.
MIN_BYTES_PER_STALL_PERIOD = 1024
# An attempt that brought this much was worth it, and failures are counted from the start again.
WORTHWHILE_BYTES = 1024 * 1024
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)\Z", re.ASCII)


@dataclass(slots=True)
class Context:
    """What one fetch has in hand. A place may find its credential only on the way."""

    rules: Rules
    pace: Pace
    progress: Progress
    token_env: str
    token: Credential | None = None
    secret: str = field(default="", repr=False)
    """For a place whose credential is more than a token."""
    stop: threading.Event = field(default_factory=threading.Event)
    judge: Callable[[Answer, str], None] | None = None
    """How this place says no, where it has ways of its own."""

    def require_success(self, answer: Answer, what: str) -> None:
        if self.judge:
            self.judge(answer, what)
        else:
            require_success(answer, what, self.token_env, has_token=self.token is not None)


def bring(item: Item, folder: Path, context: Context) -> dict[str, Any]:
    """The file's entry for the marker. Raises FetchError, or Stopped."""
    final = folder / item.path
    partial = folder / f"{item.path}.partial"
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.exists():
        # An earlier process finished it, and did not live to finish the rest. It is checked like any other.
        final.rename(partial)
    digest = Digest(item, context.progress)
    failures = mismatches = 0
    while True:
        if context.stop.is_set():
            raise Stopped
        begun_at = _size(partial)
        try:
            _attempt(item, partial, digest, context)
        except Broken as fault:
            failures = 1 if _size(partial) - begun_at >= WORTHWHILE_BYTES else failures + 1
            context.progress.say("retry", file=item.path, reason=fault.reason, message=fault.message, failures=failures)
            wait(context.pace, failures, fault, context.stop)
            continue
        except OSError as error:
            raise disk_fault(error) from None
        if digest.matches():
            break
        mismatches += 1
        _forget(partial, digest)
        if mismatches == 2:
            raise FetchError("checksum_mismatch", f"{item.path} does not have the size or checksum that was promised")
    partial.rename(final)
    if item.etag:
        # No checksum was told for all of it, so the own one tells a later process that this file is right.
        store.write_json(_record_of(partial), {"validator": item.etag, "sha256": digest.sha256.hexdigest()})
    else:
        _record_of(partial).unlink(missing_ok=True)
    return {"path": item.path, "size": digest.position, "sha256": digest.sha256.hexdigest()}


def disk_fault(error: OSError) -> FetchError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FetchError("disk_full", "the volume is full; a larger storage size is needed")
    return FetchError("failed", f"the volume cannot be written: {error.strerror}")


def _attempt(item: Item, partial: Path, digest: Digest, context: Context) -> None:
    start, validator = _resume_point(item, partial, digest)
    if start and start == item.size:
        with partial.open("r+b") as file:
            _catch_up(file, digest, start)
        return
    headers = {"Range": f"bytes={start}-"} if start else {}
    if item.etag:
        headers["If-Match"] = item.etag
    elif start and validator:
        headers["If-Range"] = validator
    with request(item.url, context.rules, token=context.token, headers=headers) as answer:
        if answer.status == 416:
            _forget(partial, digest)
            raise Broken("unreachable", f"{answer.host} no longer has the part that is missing")
        if answer.status == 412 or (item.etag and answer.headers.get("ETag", item.etag) != item.etag):
            raise FetchError("checksum_mismatch", f"{item.path} changed on {answer.host} while it was being brought")
        context.require_success(answer, item.path)
        digest.learn(answer)
        offset, total = _extent(answer, start)
        if item.size is not None and total is not None and total != item.size:
            raise FetchError("checksum_mismatch", f"{item.path} has another size on {answer.host} than was promised")
        if item.size is None:
            # Only a URL's single file comes without a size, so its length is the whole.
            context.progress.total = total
        _write_record(partial, answer)
        with partial.open("r+b" if partial.exists() else "w+b") as file:
            _catch_up(file, digest, offset)
            store.require_space(partial.parent, (total or item.size or 0) - offset)
            _receive(answer, file, digest, context)
            file.flush()
            os.fsync(file.fileno())
        expected = item.size if item.size is not None else total
        if expected is not None and digest.position < expected:
            raise Broken("unreachable", f"the connection to {answer.host} broke")


def _catch_up(file: BinaryIO, digest: Digest, offset: int) -> None:
    """Leaves the file and the digest at `offset`, reading what an earlier process left where necessary."""
    file.truncate(offset)
    if digest.sha256 is None or digest.position != offset:
        digest.restart()
        file.seek(0)
        while data := file.read(min(CHUNK_BYTES, offset - digest.position)):
            digest.feed(data)
    file.seek(offset)
    digest.report()


def _receive(answer: Answer, file: BinaryIO, digest: Digest, context: Context) -> None:
    limit = digest.item.size
    period_began, period_bytes = time.monotonic(), 0
    while chunk := answer.read_some(CHUNK_BYTES):
        if context.stop.is_set():
            raise Stopped
        if limit is not None and digest.position + len(chunk) > limit:
            raise FetchError("checksum_mismatch", f"{digest.item.path} is longer than was promised")
        file.write(chunk)
        digest.feed(chunk)
        digest.report()
        period_bytes += len(chunk)
        if time.monotonic() - period_began > context.rules.stall_seconds:
            if period_bytes < MIN_BYTES_PER_STALL_PERIOD:
                raise Broken("stalled", f"{answer.host} sends too slowly to go on")
            period_began, period_bytes = time.monotonic(), 0


def _extent(answer: Answer, start: int) -> tuple[int, int | None]:
    """Where the answer's bytes belong, and how long the whole file is."""
    if answer.status == 206:
        match = _CONTENT_RANGE.match(answer.headers.get("Content-Range", ""))
        if not match or int(match.group(1)) != start:
            raise FetchError("bad_answer", f"{answer.host} answered with another part than was asked for")
        return start, None if match.group(2) == "*" else int(match.group(2))
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() and len(length) < 19 else None


def _resume_point(item: Item, partial: Path, digest: Digest) -> tuple[int, str]:
    """How many bytes are there already, and what the server called that version. Without a name for the version only a
    checksum makes a resumed file trustworthy."""
    size = _size(partial)
    record = _read_record(partial)
    validator = record.get("validator", "")
    if item.size is not None and size >= item.size:
        if size == item.size and item.etag and validator == item.etag:
            digest.promised_sha256 = record.get("sha256", "")
        known = item.sha256 or item.git_sha1 or digest.promised_sha256
        return (size, "") if size == item.size and known else (0, "")
    if not record or (item.etag and validator != item.etag):
        return 0, ""
    return (size, validator) if validator or item.sha256 else (0, "")


def _read_record(partial: Path) -> dict[str, str]:
    try:
        found = json.loads(_record_of(partial).read_text())
        return {str(name): str(value) for name, value in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _write_record(partial: Path, answer: Answer) -> None:
    etag = answer.headers.get("ETag", "")
    validator = "" if etag.startswith("W/") else etag
    store.write_json(_record_of(partial), {"validator": validator or answer.headers.get("Last-Modified", "")})


def _record_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _forget(partial: Path, digest: Digest) -> None:
    partial.unlink(missing_ok=True)
    _record_of(partial).unlink(missing_ok=True)
    digest.restart()
    digest.report()
