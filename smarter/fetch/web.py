"""One HTTP request with everything a hostile or broken server could do bounded.

Used by `transfer` and `huggingface`. Redirects are followed here, because each target is checked anew and a token
stays with the host that it is meant for.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from smarter.fetch.addresses import checked_addresses
from smarter.fetch.errors import Broken, FetchError

MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
MAX_JSON_BYTES = 64 * 1024 * 1024
_REDIRECTS = (301, 302, 303, 307, 308)
_BUSY = (408, 425, 429)
_WRONG_CHARACTERS = re.compile(r"[^\x21-\x7e]|[\\<>\"`{}|^]")
USER_AGENT = "smarter-fetch"


@dataclass(frozen=True, slots=True)
class Rules:
    allow_http: bool = False
    allow_private: bool = False
    stall_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, the one origin that may see it, and the name of the variable that it came from."""

    origin: tuple[str, str, int]
    env: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


def parse(url: str, rules: Rules) -> Address:
    """The one reading of a URL that both the check and the connection use."""
    if len(url) > 8192 or _WRONG_CHARACTERS.search(url):
        raise FetchError("bad_url", "the address holds characters that a URL cannot have, or is too long")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise FetchError("bad_url", "the address is not a valid URL") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and rules.allow_http):
        raise FetchError("bad_url", "only https addresses are fetched")
    if not parts.hostname or "@" in parts.netloc:
        raise FetchError("bad_url", "the address must have a host and no user name or password")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), target)


class _PinnedConnection(http.client.HTTPConnection):
    """Connects to addresses that were checked; the host name is only for the certificate and the Host header."""

    def __init__(self, address: Address, addresses: list[str], stall_seconds: float) -> None:
        super().__init__(address.host, address.port, timeout=stall_seconds)
        self._addresses = addresses
        self._stall_seconds = stall_seconds
        self._context = ssl.create_default_context() if address.scheme == "https" else None

    def connect(self) -> None:
        failure: OSError | None = None
        for text in self._addresses:
            try:
                raw = socket.create_connection((text, self.port), min(CONNECT_SECONDS, self._stall_seconds))
            except OSError as error:
                failure = error
                continue
            raw.settimeout(self._stall_seconds)
            self.sock = self._context.wrap_socket(raw, server_hostname=self.host) if self._context else raw
            return
        raise failure or OSError("no address")


@dataclass(slots=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: http.client.HTTPResponse
    host: str

    def read_some(self, limit: int) -> bytes:
        """The next bytes as they arrive; empty at the end. Raises Broken when nothing comes in time."""
        try:
            return self.body.read1(limit)
        except TimeoutError:
            raise Broken("stalled", f"{self.host} sent nothing for the time allowed") from None
        except (OSError, http.client.HTTPException):
            raise Broken("unreachable", f"the connection to {self.host} broke") from None

    def read_all(self, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while chunk := self.read_some(256 * 1024):
            size += len(chunk)
            if size > limit:
                raise FetchError("bad_answer", f"the answer of {self.host} is too large")
            parts.append(chunk)
        length = self.headers.get("Content-Length", "")
        if length.isdigit() and size < int(length):
            raise Broken("unreachable", f"the connection to {self.host} broke")
        return b"".join(parts)


@contextmanager
def request(
    url: str, rules: Rules, *, token: Token | None = None, headers: dict[str, str] | None = None
) -> Iterator[Answer]:
    """GET, after redirects. Raises FetchError or Broken; any status but a redirect is the caller's to judge."""
    for _ in range(MAX_REDIRECTS + 1):
        address = parse(url, rules)
        addresses = checked_addresses(address.host, address.port, allow_private=rules.allow_private)
        connection = _PinnedConnection(address, addresses, rules.stall_seconds)
        try:
            response = _send(connection, address, token, headers or {})
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location:
                yield Answer(response.status, response.headers, response, address.host)
                return
            url = urljoin(url, location)
        finally:
            connection.close()
    raise FetchError("bad_answer", f"more than {MAX_REDIRECTS} redirects")


def _send(
    connection: _PinnedConnection, address: Address, token: Token | None, headers: dict[str, str]
) -> http.client.HTTPResponse:
    sent = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **headers}
    if token and token.origin == address.origin:
        sent["Authorization"] = f"Bearer {token.value}"
    try:
        connection.request("GET", address.target, headers=sent)
        response = connection.getresponse()
    except ssl.SSLCertVerificationError:
        raise FetchError("bad_certificate", f"the certificate of {address.host} is not valid") from None
    except TimeoutError:
        raise Broken("stalled", f"{address.host} did not answer in time") from None
    except (OSError, http.client.HTTPException):
        raise Broken("unreachable", f"{address.host} cannot be reached") from None
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise FetchError("bad_answer", f"{address.host} sends compressed data although none was asked for")
    return response


def require_success(answer: Answer, what: str, token_env: str, *, has_token: bool) -> None:
    """Turns a status that is not 2xx into the right exception. `what` names the thing asked for."""
    status = answer.status
    if 200 <= status < 300:
        return
    if status in _BUSY or status >= 500:
        raise Broken("unreachable", f"{answer.host} answered {status}", _retry_after(answer.headers))
    code = answer.headers.get("X-Error-Code", "")
    if code in ("RepoNotFound", "RevisionNotFound", "EntryNotFound") or status in (404, 410):
        hint = "" if has_token else f"; if it is private, {token_env} must hold a token"
        raise FetchError("not_found", f"{what} does not exist on {answer.host}{hint}")
    if status in (401, 403):
        hint = (
            f"the token in {token_env} does not give access; its owner may have to accept the model's licence there"
            if has_token
            else f"{token_env} is not set; a gated or private model needs a token"
        )
        raise FetchError("unauthorized", f"{answer.host} refuses {what}: {hint}")
    raise FetchError("bad_answer", f"{answer.host} answered {status} for {what}")


def _retry_after(headers: http.client.HTTPMessage) -> float:
    text = headers.get("Retry-After", "")
    return min(float(text), 60.0) if text.isdigit() and len(text) < 6 else 0.0
