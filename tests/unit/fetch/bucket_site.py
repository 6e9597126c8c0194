"""A server of one bucket, `models`, that speaks just enough of S3, tells lies on request, and gives keys of a role."""

import base64
import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class BucketSite:
    files: dict[str, bytes]
    page_size: int = 1000
    cuts: list[int] = field(default_factory=list)
    deny: str = ""
    swap: dict[str, bytes] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    etags: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    encryption: str = ""
    checksum: bytes | None = None
    filters: bool = True
    endless: str = ""
    body: bytes | None = None
    statuses: list[tuple[int, str]] = field(default_factory=list)
    wants_session: str = ""
    refuses_role: bool = False
    url: str = ""
    requests: list[str] = field(default_factory=list)
    headers: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)

    def etag(self, data: bytes) -> str:
        return f'"{hashlib.md5(data).hexdigest()}"'

    def gets(self, name: str) -> list[dict[str, str]]:
        return [headers for path, headers in self.headers if path.endswith(f"/{name}")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    @property
    def site(self) -> BucketSite:
        return self.server.site  # type: ignore[attr-defined,no-any-return] # set by `serving_bucket_site`

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.site.forms.append(form)
        if self.site.refuses_role:
            self._error(400, "InvalidIdentityToken")
            return
        keys = "<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        session = "<SessionToken>session-of-the-role</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
        self._send(200, f'<R xmlns="https://x/"><Credentials>{keys}{session}</Credentials></R>'.encode())

    def do_GET(self) -> None:
        site = self.site
        site.requests.append(self.path)
        if site.statuses:
            self._error(*site.statuses.pop(0))
            return
        if site.wants_session and self.headers.get("x-amz-security-token") != site.wants_session:
            self._error(403, "AccessDenied")
            return
        parts = urlsplit(self.path)
        if "list-type=2" in parts.query:
            self._list({name: values[0] for name, values in parse_qs(parts.query).items()})
        else:
            self._object(unquote(parts.path).removeprefix("/models/"))

    def _list(self, query: dict[str, str]) -> None:
        site = self.site
        if site.body is not None:
            self._send(200, site.body)
            return
        keys = sorted(key for key in site.files if not site.filters or key.startswith(query["prefix"]))
        begin = int(query.get("continuation-token", "0"))
        page, more = keys[begin : begin + site.page_size], begin + site.page_size < len(keys)
        mark = str(begin + site.page_size)
        if site.endless:
            page = [] if site.endless == "empty_pages" else [f"qwen/{begin + number}.json" for number in range(10)]
            mark = {"same_mark": "7", "no_mark": ""}.get(site.endless, str(begin + 10))
            more = True
        entries = "".join(map(self._entry, page))
        said = f"<NextContinuationToken>{mark}</NextContinuationToken>" if more and mark else ""
        text = f"<IsTruncated>{str(more).lower()}</IsTruncated>{said}{entries}"
        self._send(200, f'<ListBucketResult xmlns="http://s3.example/">{text}</ListBucketResult>'.encode())

    def _entry(self, key: str) -> str:
        data = self.site.files.get(key, b"x")
        etag = escape(self.site.etags.get(key) or self.site.etag(data), {'"': "&quot;"})
        size = self.site.sizes.get(key, len(data))
        return f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>{etag}</ETag></Contents>"

    def _object(self, key: str) -> None:
        site = self.site
        site.headers.append((f"/{key}", dict(self.headers)))
        if site.deny and key.endswith(site.deny):
            self._error(403, "AccessDenied")
            return
        data = site.swap.get(key, site.files.get(key))
        if data is None:
            self._error(404, "NoSuchKey")
            return
        etag = site.etags.get(key) or site.etag(data)
        if self.headers.get("If-Match", etag) != etag:
            self._error(412, "PreconditionFailed")
            return
        sent = bytes([data[0] ^ 1]) + data[1:] if key in site.damaged else data
        headers = {"ETag": etag}
        if site.encryption:
            headers["x-amz-server-side-encryption"] = site.encryption
        if site.checksum is not None:
            headers["x-amz-checksum-sha256"] = base64.b64encode(hashlib.sha256(site.checksum).digest()).decode()
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(match[1]) if match else 0
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        cut = site.cuts.pop(0) if site.cuts and len(data) > 10_000 else None
        self._send(206 if begin else 200, sent[begin:], headers, cut)

    def _error(self, status: int, code: str) -> None:
        self._send(status, f"<Error><Code>{code}</Code></Error>".encode())

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
def serving_bucket_site(site: BucketSite) -> Iterator[BucketSite]:
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
