"""The few requests to the Kubernetes API that `up` makes itself, with the standard library alone."""

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.control_plane.versions import ControlPlaneError


@dataclass(frozen=True)
class Api:
    server: str
    token: str
    authority: Path

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and text; connection errors are raised as OSError."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server}{path}", data=data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        context = ssl.create_default_context(cafile=str(self.authority))
        handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)]
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def get(self, path: str) -> Any:
        status, text = self.request("GET", path)
        if status != 200:
            raise ControlPlaneError(f"GET {path}: HTTP {status}: {text[:500]}")
        return json.loads(text)

    def create(self, path: str, document: dict[str, Any]) -> None:
        status, text = self.request("POST", path, document)
        if status not in (200, 201, 409):
            raise ControlPlaneError(f"POST {path}: HTTP {status}: {text[:500]}")

    def is_ready(self) -> bool:
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            return False


def wait_until(what: str, check: Callable[[], bool], timeout_seconds: float, pause_seconds: float = 0.1) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not check():
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"{what}: not so after {timeout_seconds:.0f} s")
        time.sleep(pause_seconds)
