"""Gives every request an id that is safe to log and answer, and turns what escapes a view into a problem document."""

import re
from collections.abc import Callable
from uuid import uuid4

import structlog
from django.http import HttpRequest, HttpResponse

from smarter.apps.api.problems import current_request_id, exception_handler

HEADER = "X-Request-ID"
_SAFE_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


class ProblemMiddleware:
    """A class because Django calls `process_exception` on it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # The logging middleware has put one into the first line of the log, which is kept where the caller has none.
        candidates = (request.headers.get(HEADER, ""), current_request_id(), str(uuid4()))
        request_id = next(text for text in candidates if _SAFE_ID.fullmatch(text))
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response[HEADER] = request_id
        if request.path.startswith("/api/"):
            response.setdefault("Cache-Control", "no-store")
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse:
        return exception_handler(exception)
