"""A registry of models on loopback that speaks the protocol of Ollama's, gives passes, and misbehaves on request."""

import hashlib
import json
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.unit.fetch import loopback


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


class _Handler(loopback.Handler):
    def do_GET(self) -> None:
        site = self.site
        site.requests.append((self.path, dict(self.headers)))
        path = urlsplit(self.path).path
        if path == "/pass":
            self.answer(200, json.dumps({"token": site.pass_needed}).encode())
            return
        if site.statuses:
            self.answer(site.statuses.pop(0), b"planned")
            return
        wanted = site.pass_needed or site.token
        if wanted and self.headers.get("Authorization") != f"Bearer {wanted}":
            realm = site.realm or f"{site.url}/pass"
            challenge = {"WWW-Authenticate": f'Bearer realm="{realm}",service="reg",scope="repository:x:pull"'}
            self.answer(401, b"{}", challenge if site.pass_needed else {})
            return
        match = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if not match:
            self.answer(404, b"")
        elif match[2] == "manifests":
            self._manifest(f"{match[1]}:{match[3]}")
        else:
            self._blob(match[3])

    def _manifest(self, model: str) -> None:
        body = self.site.manifest_of(model)
        self.answer(*((404, b"{}") if body is None else (200, body)))

    def _blob(self, name: str) -> None:
        site = self.site
        if site.redirect:
            self.answer(307, b"", {"Location": site.redirect})
            return
        data = site.blobs().get(name)
        if data is None:
            self.answer(404, b"")
            return
        if site.damaged:
            data = bytes([data[0] ^ 1]) + data[1:]
        cut = site.cuts.pop(0) if site.cuts and len(data) > 10_000 else None
        self.answer_range(data, self.begin(), {}, cut)


def serving_registry(site: RegistrySite) -> AbstractContextManager[RegistrySite]:
    return loopback.serving_site(site, _Handler)
