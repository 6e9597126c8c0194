"""A real HTTP server on loopback that serves files with ranges, speaks enough of the hub's API, and misbehaves on
request.

A fault is a function that takes the handler, acts, and returns True when it has answered. Faults are used up in order,
one per request whose path ends with the given text.
"""

import hashlib
import json
import re
import ssl
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tests.unit.fetch import loopback

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "acme/tiny"
Fault = Callable[["Handler"], bool]


@dataclass
class Site:
    """What is served. `lfs` names the files whose checksum the hub tells as SHA-256; the others have a git one."""

    files: dict[str, bytes] = field(default_factory=dict)
    lfs: set[str] = field(default_factory=set)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    token: str | None = None
    page_size: int = 1000
    ranges: bool = True
    etags: bool = True
    listed: dict[str, bytes] = field(default_factory=dict)
    bytes_sent: int = 0
    url: str = ""

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def downloads(self, name: str) -> list[dict[str, str]]:
        return [headers for path, headers in self.requests if path.endswith(f"/{name}")]


class Handler(loopback.Handler):
    def do_GET(self) -> None:
        site: Site = self.site
        site.requests.append((self.path, dict(self.headers)))
        path = unquote(urlsplit(self.path).path)
        for index, (ending, fault) in enumerate(site.faults):
            if path.endswith(ending):
                del site.faults[index]
                if fault(self):
                    return
                break
        if site.token and self.headers.get("Authorization") != f"Bearer {site.token}":
            self.answer(401, b"no", {"X-Error-Code": "GatedRepo"})
        elif path.startswith("/api/models/"):
            self.api(path)
        else:
            self.file(path)

    def api(self, path: str) -> None:
        if not path.startswith(f"/api/models/{REPOSITORY}/"):
            self.answer(401, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif "/revision/" in path:
            known = path.endswith(("/revision/main", COMMIT))
            self.answer(*((200, json.dumps({"sha": COMMIT}).encode()) if known else (404, b"{}")))
        else:
            self.tree()

    def tree(self) -> None:
        site = self.site
        entries = [self.entry(name, data) for name, data in (site.listed or site.files).items()]
        entries.append({"type": "directory", "path": "folder", "oid": "0" * 40, "size": 0})
        match = re.search(r"cursor=(\d+)", self.path)
        begin = int(match.group(1)) if match else 0
        end = begin + site.page_size
        headers = {}
        if end < len(entries):
            headers["Link"] = f'<{site.url}{self.path.partition("&")[0]}&cursor={end}>; rel="next"'
        self.answer(200, json.dumps(entries[begin:end]).encode(), headers)

    def entry(self, name: str, data: bytes) -> dict:
        git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        entry = {"type": "file", "path": name, "oid": git, "size": len(data)}
        if name in self.site.lfs:
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return entry

    def wanted(self) -> bytes:
        return self.site.files[self.name(unquote(urlsplit(self.path).path))]

    def name(self, path: str) -> str:
        return path.removeprefix(f"/{REPOSITORY}/resolve/{COMMIT}/").removeprefix("/")

    def file(self, path: str) -> None:
        data = self.site.files.get(self.name(path))
        if data is None:
            self.answer(404, b"no")
            return
        self.send_file(data)

    def send_file(self, data: bytes, cut_after: int | None = None) -> None:
        etag = f'"{hashlib.md5(data).hexdigest()}"'
        headers = {"ETag": etag} if self.site.etags else {}
        begin = self.begin() if self.site.ranges else 0
        if self.headers.get("If-Range", etag) != etag:
            begin = 0
        if begin and begin >= len(data):
            self.answer(416, b"")
            return
        self.answer_range(data, begin, headers, cut_after)

    def answer(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, cut_after: int | None = None
    ) -> None:
        super().answer(status, body, headers, cut_after)
        self.site.bytes_sent += len(body if cut_after is None else body[:cut_after])


def status(code: int, headers: dict[str, str] | None = None) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.answer(code, b"planned", headers)
        return True

    return fault


def redirect(location: str) -> Fault:
    return status(302, {"Location": location})


def cut(after: int) -> Fault:
    """Closes the connection after so many bytes of the body."""

    def fault(handler: Handler) -> bool:
        handler.send_file(handler.wanted(), cut_after=after)
        return True

    return fault


def hang(release: threading.Event, after: int = 0) -> Fault:
    """Sends so many bytes and then nothing, until released."""

    def fault(handler: Handler) -> bool:
        handler.send_file(handler.wanted(), cut_after=after)
        release.wait(20)
        handler.close_connection = True
        return True

    return fault


def drip(release: threading.Event, pause_seconds: float) -> Fault:
    """A byte now and then: never silent for long, never done."""

    def fault(handler: Handler) -> bool:
        data = handler.wanted()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        for number in range(200):
            if release.wait(pause_seconds):
                break
            handler.wfile.write(data[number : number + 1])
        handler.close_connection = True
        return True

    return fault


def other_content(data: bytes) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.send_file(data)
        return True

    return fault


def serving(site: Site, tls: ssl.SSLContext | None = None) -> AbstractContextManager[Site]:
    return loopback.serving_site(site, Handler, tls)
