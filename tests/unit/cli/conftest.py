"""The command line in this process: with an in-memory server at its HTTP edge, a clock that a test owns, and a
configuration file of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from smarter.cli import clock as clock_module
from smarter.cli import session
from smarter.cli.config import Connection
from smarter.cli.main import app
from tests.unit.cli.fake_server import ADDRESS, TOKEN, FakeServer


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@dataclass
class FakeClock:
    """Time passes only by sleeping."""

    seconds: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(clock_module, "now", made.now)
    monkeypatch.setattr(clock_module, "sleep", made.sleep)
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the person or the checkout that runs the tests is seen."""
    for name in ("SMARTER_CONFIG", "SMARTER_SERVER", "SMARTER_TOKEN", "SMARTER_CONTEXT", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SMARTER_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def anonymous(server: FakeServer, clock: FakeClock, home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command of somebody who has not logged in."""

    def new_http(connection: Connection) -> httpx.Client:
        return httpx.Client(base_url=connection.server, transport=httpx.MockTransport(server))

    monkeypatch.setattr(session, "new_http", new_http)

    def run(*arguments: str, stdin: str = "") -> Result:
        done = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="smarter")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Result(done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def run(anonymous: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("SMARTER_SERVER", ADDRESS)
    monkeypatch.setenv("SMARTER_TOKEN", TOKEN)
    return anonymous
