"""A repository of the Hugging Face hub, or of a mirror that speaks its API, as a list of files at one commit."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, urljoin

from smarter.fetch.digest import Item
from smarter.fetch.errors import FetchError
from smarter.fetch.pace import repeated
from smarter.fetch.paths import is_safe_path, selected
from smarter.fetch.transfer import Context
from smarter.fetch.web import MAX_JSON_BYTES, Answer, parse, request

MAX_FILES = 10_000
_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,95})?\Z", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}\Z", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}\Z", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_NEXT = re.compile(r'<([^<>]{1,4000})>;\s*rel="next"', re.ASCII)


@dataclass(frozen=True, slots=True)
class Repository:
    hub_url: str
    name: str
    revision: str
    file: str | None = None


def check(repository: Repository) -> None:
    if not _REPOSITORY.match(repository.name) or ".." in repository.name:
        raise FetchError("bad_url", "a repository is written owner/name")
    if not _REVISION.match(repository.revision) or ".." in repository.revision:
        raise FetchError("bad_url", "a revision is a branch, a tag or a commit")
    if repository.file is not None and not is_safe_path(repository.file):
        raise FetchError("bad_path", "a file is a relative path inside the repository")


def commit_of(repository: Repository, context: Context) -> str:
    url = f"{_api(repository)}/revision/{quote(repository.revision, safe='')}"
    what = f"revision {repository.revision} of {repository.name}"
    answer = repeated(context.pace, context.stop, lambda: _json(url, what, context)[0])
    commit = answer.get("sha") if isinstance(answer, dict) else None
    if not isinstance(commit, str) or not _COMMIT.match(commit):
        raise FetchError("bad_answer", "the hub names no commit for this revision")
    return commit


def items(repository: Repository, commit: str, context: Context) -> list[Item]:
    """What has to be brought: the one file (with its parts, if it is split), or all that an engine can use."""
    found = [item for entry in _tree(repository, commit, context) if (item := _item(repository, commit, entry))]
    wanted = selected({item.path for item in found}, repository.file, f"{repository.name} at this revision")
    return [item for item in found if item.path in wanted]


def _api(repository: Repository) -> str:
    return f"{repository.hub_url.rstrip('/')}/api/models/{repository.name}"


def _tree(repository: Repository, commit: str, context: Context) -> Iterator[dict[str, Any]]:
    """All entries; the hub sends them in pages and names the next one in a header."""
    url = f"{_api(repository)}/tree/{commit}?recursive=true"
    origin = parse(url, context.rules).origin
    count = 0
    while url:
        attempt = partial(_json, url, f"the files of {repository.name}", context)
        entries, following = repeated(context.pace, context.stop, attempt)
        if not isinstance(entries, list):
            raise FetchError("bad_answer", "the hub's list of files is not a list")
        count += len(entries)
        if count > MAX_FILES:
            raise FetchError("bad_answer", f"the repository has more than {MAX_FILES} files")
        yield from (entry for entry in entries if isinstance(entry, dict))
        url = urljoin(url, following) if following else ""
        if url and (not entries or parse(url, context.rules).origin != origin):
            raise FetchError("bad_answer", "the hub's list of files goes on at another place")


def _item(repository: Repository, commit: str, entry: dict[str, Any]) -> Item | None:
    if entry.get("type") != "file":
        return None
    path, size, lfs = entry.get("path"), entry.get("size"), entry.get("lfs")
    if not isinstance(path, str) or not is_safe_path(path):
        raise FetchError("bad_answer", "the hub lists a file with an unsafe name")
    if isinstance(lfs, dict):
        size = lfs.get("size", size)
    if not isinstance(size, int) or size < 0:
        raise FetchError("bad_answer", "the hub lists a file without a size")
    sha256 = lfs.get("oid") if isinstance(lfs, dict) else None
    blob = entry.get("oid")
    url = f"{repository.hub_url.rstrip('/')}/{repository.name}/resolve/{commit}/{quote(path)}"
    return Item(
        path=path,
        url=url,
        size=size,
        sha256=sha256 if isinstance(sha256, str) and _SHA256.match(sha256) else None,
        git_sha1=blob if not lfs and isinstance(blob, str) and _COMMIT.match(blob) else None,
    )


def _json(url: str, what: str, context: Context) -> tuple[Any, str]:
    """The answer, and the address of the next page or ''."""
    with request(url, context.rules, token=context.token) as answer:
        context.require_success(answer, what)
        body = answer.read_all(MAX_JSON_BYTES)
        following = _next_page(answer)
    try:
        return json.loads(body), following
    except (ValueError, RecursionError):
        raise FetchError("bad_answer", "the hub's answer is not JSON") from None


def _next_page(answer: Answer) -> str:
    match = _NEXT.search(answer.headers.get("Link", ""))
    return match.group(1) if match else ""
