"""One HTTP request with everything a hostile or broken server could do bounded.

Used by `transfer` and by the places that weights come from. Redirects are followed here, because each target is checked
anew and a token stays with the host that it is meant for.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from smarter.fetch.addresses import checked_addresses
from smarter.fetch.errors import Broken, FetchError

MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
MAX_JSON_BYTES = 64 * 1024 * 1024
_REDIRECTS = (301, 302, 303, 307, 308)
_BUSY = (408, 425, 429)
_PORTS = {"https": 443, "http": 80}
_WRONG_CHARACTERS = re.compile(r"[^\x21-\x7e]|[\\<>\"`{}|^]")
USER_AGENT = "smarter-fetch"


@dataclass(frozen=True, slots=True)
class Rules:
    allow_http: bool = False
    allow_private: bool = False
    stall_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class Credential(Protocol):
    """What proves who asks, to the one origin that may see it."""

    @property
    def origin(self) -> tuple[str, str, int]: ...

    def headers(self, address: Address) -> dict[str, str]:
        """For a GET of this address."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, the one origin that may see it, and the name of the variable that it came from."""

    origin: tuple[str, str, int]
    env: str
    value: str = field(repr=False)

    def headers(self, address: Address) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.value}"}


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
    return Address(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], target)


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
    url: str,
    rules: Rules,
    *,
    token: Credential | None = None,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    follow: bool = True,
) -> Iterator[Answer]:
    """GET, or POST of a form's `body`, after redirects. Raises FetchError or Broken; any status but a redirect is the
    caller's to judge, and with `follow` False that too."""
    for _ in range(MAX_REDIRECTS + 1):
        address = parse(url, rules)
        addresses = checked_addresses(address.host, address.port, allow_private=rules.allow_private)
        connection = _PinnedConnection(address, addresses, rules.stall_seconds)
        try:
            response = _send(connection, address, _headers(address, token, headers or {}), body)
            location = response.headers.get("Location")
            if not follow or response.status not in _REDIRECTS or not location:
                yield Answer(response.status, response.headers, response, address.host)
                return
            url = urljoin(url, location)
        finally:
            connection.close()
    raise FetchError("bad_answer", f"more than {MAX_REDIRECTS} redirects")


def _headers(address: Address, token: Credential | None, headers: dict[str, str]) -> dict[str, str]:
    sent = {"Host": address.host_header, "User-Agent": USER_AGENT, "Accept-Encoding": "identity", **headers}
    if token and token.origin == address.origin:
        sent.update(token.headers(address))
    return sent


def _send(
    connection: _PinnedConnection, address: Address, headers: dict[str, str], body: bytes | None
) -> http.client.HTTPResponse:
    if body is not None:
        headers = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request("GET" if body is None else "POST", address.target, body=body, headers=headers)
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


def busy(answer: Answer) -> Broken | None:
    """For a status that another attempt may cure."""
    if answer.status == 429:
        return Broken("rate_limited", f"{answer.host} answers too many requests (429)", _retry_after(answer.headers))
    if answer.status in _BUSY or answer.status >= 500:
        return Broken("unreachable", f"{answer.host} answered {answer.status}", _retry_after(answer.headers))
    return None


def require_success(answer: Answer, what: str, token_env: str, *, has_token: bool) -> None:
    """Turns a status that is not 2xx into the right exception. `what` names the thing asked for."""
    status = answer.status
    if 200 <= status < 300:
        return
    again = busy(answer)
    if again:
        raise again
    code = answer.headers.get("X-Error-Code", "")
    if code in ("RepoNotFound", "RevisionNotFound", "EntryNotFound") or status in (404, 410):
        hint = "" if has_token or not token_env else f"; if it is private, {token_env} must hold a token"
        raise FetchError("not_found", f"{what} does not exist on {answer.host}{hint}")
    if status in (401, 403):
        gated = code == "GatedRepo"
        raise FetchError(
            "gated" if gated else "unauthorized",
            f"{answer.host} refuses {what} ({status}): {_why_refused(token_env, has_token, gated)}",
        )
    raise FetchError("bad_answer", f"{answer.host} answered {status} for {what}")


def _why_refused(token_env: str, has_token: bool, gated: bool) -> str:
    if gated and has_token:
        return f"the model is gated, and the owner of the token in {token_env} is not on its list"
    if gated:
        return f"the model is gated, and {token_env} is not set"
    if has_token:
        return f"the token in {token_env} does not give access; its owner may have to accept the model's licence there"
    return f"{token_env} is not set; a gated or private model needs a token" if token_env else "it is not public"


def _retry_after(headers: http.client.HTTPMessage) -> float:
    text = headers.get("Retry-After", "")
    return min(float(text), 60.0) if text.isdigit() and len(text) < 6 else 0.0
