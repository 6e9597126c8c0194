"""Web, worker and beat as one: started, found again, replaced and ended. A small stand-in takes Smarter's place; the
web server, the task queue, the database and the queue are real."""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from smarter.cli import embedded
from smarter.cli.embedded import launch, processes, stack, state
from smarter.core.errors import PermanentError
from tests.unit.embedded.observing import command_lines, pids

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("embedded")]

MANAGE = """
import os, sys
open(os.environ["SMARTER_STATE_DIR"] + "/managed", "a").write(" ".join(sys.argv[1:]) + "\\n")
sys.exit("the database is unwell" if "SMARTER_FAKE_UNWELL" in os.environ else 0)
"""
WSGI = """
import json, os, time
def application(environ, start_response):
    try:
        age = time.time() - os.stat(os.environ["SMARTER_STATE_DIR"] + "/heartbeat").st_mtime
    except FileNotFoundError:
        age = None
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"workerSecondsSinceWork": age}).encode()]
"""
CELERY = """
import os
from celery import Celery
os.environ.pop("DJANGO_SETTINGS_MODULE")
app = Celery("standin", broker=os.environ["BROKER_URL"])
app.conf.beat_schedule = {"beat": {"task": "beat", "schedule": 1.0}}
@app.task(name="beat")
def beat():
    open(os.environ["SMARTER_STATE_DIR"] + "/heartbeat", "w").close()
"""


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="stack-"))
    folder.chmod(0o755)
    package = folder / "smarter"
    package.mkdir()
    (package / "__init__.py").touch()
    write(folder)
    yield folder
    stack.down(folder / ".smarter")
    embedded.remove_services(folder / ".smarter")
    shutil.rmtree(folder)


def write(checkout: Path, wsgi: str = WSGI) -> None:
    (checkout / "manage.py").write_text(MANAGE)
    (checkout / "smarter" / "wsgi.py").write_text(wsgi)
    (checkout / "smarter" / "celery.py").write_text(CELERY)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "BROKER_URL", "SMARTER_STATE_DIR", "DJANGO_SECRET_KEY", "DJANGO_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)


def start(checkout: Path) -> launch.Stack:
    """On a port that no other test and no stack at somebody's desk uses."""
    port = 0 if state.load(checkout / ".smarter").web_port else processes.free_port()
    return stack.up(checkout, checkout / ".smarter", lambda text: None, port)


def running(checkout: Path) -> dict[str, int | None]:
    return {found.name: found.pid for found in stack.status(checkout / ".smarter")}


def ours(checkout: Path) -> list[int]:
    """Every live process that works in the state directory of this checkout."""
    state_dir = checkout / ".smarter"
    folders = [launch.run_folder(state_dir, name) for name in launch.NAMES]
    home = Path(state.load(state_dir).home or state_dir)
    folders += [home / "postgres" / "data", home / "valkey" / "data"]
    return sorted(pid for folder in folders for pid in processes.processes_in(folder))


def test_up_ends_when_a_worker_has_done_work_and_down_leaves_nothing(checkout: Path) -> None:
    running_stack = start(checkout)
    assert None not in running(checkout).values()
    answer = stack.readiness(running_stack)
    assert answer is not None
    assert answer["workerSecondsSinceWork"] < 30
    assert "migrate" in (checkout / ".smarter" / "managed").read_text()
    everything = ours(checkout)
    assert len(everything) > 5
    stack.down(checkout / ".smarter")
    assert ours(checkout) == []
    assert [pid for pid in everything if processes.start_time(pid) is not None] == []
    assert set(running(checkout).values()) == {None}
    assert processes.free_port(running_stack.web_port) == running_stack.web_port
    stack.down(checkout / ".smarter")


