"""The probes of a container, asked as a kubelet asks them: at their periods, with their timeouts and thresholds.

`container.py` makes one Probe for each and calls `step` again and again. Threads put the questions, so that a server
that does not answer holds nothing up.
"""

import http.client
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

Question = Callable[[], str | None]
"""None for a good answer, else what was wrong."""

_HOST = "127.0.0.1"


class Probe:
    def __init__(self, kind: str, spec: Mapping[str, Any], question: Question, begin_at: float) -> None:
        self.kind = kind
        self.news = ""
        """What was wrong with the last answer, until somebody takes it."""
        self._question = question
        self._period = float(spec.get("periodSeconds") or 10)
        self._needed = int(spec.get("successThreshold") or 1)
        self._allowed = int(spec.get("failureThreshold") or 3)
        self._next_at = begin_at + float(spec.get("initialDelaySeconds") or 0)
        self._good = self._bad = 0
        self._pending: Future[str | None] | None = None

    def step(self, now: float, pool: ThreadPoolExecutor) -> bool | None:
        """True or False at the moment in which so many answers in a row were good or bad; None otherwise."""
        if self._pending is None:
            if now >= self._next_at:
                self._next_at = now + self._period
                self._pending = pool.submit(self._question)
            return None
        if not self._pending.done():
            return None
        fault, self._pending = self._pending.result(), None
        if fault is None:
            self._good, self._bad = self._good + 1, 0
            return True if self._good == self._needed else None
        self.news = fault
        self._good, self._bad = 0, self._bad + 1
        return False if self._bad == self._allowed else None

    def take_news(self) -> str:
        news, self.news = self.news, ""
        return news

    def hurry(self, now: float) -> None:
        """Asks at once, as when the container has just started up."""
        self._next_at = min(self._next_at, now)


def http_question(action: Mapping[str, Any], port: int, timeout_seconds: float) -> Question:
    headers = {header["name"]: header["value"] for header in action.get("httpHeaders") or ()}
    path = action.get("path") or "/"

    def ask() -> str | None:
        connection = http.client.HTTPConnection(_HOST, port, timeout=timeout_seconds)
        try:
            connection.request("GET", path, headers={"User-Agent": "kube-probe/simulated", **headers})
            code = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            return f"Get http://{_HOST}:{port}{path}: {_words(error)}"
        finally:
            connection.close()
        return None if 200 <= code < 400 else f"HTTP probe failed with statuscode: {code}"

    return ask


def port_question(port: int, timeout_seconds: float) -> Question:
    def ask() -> str | None:
        try:
            with socket.create_connection((_HOST, port), timeout=timeout_seconds):
                return None
        except OSError as error:
            return f"dial tcp {_HOST}:{port}: {_words(error)}"

    return ask


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return type(error).__name__
