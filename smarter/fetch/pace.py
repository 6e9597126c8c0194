"""How often and how fast a failed attempt is repeated."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from smarter.fetch.errors import Broken, FetchError, Stopped

MAX_DELAY_SECONDS = 30.0
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Pace:
    attempts: int = 8
    backoff_seconds: float = 1.0

    def delay_seconds(self, failures: int, asked_seconds: float) -> float:
        """Doubles with each failure, spread by half so that many pods do not come back together."""
        longest = min(MAX_DELAY_SECONDS, self.backoff_seconds * 2.0 ** min(failures - 1, 10))
        return max(asked_seconds, longest * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load, guards nothing


def wait(pace: Pace, failures: int, fault: Broken, stop: threading.Event) -> None:
    """Sleeps before the next attempt, or raises when there is none left or the fetch is being stopped."""
    if failures >= pace.attempts:
        raise FetchError(fault.reason, f"{fault.message}; gave up after {failures} attempts") from None
    if stop.wait(pace.delay_seconds(failures, fault.retry_after_seconds)):
        raise Stopped


def repeated(pace: Pace, stop: threading.Event, attempt: Callable[[], Result]) -> Result:
    failures = 0
    while True:
        try:
            return attempt()
        except Broken as fault:
            failures += 1
            wait(pace, failures, fault, stop)