def test_up_keeps_what_runs_and_starts_what_was_killed(checkout: Path) -> None:
    start(checkout)
    before = running(checkout)
    worker = before["worker"]
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    start(checkout)
    after = running(checkout)
    assert after.pop("worker") != before.pop("worker")
    assert after == before
    # The children of the killed worker are gone too: those that are left belong to the new one.
    record = state.load(checkout / ".smarter").programs["worker"].process
    left = processes.processes_in(launch.run_folder(checkout / ".smarter", "worker"))
    assert {os.getpgid(pid) for pid in left} == {record.group}


def test_up_replaces_what_runs_with_older_code(checkout: Path) -> None:
    start(checkout)
    before = running(checkout)
    os.utime(checkout / "smarter" / "wsgi.py")
    start(checkout)
    after = running(checkout)
    assert {name for name in before if before[name] != after[name]} == set(launch.NAMES)


def test_a_port_that_somebody_took_meanwhile_is_replaced(checkout: Path) -> None:
    start(checkout)
    stack.down(checkout / ".smarter")
    taken = state.load(checkout / ".smarter").web_port
    with socket.create_server(("127.0.0.1", taken)):
        with pytest.raises(PermanentError, match=f"Port {taken} is in use"):
            stack.up(checkout, checkout / ".smarter", lambda text: None, taken)
        again = stack.up(checkout, checkout / ".smarter", lambda text: None)
    assert again.web_port != taken
    assert stack.readiness(again) is not None


def test_programs_whose_record_was_lost_are_found_and_ended(checkout: Path) -> None:
    start(checkout)
    current = state.load(checkout / ".smarter")
    current.programs.clear()
    state.save(checkout / ".smarter", current)
    stack.down(checkout / ".smarter")
    assert ours(checkout) == []


def test_a_program_that_ends_at_once_is_named_with_the_end_of_its_log(checkout: Path) -> None:
    write(checkout, wsgi="raise RuntimeError('this is what is wrong')")
    try:
        with pytest.raises(PermanentError, match=r"(?s)The process web ended.*this is what is wrong"):
            start(checkout)
    finally:
        write(checkout)


def test_a_migration_that_fails_is_told(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMARTER_FAKE_UNWELL", "yes")
    with pytest.raises(PermanentError, match=r"(?s)migrate failed.*the database is unwell"):
        start(checkout)


def test_keys_are_made_once_and_are_private(checkout: Path) -> None:
    first = start(checkout)
    files = [checkout / ".smarter" / name for name in ("secret-key", "kek.json")]
    before = [path.read_text() for path in files]
    assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o600", "0o600"]
    assert start(checkout).env == first.env
    assert [path.read_text() for path in files] == before


def test_no_secret_is_in_an_argument_or_a_log(checkout: Path) -> None:
    running_stack = start(checkout)
    names = ("DATABASE_URL", "BROKER_URL")
    secrets = [urlsplit(running_stack.env[name]).password or "" for name in names]
    secrets.append(running_stack.env["DJANGO_SECRET_KEY"])
    logs = "".join(path.read_text() for path in (checkout / ".smarter" / "logs").iterdir())
    assert "celery" in command_lines()
    assert [secret for secret in secrets if not secret or secret in command_lines() + logs + repr(running_stack)] == []


def test_given_addresses_are_used_and_nothing_is_started_for_them(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    state_dir = tmp_path / "state"
    services = embedded.start_services(checkout / ".smarter")
    monkeypatch.setenv("DATABASE_URL", services.database_url)
    monkeypatch.setenv("BROKER_URL", services.broker_url)
    with state.locked(state_dir):
        prepared = stack.prepare(checkout, state_dir, lambda text: None)
    assert prepared.env["DATABASE_URL"] == services.database_url
    assert prepared.env["BROKER_URL"] == services.broker_url
    assert pids(state_dir) == {}
    assert [found.name for found in stack.status(state_dir)] == list(launch.NAMES)
    # Not even the place for their files is made, and so their packages need not be installed.
    assert state.load(state_dir).home == ""
    assert not state.system_home(state_dir).exists()
