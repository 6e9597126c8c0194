"""The load generator: keep-alive connections of the standard library, one thread each. The same code drives Smarter and
the reference, so what it costs is on both sides."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 60
RETRIES = 1
AGAIN = 20


class BenchError(Exception):
    """Something did not answer as it must; figures of such a run would mean nothing."""


@dataclass(frozen=True)
class Call:
    """One request. `expect` are the statuses that count as success."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = "application/json"
    expect: frozenset[int] = frozenset({200, 201})
    again: frozenset[int] = frozenset()
    """Statuses that mean: the same once more."""


@dataclass(frozen=True)
class Target:
    """A server to send to. `token` stays out of messages."""

    name: str
    address: str
    token: str = field(repr=False)
    authority: str | None = None
    """PEM of the certificate authority, for https."""

    def connect(self) -> "Connection":
        return Connection(self)


class Connection:
    """One keep-alive connection; not for two threads at once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        parts = urlsplit(target.address)
        if parts.scheme == "https":
            context = ssl.create_default_context(cadata=target.authority)
            self._http: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.netloc, timeout=TIMEOUT_SECONDS, context=context
            )
        else:
            self._http = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)

    def send(self, call: Call) -> bytes:
        """The body of the answer. BenchError for another status."""
        status, body = self.exchange(call)
        for _ in range(AGAIN):
            if status not in call.again:
                break
            status, body = self.exchange(call)
        if status not in call.expect:
            text = body[:400].decode(errors="replace")
            raise BenchError(f"{self.target.name}: {call.method} {call.path}: HTTP {status}: {text}")
        return body

    def exchange(self, call: Call) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.target.token}", "Accept": "application/json"}
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        for attempt in range(RETRIES + 1):
            try:
                self._http.request(call.method, call.path, call.body, headers)
                answer = self._http.getresponse()
                return answer.status, answer.read()
            except http.client.RemoteDisconnected:
                # The server has ended an idle connection, or is replacing one of its processes.
                self._http.close()
                if attempt == RETRIES:
                    raise
        raise AssertionError("unreachable")

    def read(self, path: str) -> Any:
        return json.loads(self.send(Call("GET", path)))

    def stream(self, path: str) -> http.client.HTTPResponse:
        """An answer that is read line by line, as of a watch."""
        self._http.request("GET", path, headers={"Authorization": f"Bearer {self.target.token}"})
        return self._http.getresponse()

    def close(self) -> None:
        self._http.close()


def drive(target: Target, calls: Sequence[Call], connections: int = 1) -> list[float]:
    """Sends all calls over so many connections, each as soon as one is free. Seconds of each, in no order."""
    queue = iter(calls)
    lock = threading.Lock()
    seconds: list[float] = []
    failures: list[Exception] = []

    def work() -> None:
        connection = target.connect()
        try:
            # The handshake belongs to no request.
            connection.exchange(Call("GET", "/readyz"))
            for call in _shared(queue, lock):
                began = time.perf_counter()
                connection.send(call)
                seconds.append(time.perf_counter() - began)
        except (BenchError, OSError, http.client.HTTPException) as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return seconds


def _shared(queue: Iterable[Call], lock: threading.Lock) -> Iterable[Call]:
    iterator = iter(queue)
    while True:
        with lock:
            call = next(iterator, None)
        if call is None:
            return
        yield call


def wait_for(check: Callable[[], Any], what: str, timeout_seconds: float, pause_seconds: float = 0.1) -> Any:
    """The first true answer; BenchError after the timeout."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise BenchError(f"not after {timeout_seconds:.0f} s: {what}")
        time.sleep(pause_seconds)
