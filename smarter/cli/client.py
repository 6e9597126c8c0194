"""Speaks HTTP with a Smarter server: requests, retries, and refusals as CommandFailed.

A read is tried again for a few seconds when the connection fails. A write is sent once; only where the server refused
the connection, and so cannot have seen it, it is tried again. The token is in a header and never printed.
"""

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import tenacity

from smarter.cli import clock, exit_codes
from smarter.cli.config import LOGIN_FIRST, Connection, is_this_machine
from smarter.cli.failures import CommandFailed
from smarter.cli.text import one_line

CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0
"""An apply of many documents is one transaction and may take a while."""
RETRY_SECONDS = 6.0
"""Long enough for a server that restarts, short enough for somebody who mistyped the address."""
MAX_ATTEMPTS = 8
BUSY = frozenset({429, 502, 503, 504})
"""Answers that a read is tried again for: the server, or a proxy before it, is on its way up."""

Report = Callable[[str], None]


def new_http(connection: Connection) -> httpx.Client:
    """The edge of the program. Tests put a server of their own here. Proxies from the environment are used, but not
    for this machine: a proxy would see the token, and could not reach it."""
    return httpx.Client(
        base_url=connection.server,
        timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        trust_env=not is_this_machine(connection.server),
        follow_redirects=False,
    )


@dataclass
class Client:
    connection: Connection
    http: httpx.Client = field(repr=False)
    report: Report = lambda text: None

    def get(self, path: str, **params: Any) -> Any:
        return json_of(self.fetch(path, **params))

    def fetch(self, path: str, *, accept: str = "application/json", **params: Any) -> httpx.Response:
        """A read; None among `params` leaves the parameter out."""
        request = self._request("GET", path, params)
        request.headers["Accept"] = accept
        return self._checked(self._sent(request, _may_read_again))

    def send(self, method: str, path: str, *, body: bytes = b"", **params: Any) -> httpx.Response:
        """A write. The key lets a server recognise a second attempt of the same one."""
        request = self._request(method, path, params, body)
        request.headers["Idempotency-Key"] = str(uuid4())
        if body:
            request.headers["Content-Type"] = "application/yaml"
        return self._checked(self._sent(request, _may_write_again))

    def _request(self, method: str, path: str, params: Mapping[str, Any], body: bytes = b"") -> httpx.Request:
        given = {name: value for name, value in params.items() if value is not None}
        return self.http.build_request(method, path, params=given, content=body or None, headers=self._headers())

    def _sent(self, request: httpx.Request, retry: Callable[[tenacity.RetryCallState], bool]) -> httpx.Response:
        retrying = tenacity.Retrying(
            retry=retry,
            stop=tenacity.stop_after_delay(RETRY_SECONDS) | tenacity.stop_after_attempt(MAX_ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            sleep=clock.sleep,
            # The last answer or exception is what the caller judges.
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        try:
            answer: httpx.Response = retrying(self._once, request)
        except httpx.TransportError as fault:
            raise unreachable(self.connection, _reason(fault, request.method)) from None
        return answer

    def _once(self, request: httpx.Request) -> httpx.Response:
        line = f"{request.method} {request.url.raw_path.decode('ascii', 'replace')}"
        began = clock.now()
        try:
            answer = self.http.send(request)
        except httpx.TransportError as fault:
            self.report(f"{line}: {type(fault).__name__}")
            raise
        self.report(f"{line}: {answer.status_code} in {clock.now() - began:.3f} s")
        return answer

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"smarter/{version()}"}
        if self.connection.token:
            headers["Authorization"] = f"Bearer {self.connection.token}"
        return headers

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        if answer.is_redirect:
            where = one_line(answer.headers.get("location", "elsewhere"))
            why = f"it sends on to {where}, and the token is not sent there. Correct the address."
            raise unreachable(self.connection, why)
        raise refusal(answer, has_token=bool(self.connection.token))


def unreachable(connection: Connection, why: str) -> CommandFailed:
    hint = " Is it running? See: smarter status" if is_this_machine(connection.server) else ""
    return CommandFailed(exit_codes.UNREACHABLE, f"{connection.server} cannot be reached: {why}{hint}")


def _reason(fault: httpx.TransportError, method: str) -> str:
    if _was_refused(fault):
        return "the connection was refused."
    if isinstance(fault, httpx.ConnectTimeout):
        return f"no connection within {CONNECT_SECONDS:.0f} s."
    if isinstance(fault, httpx.ConnectError | httpx.ProxyError):
        return f"{one_line(fault)}."
    what = f"no answer within {READ_SECONDS:.0f} s" if isinstance(fault, httpx.TimeoutException) else "it was cut off"
    if method == "GET":
        return f"{what}."
    return f"{what}. The server may have done it all the same; doing it again is safe."


def _may_read_again(state: tenacity.RetryCallState) -> bool:
    outcome = state.outcome
    if outcome is None:
        return False
    fault = outcome.exception()
    if fault is None:
        return outcome.result().status_code in BUSY
    # A certificate does not become trusted by waiting.
    return isinstance(fault, httpx.TransportError) and "CERTIFICATE_VERIFY_FAILED" not in str(fault)


def _may_write_again(state: tenacity.RetryCallState) -> bool:
    fault = state.outcome.exception() if state.outcome else None
    return isinstance(fault, httpx.ConnectError) and _was_refused(fault)


def _was_refused(fault: BaseException | None) -> bool:
    while fault is not None:
        if isinstance(fault, ConnectionRefusedError) or "Connection refused" in str(fault):
            return True
        fault = fault.__cause__ or fault.__context__
    return False


def refusal(answer: httpx.Response, *, has_token: bool = True) -> CommandFailed:
    """The failure for an answer that is no success, from its problem document where it has one."""
    status = answer.status_code
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or not ("detail" in problem or "title" in problem):
        message = f"The server answered {status} {answer.reason_phrase}".rstrip() + "."
        return CommandFailed(exit_codes.for_status(status), message, {"status": status, "detail": message})
    message = one_line(problem.get("detail") or problem.get("title"))
    if status == 401:
        message = f"{message} {'The token is not accepted.' if has_token else 'No token is known.'} {LOGIN_FIRST}"
    if status >= 500 and problem.get("requestId"):
        message += f" (request {one_line(problem['requestId'])})"
    return CommandFailed(exit_codes.for_status(status), message, problem)


def json_of(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise CommandFailed(
            exit_codes.UNREACHABLE,
            f"The answer to {answer.request.url.path} is not JSON. Is {answer.request.url.host} a Smarter server?",
        ) from None


def segment(text: str) -> str:
    """One part of a path. A name can hold nothing that leads elsewhere."""
    return quote(text, safe="")


def version() -> str:
    try:
        return importlib.metadata.version("smarter")
    except importlib.metadata.PackageNotFoundError:
        # Run from a copy that nobody has installed.
        return "unknown"
