"""Every answer that says no, as an RFC 9457 problem document.

The exception handler of the REST framework, the middleware and Django's own error handlers all end here, so that no
fault reaches a client in another shape, and none with a stack trace. What belongs to another account is answered
exactly like what does not exist.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.db.models import ProtectedError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions

from smarter.core.errors import PermanentError, Refused, TemporaryError
from smarter.core.problems import Problem

CONTENT_TYPE = "application/problem+json"
RETRY_SECONDS = 5

_log = structlog.get_logger(__name__)

_FRAMEWORK_CODES = {
    400: "bad_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    415: "unsupported_media_type",
    429: "too_many_requests",
}


def problem_response(
    status: int,
    code: str,
    detail: str,
    problems: Sequence[Problem] = (),
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    body: dict[str, Any] = {
        "type": f"urn:smarter:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "requestId": current_request_id(),
        "errors": [problem.as_dict() for problem in problems],
    }
    return HttpResponse(orjson.dumps(body), status=status, content_type=CONTENT_TYPE, headers=headers)


def current_request_id() -> str:
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def exception_handler(error: Exception, context: dict[str, Any] | None = None) -> HttpResponse:
    """For settings.REST_FRAMEWORK. Answers every exception there is."""
    refused = refusal_of(error)
    if refused is None:
        # The traceback has no values of variables, and the log escapes line breaks.
        _log.error("request_failed", error=type(error).__name__, exc_info=error)
        refused = Refused(500, "internal", "Something went wrong on our side. The request id finds it in our log.")
    headers = dict(refused.headers)
    return problem_response(refused.status, refused.code, refused.detail, refused.problems, headers)


def refusal_of(error: Exception) -> Refused | None:
    """None for what nobody foresaw."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    if isinstance(error, Http404):
        return Refused(404, "not_found", "There is nothing at this address.")
    if isinstance(error, PermissionDenied):
        return Refused(403, "forbidden", "This is not allowed.")
    if isinstance(error, RequestDataTooBig):
        return Refused(413, "too_large", "The body is too large.")
    if isinstance(error, SuspiciousOperation):
        return Refused(400, "bad_request", "The request cannot be understood.")
    if isinstance(error, TemporaryError | PermanentError):
        return _of_cluster(error)
    return _of_database(error)


def _of_framework(error: exceptions.APIException) -> Refused:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header
    if getattr(error, "wait", None) is not None:
        headers["Retry-After"] = str(max(1, round(error.wait)))
    detail = error.detail if isinstance(error.detail, str) else "The request is not accepted."
    code = _FRAMEWORK_CODES.get(error.status_code, "refused")
    return Refused(error.status_code, code, str(detail), headers=headers)


def _of_cluster(error: TemporaryError | PermanentError) -> Refused:
    if isinstance(error, TemporaryError):
        retry = {"Retry-After": str(max(1, round(error.delay_seconds)))}
        return Refused(503, "cluster_unavailable", f"The cluster does not answer: {error.message}", headers=retry)
    return Refused(502, "cluster_refused", f"The cluster refuses: {error.message}")


def _of_database(error: Exception) -> Refused | None:
    """Only what a caller can do something about; a wrong query stays a fault of ours."""
    if isinstance(error, ProtectedError):
        return Refused(409, "in_use", "It is in use and cannot be deleted.")
    if isinstance(error, IntegrityError):
        _log.warning("request_lost_a_race", error=type(error).__name__)
        return Refused(409, "conflict", "Another request changed the same thing at the same time. Try again.")
    if isinstance(error, OperationalError | InterfaceError):
        sqlstate = getattr(error.__cause__, "sqlstate", None)
        _log.error("database_unavailable", error=type(error).__name__, sqlstate=sqlstate)
        return _BUSY if sqlstate in _LOCKED else database_unavailable()
    if isinstance(error, DataError):
        _log.error("value_cannot_be_stored", error=type(error).__name__)
        return Refused(400, "bad_request", "The request holds a value that cannot be stored.")
    return None


# lock_not_available, deadlock_detected, serialization_failure: nothing was stored, and a second try will do.
_LOCKED = frozenset({"55P03", "40P01", "40001"})
_BUSY = Refused(503, "busy", "Other requests change the same account. Try again.", headers={"Retry-After": "1"})


def database_unavailable() -> Refused:
    return Refused(
        503, "unavailable", "The database does not answer at the moment.", headers={"Retry-After": str(RETRY_SECONDS)}
    )


def bad_request(_request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem_response(400, "bad_request", "The request cannot be understood.")


def permission_denied(_request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem_response(403, "forbidden", "This is not allowed.")


def page_not_found(_request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem_response(404, "not_found", "There is nothing at this address.")


def server_error(_request: HttpRequest) -> HttpResponse:
    return problem_response(500, "internal", "Something went wrong on our side. The request id finds it in our log.")
