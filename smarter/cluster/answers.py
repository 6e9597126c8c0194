"""What an answer of a Kubernetes API means for the caller: one of the port's errors.

The real client maps every answer here; the simulated cluster sends its refusals and its scripted faults through the
same function, so that both speak with one voice.
"""

from collections.abc import Mapping
from typing import Any

from smarter.core.errors import PermanentError, TemporaryError

MESSAGE_LIMIT = 1024
CAUSES_LIMIT = 10
_MAX_DELAY_SECONDS = 300.0
_OUR_FAULT = ("failed to create typed", "failed to convert", "unable to convert")
"""Server-side apply answers an unknown field, a wrong type or a bad quantity with 500, although it is for good."""

Failure = TemporaryError | PermanentError
Status = Mapping[str, Any]


def shorten(text: str, limit: int = MESSAGE_LIMIT) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def status_body(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    """The `Status` document that an API server would send."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def failure_for(code: int, status: Status, *, what: str, retry_after: str = "", quiet: bool = False) -> Failure:
    """`quiet` drops the server's own words, which may quote what was sent: for objects that hold secret values."""
    message = _message(code, status, what, quiet)
    if code < 400:
        return unreachable(what, f"it points elsewhere, with status {code}")
    if code == 401:
        return TemporaryError(message, reason="CredentialsInvalid", delay_seconds=60.0)
    if code == 403:
        return _forbidden(status, message)
    if code == 404:
        return _not_found(status, message)
    if code == 409:
        return _conflict(status, message)
    if code == 429:
        return TemporaryError(message, reason="TooManyRequests", delay_seconds=_delay(retry_after, 1.0))
    if code == 500 and any(text in str(status.get("message", "")) for text in _OUR_FAULT):
        return PermanentError(message, reason="Invalid")
    if code in (408, 410) or code >= 500:
        return TemporaryError(message, reason="ClusterUnavailable", delay_seconds=_delay(retry_after, 5.0))
    return PermanentError(message, reason="Invalid")


def unreachable(what: str, why: str) -> TemporaryError:
    return TemporaryError(shorten(f"{what}: the cluster does not answer ({why})"), reason="ClusterUnavailable")


def _forbidden(status: Status, message: str) -> Failure:
    text = str(status.get("message", ""))
    if "exceeded quota" in text or "failed quota" in text:
        return PermanentError(message, reason="QuotaExceeded")
    if any(cause.get("reason") == "NamespaceTerminating" for cause in _causes(status)):
        return TemporaryError(message, reason="Conflict", delay_seconds=5.0)
    return PermanentError(message, reason="Forbidden")


def _not_found(status: Status, message: str) -> Failure:
    details = status.get("details") or {}
    if details.get("kind") == "namespaces":
        return PermanentError(message, reason="NamespaceMissing")
    if not details.get("name"):
        return PermanentError(message, reason="KindMissing")
    return PermanentError(message, reason="Invalid")


def _conflict(status: Status, message: str) -> Failure:
    if any(cause.get("reason") == "FieldManagerConflict" for cause in _causes(status)):
        return PermanentError(message, reason="NameTaken")
    return TemporaryError(message, reason="Conflict", delay_seconds=1.0)


def _causes(status: Status) -> list[Mapping[str, Any]]:
    causes = (status.get("details") or {}).get("causes") or []
    return [cause for cause in causes if isinstance(cause, Mapping)]


def _message(code: int, status: Status, what: str, quiet: bool) -> str:
    causes = _causes(status)[:CAUSES_LIMIT]
    if quiet:
        fields = ", ".join(sorted({str(cause["field"]).partition("[")[0] for cause in causes if cause.get("field")}))
        return shorten(
            f"{what}: refused with {code} {status.get('reason') or ''}".rstrip() + (f" ({fields})" if fields else "")
        )
    text = str(status.get("message") or f"status {code}")
    missing = [f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in causes]
    extra = "; ".join(line for line in missing if line.split(": ", 1)[-1] not in text)
    return shorten(f"{what}: {text}" + (f" ({extra})" if extra else ""))


def _delay(retry_after: str, default: float) -> float:
    try:
        return min(max(float(retry_after), 0.0), _MAX_DELAY_SECONDS)
    except ValueError:
        return default
