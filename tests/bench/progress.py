"""Says on standard error what the bench is doing; the table alone goes to standard output."""

import sys
import time

_BEGAN = time.monotonic()


def say(text: str) -> None:
    sys.stderr.write(f"[{time.monotonic() - _BEGAN:6.1f} s] {text}\n")
    sys.stderr.flush()
