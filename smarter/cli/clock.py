"""Time as the commands see it: the one place to wait. Tests put a clock of their own here."""

import time


def now() -> float:
    """Seconds that only differences of mean something."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    time.sleep(seconds)
