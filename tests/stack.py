"""The whole stack of a quick start as processes of their own, for end-to-end tests that share one for a file."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from smarter.cli import embedded

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "from smarter.cli.main import app; app(prog_name='smarter')"
_OURS = ("DATABASE_URL", "BROKER_URL", "KUBECONFIG")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def fresh_environment(*without: str) -> dict[str, str]:
    """As at a fresh shell: neither the tests' own servers nor anybody's login are in it, nor what `without` names."""
    known = {name: value for name, value in os.environ.items() if name not in (*_OURS, *without)}
    return {name: value for name, value in known.items() if not name.startswith(("SMARTER_", "DJANGO_", "PYTEST_"))}


def execute(state: Path, *command: str, stdin: str = "", **extra: str) -> Result:
    """Python of this checkout, on the stack of a state directory."""
    own = {"SMARTER_STATE_DIR": str(state), "XDG_CONFIG_HOME": str(state / "config"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=state,
        env=fresh_environment() | own | extra,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@contextmanager
def running_stack(prefix: str, **extra: str) -> Iterator[Path]:
    """A state directory with web, worker and beat running, and the login of the demo account. It takes about half a
    minute."""
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        folder = Path(name) / "state"
        folder.mkdir()
        Path(name).chmod(0o755)
        try:
            done = execute(folder, "-m", "smarter.cli.quickstart", "--no-deploy", **extra)
            assert done.code == 0, done.out + done.err
            yield folder
        finally:
            done = execute(folder, "-c", PROGRAM, "down")
            embedded.remove_services(folder)
        assert done.code == 0, done.out + done.err


@contextmanager
def client_of(state: Path) -> Iterator[httpx.Client]:
    login = json.loads((state / "cli.json").read_text())
    headers = {"Authorization": f"Bearer {login['token']}"}
    # A connection for each request: the server closes an idle one, maybe just when it is used again.
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=login["server"], headers=headers, timeout=20, trust_env=False, limits=limits) as client:
        yield client
