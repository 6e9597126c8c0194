"""One JSON object per line on standard output: what the fetch is doing, for people and for the observer of the pod."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

# Enough for a progress bar; a large model then leaves a few hundred lines in the log.
INTERVAL_SECONDS = 5.0


class Progress:
    """Safe to use from several threads. `secrets` are texts that must never be printed; nothing here is meant to hold
    them, and the replacement is a second line of defence."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        interval_seconds: float = INTERVAL_SECONDS,
        secrets: tuple[str, ...] = (),
        last_words: Path | None = None,
    ) -> None:
        self._stream = stream or sys.stdout
        self._interval_seconds = interval_seconds
        self._secrets = tuple(secret for secret in secrets if secret)
        self._last_words = last_words
        self._lock = threading.Lock()
        self._next_at = 0.0
        self.bytes = 0
        self.total: int | None = None

    def add(self, count: int) -> None:
        with self._lock:
            self.bytes += count
            now = time.monotonic()
            if now < self._next_at:
                return
            self._next_at = now + self._interval_seconds
            self._write({"event": "progress", "bytes": self.bytes, "total": self.total})

    def say(self, event: str, **fields: Any) -> None:
        with self._lock:
            self._write({"event": event, **fields})

    def end(self, event: str, **fields: Any) -> None:
        """The last line; also kept where Kubernetes reads a container's last words, if that file can be written."""
        with self._lock:
            line = self._write({"event": event, **fields})
        if self._last_words is None:
            return
        try:
            self._last_words.write_text(line[:4000])
        except OSError:
            return

    def _write(self, record: dict[str, Any]) -> str:
        line = json.dumps(record)
        for secret in self._secrets:
            line = line.replace(secret, "***")
        self._stream.write(line + "\n")
        self._stream.flush()
        return line
