"""The course of one fetch: is it done, lock, list, bring, publish."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from smarter.fetch import archive, huggingface, lock, registry, s3, s3_keys, store
from smarter.fetch.batch import bring_all
from smarter.fetch.digest import Item
from smarter.fetch.errors import FetchError
from smarter.fetch.huggingface import Repository
from smarter.fetch.paths import is_safe_path
from smarter.fetch.registry import Model
from smarter.fetch.transfer import Context, disk_fault
from smarter.fetch.web import parse

WAITING_EVERY_SECONDS = 15.0
VERIFY_SECONDS = 20.0
_VERIFY_EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Job:
    """What to bring and where to. `repository` is a hub's repository, a URL, a place in a bucket or a model's name."""

    source: str
    repository: str
    target: Path
    revision: str = ""
    file: str | None = None
    sha256: str | None = None
    hub_url: str = ""
    registry_url: str = ""
    layout: str = "files"
    unpack: bool = False
    parallel: int = 4

    @property
    def model(self) -> Model | None:
        """What a store of models calls it; None where a folder of files is filled."""
        if self.source == "ollama":
            return registry.model_of(self.repository, self.file, self.registry_url, registry.OLLAMA_HOST)
        if self.layout == "registry":
            return registry.model_of(self.repository, self.file, self.hub_url, registry.HUB_HOST)
        return None


def fetch(job: Job, context: Context) -> dict[str, Any]:
    """The marker of the complete target. Raises FetchError."""
    marker = present(job)
    if marker:
        return marker
    place = registry.place_of(job.model, job.target) if job.model else job.target
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with lock.held(place, lambda: present(job) is not None, _Waiting(context)) as is_mine:
            if is_mine and not present(job):
                _fetch_alone(job, context)
    except OSError as error:
        raise disk_fault(error) from None
    marker = present(job)
    if marker is None:
        raise FetchError("failed", "the folder changed while it was being finished")
    return marker


def present(job: Job) -> dict[str, Any] | None:
    model = job.model
    return registry.marker_of(model, job.target) if model else store.read_marker(job.target)


def verified(job: Job) -> dict[str, Any]:
    """The marker of weights that another pod brought. Network file systems show news a little late."""
    until = time.monotonic() + VERIFY_SECONDS
    while True:
        marker = present(job)
        if marker:
            return marker
        if time.monotonic() >= until:
            raise FetchError("incomplete", "the volume does not hold the finished weights")
        time.sleep(_VERIFY_EVERY_SECONDS)


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
    if job.model:
        registry.fetch_alone(job.model, job.target, context, job.parallel)
        return
    commit, items = _LISTS[job.source](job, context)
    identity = {
        "source": job.source,
        # The query of a URL may be a signature, and a volume is read by others.
        "repository": job.repository.partition("?")[0],
        "requestedRevision": job.revision,
        "revision": commit,
        "file": job.file,
    }
    folder = store.working_folder(job.target, identity)
    files = bring_all(items, folder, context, job.parallel)
    if job.unpack:
        # What is not among the files, and so the archive, goes when the folder is published.
        files = archive.unpacked(folder / files[0]["path"], folder, job.file)
    store.publish(folder, job.target, identity, files)


def _of_url(job: Job, context: Context) -> tuple[str, list[Item]]:
    asked = None if job.unpack else job.file
    name = asked or unquote(parse(job.repository, context.rules).target.partition("?")[0].rpartition("/")[2])
    if not is_safe_path(name):
        raise FetchError("bad_url", "the address ends in no file name; name the file")
    return "", [Item(name, job.repository, sha256=job.sha256)]


def _of_hub(job: Job, context: Context) -> tuple[str, list[Item]]:
    repository = Repository(job.hub_url, job.repository, job.revision, job.file)
    huggingface.check(repository)
    commit = huggingface.commit_of(repository, context)
    return commit, huggingface.items(repository, commit, context)


def _of_bucket(job: Job, context: Context) -> tuple[str, list[Item]]:
    """The keys come as the token of other places does, and the rest by the names that Amazon's own programs read."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    bucket = s3.bucket_of(job.repository, region, os.environ.get("AWS_ENDPOINT_URL", ""))
    signer = s3_keys.signer_of(context.secret, os.environ, context)
    context.token = signer
    context.judge = lambda answer, what: s3.judge(answer, what, s3_keys.described(signer))
    return "", s3.listed(bucket, job.file, context, signer)


_LISTS: dict[str, Callable[[Job, Context], tuple[str, list[Item]]]] = {
    "huggingface": _of_hub,
    "s3": _of_bucket,
    "url": _of_url,
}
