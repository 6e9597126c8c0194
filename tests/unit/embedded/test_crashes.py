"""What a killed starter, a killed server and the files that they leave behind do to the next start."""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from smarter.cli import embedded
from smarter.cli.embedded import processes, state
from tests.unit.embedded.observing import ask_queue, pids, postmasters, query

pytestmark = pytest.mark.xdist_group("embedded")

CHECKOUT = Path(__file__).parents[3]
START = "import sys, pathlib; from smarter.cli import embedded; embedded.start_services(pathlib.Path(sys.argv[1])); "
DIE = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def run_starter(state_dir: Path, code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, str(state_dir)], cwd=CHECKOUT)


def forget_processes(state_dir: Path) -> None:
    """As if the starter had died between a start and its record."""
    current = state.load(state_dir)
    current.postgres.process = current.valkey.process = None
    state.save(state_dir, current)


@pytest.fixture
def sleeper(account: pwd.struct_passwd) -> Iterator[int]:
    """A live process of the servers' account that is not a server."""
    user = account if os.geteuid() == 0 else None
    process = subprocess.Popen(["/bin/sleep", "60"], cwd="/", **processes.identity_of(user))
    yield process.pid
    process.kill()
    process.wait()


def test_servers_outlive_a_starter_that_is_killed_and_are_attached_to(state_dir: Path) -> None:
    embedded.stop_services(state_dir)
    assert run_starter(state_dir, START + DIE).wait(60) == -signal.SIGKILL
    left = pids(state_dir)
    assert set(left) == {"postgres", "valkey"}
    services = embedded.start_services(state_dir)
    assert pids(state_dir) == left
    assert query(services, "SELECT 1") == [(1,)]
    embedded.stop_services(state_dir)
    assert postmasters(state_dir) == []


def test_a_starter_killed_while_it_starts_leaves_no_lock(state_dir: Path) -> None:
    hold = "import sys, time, pathlib; from smarter.cli.embedded import state\n"
    hold += "with state.locked(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", hold, str(state_dir)], cwd=CHECKOUT, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert query(embedded.start_services(state_dir), "SELECT 1") == [(1,)]


def test_servers_whose_record_was_lost_are_attached_to(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    before = pids(state_dir)
    forget_processes(state_dir)
    assert embedded.start_services(state_dir) == services
    assert pids(state_dir) == before


def test_servers_whose_record_was_lost_are_stopped(state_dir: Path) -> None:
    embedded.start_services(state_dir)
    forget_processes(state_dir)
    embedded.stop_services(state_dir)
    home = Path(state.load(state_dir).home)
    assert postmasters(state_dir) == []
    assert processes.processes_in(home / "valkey" / "data") == []


def test_what_was_committed_survives_killed_servers(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    query(services, "DROP TABLE IF EXISTS work; CREATE TABLE work AS SELECT 7 AS value")
    ask_queue(services, "RPUSH hints a b c")
    before = pids(state_dir)
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    again = embedded.start_services(state_dir)
    assert again == services
    assert set(pids(state_dir).values()).isdisjoint(before.values())
    assert query(again, "SELECT value FROM work") == [(7,)]
    assert ask_queue(again, "LLEN hints") == [":3"]
    assert len(postmasters(state_dir)) == 1


def test_a_pid_file_that_names_a_stranger_is_dropped_and_the_stranger_left_alone(state_dir: Path, sleeper: int) -> None:
    embedded.start_services(state_dir)
    data = Path(state.load(state_dir).home) / "postgres" / "data"
    lines = (data / "postmaster.pid").read_text().splitlines()
    embedded.stop_services(state_dir)
    (data / "postmaster.pid").write_text("\n".join([str(sleeper), *lines[1:]]) + "\n")
    assert query(embedded.start_services(state_dir), "SELECT 1") == [(1,)]
    assert processes.start_time(sleeper) is not None


def test_a_record_that_names_a_stranger_signals_nobody(state_dir: Path, sleeper: int) -> None:
    embedded.start_services(state_dir)
    embedded.stop_services(state_dir)
    current = state.load(state_dir)
    current.postgres.process = processes.ProcessRecord(sleeper, sleeper, "another boot:1")
    current.valkey.process = processes.ProcessRecord(sleeper, sleeper, "another boot:1")
    state.save(state_dir, current)
    embedded.stop_services(state_dir)
    assert processes.start_time(sleeper) is not None
    assert query(embedded.start_services(state_dir), "SELECT 1") == [(1,)]


def test_starters_at_the_same_time_share_one_pair_of_servers(state_dir: Path) -> None:
    embedded.stop_services(state_dir)
    starters = [run_starter(state_dir, START) for _ in range(3)]
    assert [starter.wait(60) for starter in starters] == [0, 0, 0]
    assert len(postmasters(state_dir)) == 1
    assert len(processes.processes_in(Path(state.load(state_dir).home) / "valkey" / "data")) == 1


def test_a_lost_state_file_gets_new_passwords_and_keeps_the_data(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    query(services, "DROP TABLE IF EXISTS lost; CREATE TABLE lost AS SELECT 9 AS value")
    (state_dir / "state.json").unlink()
    again = embedded.start_services(state_dir)
    assert again.database_url != services.database_url
    assert query(again, "SELECT value FROM lost") == [(9,)]
    assert ask_queue(again, "PING") == ["+PONG"]
    assert len(postmasters(state_dir)) == 1


def test_an_interrupted_creation_is_thrown_away(tmp_path: Path) -> None:
    services = None
    try:
        embedded.start_services(tmp_path / "state", fast=True)
        home = Path(state.load(tmp_path / "state").home)
        embedded.stop_services(tmp_path / "state")
        (home / "postgres" / "data").rename(home / "postgres" / "data.partial")
        (home / "postgres" / "data.partial" / "PG_VERSION").unlink()
        services = embedded.start_services(tmp_path / "state", fast=True)
        assert query(services, "SELECT 1") == [(1,)]
    finally:
        embedded.remove_services(tmp_path / "state")
    assert not home.exists()
