"""Reads the body of a request as bytes, never more of them than a manifest may have.

The Content-Type is not looked at: manifests are recognised by what they are, since pipelines label YAML as all sorts
of things. A compressed body is refused, because its size says nothing about what it unpacks to.
"""

from typing import Any

from django.http import HttpRequest

from smarter.core.errors import Refused
from smarter.core.strict_yaml import DEFAULT_LIMITS

LIMIT_BYTES = DEFAULT_LIMITS.body_bytes


def read_body(request: HttpRequest) -> bytes:
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise Refused(415, "unsupported_media_type", "Send the body as it is, without compression.")
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit() and int(length) > LIMIT_BYTES:
        raise too_large()
    body = _read_at_most(_stream(request), LIMIT_BYTES + 1)
    if len(body) > LIMIT_BYTES:
        raise too_large()
    return body


def too_large() -> Refused:
    return Refused(413, "too_large", f"A body may have {LIMIT_BYTES // 1024} KiB.")


def _stream(request: HttpRequest) -> Any:
    """Django reads nothing where no length is given. A server that unpacks a chunked body says so, and ends it."""
    environ: dict[str, Any] = getattr(request, "environ", {})
    if environ.get("wsgi.input_terminated") and not request.META.get("CONTENT_LENGTH"):
        return environ["wsgi.input"]
    return request


def _read_at_most(stream: Any, count: int) -> bytes:
    """A read may answer less than was asked for, long before the end."""
    parts: list[bytes] = []
    while count > 0:
        part = stream.read(count)
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
