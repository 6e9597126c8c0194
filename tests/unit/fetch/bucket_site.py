"""A server of one bucket, `models`, that speaks just enough of S3, tells lies on request, and gives keys of a role."""

import base64
import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.unit.fetch import loopback


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


class _Handler(loopback.Handler):
    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.site.forms.append(form)
        if self.site.refuses_role:
            self._error(400, "InvalidIdentityToken")
            return
        keys = "<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        session = "<SessionToken>session-of-the-role</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
        self.answer(200, f'<R xmlns="https://x/"><Credentials>{keys}{session}</Credentials></R>'.encode())

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
            self.answer(200, site.body)
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
        self.answer(200, f'<ListBucketResult xmlns="http://s3.example/">{text}</ListBucketResult>'.encode())

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
        cut = site.cuts.pop(0) if site.cuts and len(data) > 10_000 else None
        self.answer_range(sent, self.begin(), headers, cut)

    def _error(self, status: int, code: str) -> None:
        self.answer(status, f"<Error><Code>{code}</Code></Error>".encode())


def serving_bucket_site(site: BucketSite) -> AbstractContextManager[BucketSite]:
    return loopback.serving_site(site, _Handler)
