"""What is running and how to reach it, in one private file per state directory. Used by the other modules here.

    <state>/state.json   ports, passwords, processes (0600)
    <state>/lock         held while something starts or stops; the kernel frees it when its holder dies
    <state>/logs/        one file per process
    <state>/run/         an empty working folder per process of Smarter, by which its processes are found again
    <home>/postgres/     database, owned by the account that runs it
    <home>/valkey/       queue, owned by the same account
    <home>/programs/     copies of the servers, only where that account cannot reach the virtual environment

`home` is the state directory itself, or a folder of /var/lib/smarter where the servers' account cannot enter it.
"""

import fcntl
import hashlib
import json
import os
import pwd
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from smarter.cli.embedded.processes import ProcessRecord
from smarter.core.errors import PermanentError

SYSTEM_HOME = Path("/var/lib/smarter")
LOCK_SECONDS = 120.0


@dataclass
class Server:
    """A database or queue server: where it listens and with which password."""

    port: int = 0
    password: str = ""
    process: ProcessRecord | None = None


@dataclass(frozen=True)
class Program:
    """A process of Smarter's own. `fingerprint` changes with its code and settings: an outdated one is replaced."""

    process: ProcessRecord
    fingerprint: str


@dataclass
class State:
    home: str = ""
    postgres: Server = field(default_factory=Server)
    valkey: Server = field(default_factory=Server)
    programs: dict[str, Program] = field(default_factory=dict)
    web_port: int = 0
    serving: bool = False
    """Whether the simulated cluster has a node that runs model servers of this machine."""
    models_port: int = 0
    engine_port: int = 0
    """Where the demo's weights are fetched from, and where it answers: kept, so that a restart changes nothing."""


def default_state_dir(checkout: Path) -> Path:
    """Beside the code, so that two checkouts on one machine never share a database by accident."""
    chosen = os.environ.get("SMARTER_STATE_DIR")
    return Path(chosen).resolve() if chosen else checkout.resolve() / ".smarter"


def prepare(state_dir: Path, user: pwd.struct_passwd | None) -> None:
    """Make the folders. Others may pass through to their own folder when a second account is used, but not look."""
    state_dir.mkdir(parents=True, exist_ok=True)
    state_dir.chmod(0o711 if user else 0o700)
    logs(state_dir).mkdir(exist_ok=True, mode=0o700)


def logs(state_dir: Path) -> Path:
    return state_dir / "logs"


def system_home(state_dir: Path) -> Path:
    return SYSTEM_HOME / hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:16]


@contextmanager
def locked(state_dir: Path) -> Iterator[None]:
    state_dir.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_SECONDS
    try:
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise PermanentError(f"Another command has held {state_dir / 'lock'} for two minutes.", reason="Locked")
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def load(state_dir: Path) -> State:
    """An empty state where there is none. A file that cannot be read is an error: its passwords cannot be made up."""
    path = state_dir / "state.json"
    if not path.exists():
        return State()
    try:
        return _state_from(json.loads(path.read_text()))
    except (ValueError, KeyError, TypeError) as fault:
        raise PermanentError(f"{path} is damaged; remove {state_dir} to start anew.", reason="BadState") from fault


def _state_from(data: dict[str, Any]) -> State:
    return State(
        home=data["home"],
        postgres=_server_from(data["postgres"]),
        valkey=_server_from(data["valkey"]),
        programs={
            name: Program(ProcessRecord(**entry["process"]), entry["fingerprint"])
            for name, entry in data["programs"].items()
        },
        web_port=data["web_port"],
        serving=data.get("serving", False),
        models_port=data.get("models_port", 0),
        engine_port=data.get("engine_port", 0),
    )


def _server_from(data: dict[str, Any]) -> Server:
    process = data["process"]
    return Server(data["port"], data["password"], ProcessRecord(**process) if process else None)


def save(state_dir: Path, state: State) -> None:
    write_private(state_dir / "state.json", json.dumps(asdict(state), indent=1))


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by anybody else, not even for a moment."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def new_password() -> str:
    """URL-safe without any character that a URL or a configuration file would need quoted."""
    return secrets.token_hex(24)
