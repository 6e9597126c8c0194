"""The embedded database and queue together. Called by the stack, by scripts, and by the tests' fixtures."""

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from smarter.cli.embedded import postgres, programs, state, valkey
from smarter.cli.embedded.postgres import Postgres
from smarter.cli.embedded.state import State
from smarter.cli.embedded.valkey import Valkey
from smarter.core.errors import PermanentError


@dataclass(frozen=True)
class Services:
    """Addresses with their passwords in them: for an environment, never for a log or an argument."""

    database_url: str
    broker_url: str

    def __repr__(self) -> str:
        return "Services(…)"


DATABASE, QUEUE = "postgres", "valkey"
BOTH = frozenset({DATABASE, QUEUE})


def start_services(state_dir: Path, *, fast: bool = False) -> Services:
    """Start what does not run, attach to what does. `fast` gives up safety against power loss; it is for tests."""
    state_dir = state_dir.resolve()
    with state.locked(state_dir):
        return start_locked(state_dir, fast=fast)


def start_locked(state_dir: Path, *, fast: bool = False, wanted: frozenset[str] = BOTH) -> Services:
    """The same for a caller that already holds the lock. The address of a server that is not wanted stays empty."""
    current = state.load(state_dir)
    user = programs.server_account() if wanted else None
    state.prepare(state_dir, user)
    if not wanted:
        return Services("", "")
    home = _home(state_dir, current, user)
    user = _account_for(home, user)
    for name in BOTH:
        _make_private(home / name, user)
    found = programs.find_programs(home, user)
    logs = state.logs(state_dir)
    database = Postgres(found.postgres_bin, home / "postgres", logs / "postgres.log", user, fast)
    queue = Valkey(found.valkey_server, home / "valkey", logs / "valkey.log", user, fast)
    _give_passwords(state_dir, current, database)
    try:
        if QUEUE in wanted:
            valkey.start(queue, current.valkey)
        if DATABASE in wanted:
            postgres.start(database, current.postgres)
    finally:
        state.save(state_dir, current)
    return Services(
        postgres.url_of(current.postgres) if DATABASE in wanted else "",
        valkey.url_of(current.valkey) if QUEUE in wanted else "",
    )


def stop_services(state_dir: Path) -> None:
    """Stop both; nothing happens where nothing runs."""
    state_dir = state_dir.resolve()
    if not state_dir.exists():
        return
    with state.locked(state_dir):
        stop_locked(state_dir)


def stop_locked(state_dir: Path) -> None:
    current = state.load(state_dir)
    if not current.home:
        return
    # A server whose record was lost with its starter is found by its data.
    _adopt(current)
    valkey.stop(current.valkey)
    postgres.stop(current.postgres)
    state.save(state_dir, current)


def remove_services(state_dir: Path) -> None:
    """Stop both and delete their data, wherever it lies."""
    stop_services(state_dir)
    state_dir = state_dir.resolve()
    home = state.load(state_dir).home
    for folder in ("postgres", "valkey", "programs") if home else ():
        shutil.rmtree(Path(home) / folder, ignore_errors=True)
    if home and Path(home) != state_dir:
        shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(state_dir, ignore_errors=True)


def _home(state_dir: Path, current: State, user: pwd.struct_passwd | None) -> Path:
    """Where the servers' files lie. Permissions of folders that exist are never changed to make room."""
    if current.home and Path(current.home).is_dir():
        return Path(current.home)
    home = state_dir
    if not programs.can_enter(state_dir, user):
        home = state.system_home(state_dir)
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o711)
    if not programs.can_enter(home, user):
        raise PermanentError(f"The account {user.pw_name if user else ''} cannot enter {home}.", reason="NoPlace")
    current.home = str(home)
    return home


def _account_for(home: Path, user: pwd.struct_passwd | None) -> pwd.struct_passwd | None:
    """Data that exists stays with the account that owns it, also when a better account was added since."""
    folder = home / "postgres"
    if user is None or not folder.exists() or folder.stat().st_uid == 0:
        return user
    return pwd.getpwuid(folder.stat().st_uid)


def _make_private(folder: Path, user: pwd.struct_passwd | None) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)


def _give_passwords(state_dir: Path, current: State, database: Postgres) -> None:
    """Saved before the first start, so that a crash in between leaves no database with an unknown password."""
    current.valkey.password = current.valkey.password or state.new_password()
    if not current.postgres.password:
        current.postgres.password = state.new_password()
        if (database.data / "PG_VERSION").exists():
            _adopt(current)
            postgres.stop(current.postgres)
            postgres.set_password(database, current.postgres.password)
    state.save(state_dir, current)


def _adopt(current: State) -> None:
    home = Path(current.home)
    current.postgres.process = postgres.running(home / "postgres" / "data", current.postgres)
    current.valkey.process = valkey.running(home / "valkey" / "data", current.valkey)
