"""One POST to a server that belongs to a tenant, and may be hostile: to one address, within seconds, and of the answer
no more than a few kilobytes are taken in. Nothing is followed and nothing is unpacked.

`apps/reconcile/answers.py` asks here whether a server still makes tokens. No client library is used, since each one
follows, unpacks or waits in some way that would have to be switched off.
"""

import ipaddress
import re
import socket
import time
from dataclasses import dataclass, field

from pydantic import SecretStr

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r\n)")
_CHUNK = 16 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds count from the first step; `most_bytes` are those of head and body together."""

    connect_seconds: float = 3.0
    total_seconds: float = 5.0
    most_bytes: int = 64 * 1024
    most_head_bytes: int = 16 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """`address` is an IP address, never a name, so that nothing can be led elsewhere."""

    address: str
    port: int
    host: str
    path: str
    body: bytes
    key: SecretStr | None = None
    allow_loopback: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """`fault` is empty for an answer that came whole: Forbidden, Unreachable, NoAnswer, TooLarge, NotHttp or
    Compressed. `body` is untrusted."""

    status: int = 0
    body: bytes = field(default=b"", repr=False)
    fault: str = ""


def ask(request: Request, limits: Limits | None = None) -> Reply:
    """Never raises for what the other side does."""
    limits = limits or Limits()
    if not is_allowed(request.address, loopback=request.allow_loopback):
        return Reply(fault="Forbidden")
    deadline = time.monotonic() + limits.total_seconds
    try:
        connection = socket.create_connection((request.address, request.port), timeout=limits.connect_seconds)
    except OSError:
        return Reply(fault="Unreachable")
    with connection:
        try:
            connection.settimeout(max(deadline - time.monotonic(), 0.01))
            connection.sendall(_head(request) + request.body)
            data, fault = _received(connection, deadline, limits)
        except OSError:
            return Reply(fault="NoAnswer")
    return Reply(fault=fault) if fault else _read(data, limits)


def is_allowed(address: str, *, loopback: bool = False) -> bool:
    """Services have addresses of their own; those of a machine itself, or of its metadata, are nobody's Service."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback:
        return loopback
    return not (found.is_link_local or found.is_multicast or found.is_unspecified or found.is_reserved)


def _head(request: Request) -> bytes:
    lines = [
        f"POST {request.path} HTTP/1.1",
        f"Host: {request.host}",
        "Content-Type: application/json",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Connection: close",
        "User-Agent: smarter",
        f"Content-Length: {len(request.body)}",
    ]
    if request.key is not None:
        lines.append(f"Authorization: Bearer {request.key.get_secret_value().strip()}")
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a line of a request holds a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _received(connection: socket.socket, deadline: float, limits: Limits) -> tuple[bytes, str]:
    """Until the other side closes or the answer is whole. Time is over when the deadline is, however steadily a little
    comes."""
    data = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return b"", "NoAnswer"
        connection.settimeout(left)
        part = connection.recv(_CHUNK)
        data += part
        end = data.find(b"\r\n\r\n")
        if (
            len(data) > limits.most_bytes
            or (end < 0 and len(data) > limits.most_head_bytes)
            or end > limits.most_head_bytes
        ):
            return b"", "TooLarge"
        if not part or (end >= 0 and _is_whole(data, end)):
            return bytes(data), ""


def _is_whole(data: bytearray, end: int) -> bool:
    headers = _headers(bytes(data[:end]))
    length = headers.get(b"content-length", b"")
    if length.isdigit() and len(length) < 10:
        return len(data) >= end + 4 + int(length)
    return headers.get(b"transfer-encoding", b"").lower() == b"chunked" and data.endswith(b"0\r\n\r\n")


def _headers(head: bytes) -> dict[bytes, bytes]:
    pairs = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _read(data: bytes, limits: Limits) -> Reply:
    found = _STATUS.match(data)
    head, separator, body = data.partition(b"\r\n\r\n")
    if not found or not separator:
        return Reply(fault="NotHttp" if data else "NoAnswer")
    headers = _headers(head)
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        return Reply(int(found[1]), fault="Compressed")
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        body = _joined(body)
    return Reply(int(found[1]), body[: limits.most_bytes])


def _joined(body: bytes) -> bytes:
    """The chunks of a body, up to the first that is not well formed."""
    parts: list[bytes] = []
    rest = body
    while True:
        line, _, rest = rest.partition(b"\r\n")
        size = line.partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9a-fA-F]{1,6}", size) or int(size, 16) == 0:
            return b"".join(parts)
        parts.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
