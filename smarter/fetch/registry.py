"""A model of Ollama's registry, or of another that speaks its protocol, into a store that Ollama's server reads.

A store is `blobs/sha256-<digest>` and `manifests/<host>/<space>/<name>/<tag>`. Blobs are named by their content, so one
that is there is the right one; the manifest is written last, and after it the marker. Several models share a store.
"""

import hashlib
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from smarter.fetch import store
from smarter.fetch.batch import bring_all
from smarter.fetch.digest import Item
from smarter.fetch.errors import FetchError
from smarter.fetch.pace import repeated
from smarter.fetch.transfer import Context
from smarter.fetch.web import Answer, Token, parse, request

OLLAMA_HOST = "registry.ollama.ai"
HUB_HOST = "hf.co"
MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MAX_CONFIG_BYTES = 1024 * 1024
MAX_LAYERS = 200
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}\Z", re.ASCII)
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})\Z", re.ASCII)
_CHALLENGE = re.compile(r'(realm|service|scope)="([^"\x00-\x1f]{1,1000})"', re.ASCII)
_ACCEPT = {"Accept": "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"}


@dataclass(frozen=True, slots=True)
class Model:
    """`host` names the registry in the store and in the names of its models; `url` is where it is asked."""

    url: str
    host: str
    space: str
    name: str
    tag: str

    @property
    def title(self) -> str:
        return f"{self.space}/{self.name}:{self.tag}"

    @property
    def key(self) -> str:
        return hashlib.sha256(f"{self.host}/{self.title}".encode()).hexdigest()[:16]

    @property
    def api(self) -> str:
        return f"{self.url.rstrip('/')}/v2/{quote(self.space)}/{quote(self.name)}"


def model_of(text: str, tag: str | None, url: str, host: str) -> Model:
    """`text` is name:tag or space/name:tag; a `tag` given apart belongs to a text without one."""
    path, _, said = text.partition(":")
    space, _, name = path.rpartition("/")
    found = Model(url, host, space or "library", name, tag or said or "latest")
    parts = (found.space, found.name, found.tag)
    if (tag and said) or not all(_PART.match(part) and ".." not in part for part in parts):
        raise FetchError("bad_url", "a model of the registry is written name:tag or owner/name:tag")
    if found.tag.lower().endswith("cloud"):
        raise FetchError("cloud_model", "models with this tag run on servers elsewhere and cannot be brought")
    return found


def marker_of(model: Model, folder: Path) -> dict[str, Any] | None:
    return store.read_marker(folder, f"{store.MARKER}-{model.key}")


def fetch_alone(model: Model, folder: Path, context: Context, parallel: int) -> None:
    """Only for the holder of the lock on `place_of(model, folder)`."""
    body = _manifest(model, context)
    items = _items(model, body)
    identity = {"source": model.host, "repository": model.title, "revision": hashlib.sha256(body).hexdigest()}
    work = store.working_folder(place_of(model, folder), identity)
    missing = [item for item in items if _size(_blob(folder, item)) != item.size]
    bring_all(missing, work, context, parallel)
    _refuse_remote(items[0], work, folder)
    _publish(model, folder, work, items, body, identity)


def place_of(model: Model, folder: Path) -> Path:
    """What the lock and the working folder are named after; nothing stands there itself."""
    return folder / model.key


def _manifest(model: Model, context: Context) -> bytes:
    url = f"{model.api}/manifests/{quote(model.tag)}"
    return repeated(context.pace, context.stop, lambda: _read(url, model, context))


def _read(url: str, model: Model, context: Context) -> bytes:
    with request(url, context.rules, token=context.token, headers=_ACCEPT) as answer:
        if answer.status != 401 or context.token is not None:
            return _body(answer, model, context)
        pass_url = _pass_url(answer)
    if pass_url:
        context.token = _pass(pass_url, model, context)
    with request(url, context.rules, token=context.token, headers=_ACCEPT) as answer:
        return _body(answer, model, context)


