"""The course of one fetch: is it done, lock, list, bring, publish."""

import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from smarter.fetch import huggingface, lock, store
from smarter.fetch.errors import FetchError, Stopped
from smarter.fetch.huggingface import Repository, is_safe_path
from smarter.fetch.transfer import Context, Item, bring, disk_fault
from smarter.fetch.web import parse

WAITING_EVERY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Job:
    """What to bring and where to. `repository` is a hub's repository, or a URL."""

    source: str
    repository: str
    target: Path
    revision: str = ""
    file: str | None = None
    sha256: str | None = None
    hub_url: str = ""
    parallel: int = 4


def fetch(job: Job, context: Context) -> dict[str, Any]:
    """The marker of the complete target. Raises FetchError."""
    marker = store.read_marker(job.target)
    if marker:
        return marker
    try:
        job.target.parent.mkdir(parents=True, exist_ok=True)
        with lock.held(job.target, lambda: store.read_marker(job.target) is not None, _Waiting(context)) as is_mine:
            if is_mine:
                _fetch_alone(job, context)
    except OSError as error:
        raise disk_fault(error) from None
    marker = store.read_marker(job.target)
    if marker is None:
        raise FetchError("failed", "the folder changed while it was being finished")
    return marker


class _Waiting:
    """Says now and then that another process is at work."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._next_at = 0.0

    def __call__(self) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + WAITING_EVERY_SECONDS
            self._context.progress.say("waiting", message="another process brings the same weights")


def _fetch_alone(job: Job, context: Context) -> None:
    if store.read_marker(job.target):
        return
    commit, items = _listed(job, context)
    identity = {
        "source": job.source,
        # The query of a URL may be a signature, and a volume is read by others.
        "repository": job.repository.partition("?")[0],
        "requestedRevision": job.revision,
        "revision": commit,
        "file": job.file,
    }
    folder = store.working_folder(job.target, identity)
    sizes = [item.size for item in items]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        context.progress.total = sum(known)
        store.require_space(job.target.parent, sum(known) - store.used_bytes(folder))
    context.progress.say("start", files=len(items), total=context.progress.total, revision=commit)
    try:
        files = _bring_all(items, folder, context, job.parallel)
    except FetchError as fault:
        if fault.reason == "disk_full":
            store.remove(folder)
        raise
    store.publish(folder, job.target, identity, files)


def _listed(job: Job, context: Context) -> tuple[str, list[Item]]:
    if job.source == "url":
        name = job.file or unquote(parse(job.repository, context.rules).target.partition("?")[0].rpartition("/")[2])
        if not is_safe_path(name):
            raise FetchError("bad_url", "the address ends in no file name; name the file")
        return "", [Item(name, job.repository, sha256=job.sha256)]
    repository = Repository(job.hub_url, job.repository, job.revision, job.file)
    huggingface.check(repository)
    commit = huggingface.commit_of(repository, context)
    return commit, huggingface.items(repository, commit, context)


def _bring_all(items: list[Item], folder: Path, context: Context, parallel: int) -> list[dict[str, Any]]:
    """Largest first, a few at once. The first fault, or a signal, stops the others."""
    ordered = sorted(items, key=lambda item: -(item.size or 0))
    pool = ThreadPoolExecutor(max_workers=parallel)
    try:
        futures = [pool.submit(bring, item, folder, context) for item in ordered]
        wait(futures, return_when=FIRST_EXCEPTION)
    except BaseException:
        # A signal: nobody waits for threads that may be listening to a silent server.
        context.stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    context.stop.set()
    pool.shutdown()
    faults = [fault for future in futures if (fault := future.exception())]
    for fault in faults:
        if not isinstance(fault, Stopped):
            raise fault
    return sorted((future.result() for future in futures), key=lambda entry: str(entry["path"]))
