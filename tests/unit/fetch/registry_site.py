"""A registry of models on loopback that speaks the protocol of Ollama's, gives passes, and misbehaves on request."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class RegistrySite:
    """`models` maps `space/name:tag` to its configuration and its layers."""

    models: dict[str, tuple[dict[str, Any], list[bytes]]]
    manifest: bytes | None = None
    cuts: list[int] = field(default_factory=list)
    damaged: bool = False
    statuses: list[int] = field(default_factory=list)
    pass_needed: str = ""
    realm: str = ""
    redirect: str = ""
    token: str = ""
    url: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def blobs(self) -> dict[str, bytes]:
        found = {}
        for config, layers in self.models.values():
            for data in (json.dumps(config).encode(), *layers):
                found[digest(data)] = data
        return found

    def manifest_of(self, model: str) -> bytes | None:
        if self.manifest is not None:
            return self.manifest
        if model not in self.models:
            return None
        config, layers = self.models[model]
        raw = json.dumps(config).encode()
        entries = [{"mediaType": "m", "digest": digest(data), "size": len(data)} for data in layers]
        head = {"mediaType": "c", "digest": digest(raw), "size": len(raw)}
        return json.dumps({"schemaVersion": 2, "config": head, "layers": entries}).encode()

    def gets(self, part: str) -> list[dict[str, str]]:
        return [headers for path, headers in self.requests if part in path]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    @property
    def site(self) -> RegistrySite:
        return self.server.site  # type: ignore[attr-defined,no-any-return] # set by `serving_registry`

    def do_GET(self) -> None:
        site = self.site
        site.requests.append((self.path, dict(self.headers)))
        path = urlsplit(self.path).path
        if path == "/pass":
            self._send(200, json.dumps({"token": site.pass_needed}).encode())
            return
        if site.statuses:
            self._send(site.statuses.pop(0), b"planned")
            return
        wanted = site.pass_needed or site.token
        if wanted and self.headers.get("Authorization") != f"Bearer {wanted}":
            realm = site.realm or f"{site.url}/pass"
            challenge = {"WWW-Authenticate": f'Bearer realm="{realm}",service="reg",scope="repository:x:pull"'}
            self._send(401, b"{}", challenge if site.pass_needed else {})
            return
        match = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if not match:
            self._send(404, b"")
        elif match[2] == "manifests":
            self._manifest(f"{match[1]}:{match[3]}")
        else:
            self._blob(match[3])

    def _manifest(self, model: str) -> None:
        body = self.site.manifest_of(model)
        self._send(*((404, b"{}") if body is None else (200, body)))

    def _blob(self, name: str) -> None:
        site = self.site
        if site.redirect:
            self._send(307, b"", {"Location": site.redirect})
            return
        data = site.blobs().get(name)
        if data is None:
            self._send(404, b"")
            return
        if site.damaged:
            data = bytes([data[0] ^ 1]) + data[1:]
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(match[1]) if match else 0
        headers = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"} if begin else {}
        cut = site.cuts.pop(0) if site.cuts and len(data) > 10_000 else None
        self._send(206 if begin else 200, data[begin:], headers, cut)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the tests."""


@contextmanager
def serving_registry(site: RegistrySite) -> Iterator[RegistrySite]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.site = site  # type: ignore[attr-defined] # read by the handler
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