def _body(answer: Answer, model: Model, context: Context) -> bytes:
    context.require_success(answer, f"the model {model.title}")
    return answer.read_all(MAX_MANIFEST_BYTES)


def _pass_url(answer: Answer) -> str:
    """Where the registry gives passes to everybody, by its answer to a request without one; empty for nowhere."""
    said = answer.headers.get("WWW-Authenticate", "")
    found = dict(_CHALLENGE.findall(said)) if said.lower().startswith("bearer ") else {}
    query = urlencode({name: found[name] for name in ("service", "scope") if name in found})
    realm = found.get("realm", "")
    return f"{realm}{'&' if urlsplit(realm).query else '?'}{query}" if realm else ""


def _pass(url: str, model: Model, context: Context) -> Token:
    with request(url, context.rules) as answer:
        context.require_success(answer, f"a pass for the model {model.title}")
        found = _json(answer.read_all(MAX_CONFIG_BYTES))
    value = found.get("token") or found.get("access_token") if isinstance(found, dict) else None
    if not isinstance(value, str) or not value.isascii() or not value.isprintable() or len(value) > 16_000:
        raise FetchError("bad_answer", "the registry gives no pass")
    return Token(parse(model.url, context.rules).origin, "", value)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise FetchError("bad_answer", "the registry's answer is not JSON") from None


def _items(model: Model, body: bytes) -> list[Item]:
    """The blobs, the configuration first, each once."""
    manifest = _json(body)
    entries = [manifest.get("config"), *(manifest.get("layers") or ())] if isinstance(manifest, dict) else []
    if not 2 <= len(entries) <= MAX_LAYERS:
        raise FetchError("bad_answer", "the registry's manifest has no layers, or too many")
    items: dict[str, Item] = {}
    for entry in entries:
        item = _item(model, entry)
        if items.setdefault(item.path, item).size != item.size:
            raise FetchError("bad_answer", "the registry's manifest gives one blob two sizes")
    return list(items.values())


def _item(model: Model, entry: Any) -> Item:
    digest, size = (entry.get("digest"), entry.get("size")) if isinstance(entry, dict) else (None, None)
    match = _DIGEST.match(digest) if isinstance(digest, str) else None
    if match is None:
        raise FetchError("bad_answer", "the registry's manifest names a blob by something else than its digest")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**50:
        raise FetchError("bad_answer", "the registry's manifest names a blob without a size")
    return Item(f"sha256-{match.group(1)}", f"{model.api}/blobs/{digest}", size, sha256=match.group(1))


def _refuse_remote(config: Item, work: Path, folder: Path) -> None:
    """A model whose configuration sends requests to a host elsewhere is none that this volume could hold."""
    path = work / config.path if (work / config.path).exists() else _blob(folder, config)
    found = _json(path.read_bytes()) if (config.size or 0) <= MAX_CONFIG_BYTES else None
    if not isinstance(found, dict):
        raise FetchError("bad_answer", "the model's configuration cannot be read")
    if found.get("remote_host") or found.get("remote_model"):
        raise FetchError("cloud_model", "this model runs on servers elsewhere and cannot be brought")


def _publish(model: Model, folder: Path, work: Path, items: list[Item], body: bytes, identity: dict[str, Any]) -> None:
    blobs = folder / "blobs"
    blobs.mkdir(exist_ok=True)
    for item in items:
        if (work / item.path).exists():
            (work / item.path).replace(blobs / item.path)
    store.sync(blobs)
    place = folder / "manifests" / model.host / model.space / model.name / model.tag
    place.parent.mkdir(parents=True, exist_ok=True)
    store.write_bytes(place, body)
    names = [(f"blobs/{item.path}", item.size) for item in items]
    names.append((place.relative_to(folder).as_posix(), len(body)))
    files = [{"path": path, "size": size} for path, size in names]
    finished = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    store.write_json(folder / f"{store.MARKER}-{model.key}", {**identity, "files": files, "finished": finished})
    store.sync(folder)
    store.remove(work)


def _blob(folder: Path, item: Item) -> Path:
    return folder / "blobs" / item.path


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
