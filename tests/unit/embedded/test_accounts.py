"""Which account runs the servers, where their files lie, and that permissions of others' folders stay as they are."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smarter.cli import embedded
from smarter.cli.embedded import programs, state
from tests.unit.embedded.observing import pids, query

CHECKOUT = Path(__file__).parents[3]
pytestmark = pytest.mark.xdist_group("embedded")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give root up")


def owner(pid: int) -> int:
    return (Path("/proc") / str(pid)).stat().st_uid


def test_no_server_runs_as_root(state_dir: Path, account: pwd.struct_passwd) -> None:
    embedded.start_services(state_dir)
    owners = {owner(pid) for pid in pids(state_dir).values()}
    assert owners == {account.pw_uid}
    assert 0 not in owners


@as_root
def test_a_private_folder_stays_private_and_the_data_go_elsewhere(tmp_path: Path) -> None:
    parent = tmp_path / "private"
    parent.mkdir(mode=0o700)
    before = [oct(path.stat().st_mode) for path in (parent, *parent.parents)]
    services = embedded.start_services(parent / "state", fast=True)
    try:
        home = Path(state.load(parent / "state").home)
        assert home.parent == state.SYSTEM_HOME
        assert query(services, "SELECT 1") == [(1,)]
        assert [oct(path.stat().st_mode) for path in (parent, *parent.parents)] == before
    finally:
        embedded.remove_services(parent / "state")
    assert not home.exists()


@as_root
def test_programs_that_the_account_cannot_reach_are_copied(
    tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the virtual environment lies below /root. The real wheels are put into a closed folder."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in (programs.POSTGRES_WHEEL, programs.VALKEY_WHEEL):
        wheel = programs._wheel_folder(name)
        for folder in (wheel, wheel.with_name(f"{name}.libs")):
            if folder.exists():
                shutil.copytree(folder, closed / folder.name, symlinks=True, copy_function=os.link)
    monkeypatch.setattr(programs, "_wheel_folder", lambda name: closed / name)
    embedded.stop_services(state_dir)
    services = embedded.start_services(state_dir)
    assert query(services, "SELECT 1") == [(1,)]
    program = (Path("/proc") / str(pids(state_dir)["postgres"]) / "exe").readlink()
    assert program.is_relative_to(state_dir / "programs")
    assert program.stat().st_uid == 0
    embedded.stop_services(state_dir)


@as_root
def test_data_stay_with_the_account_that_owns_them(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    (tmp_path / "postgres").mkdir()
    os.chown(tmp_path / "postgres", nobody.pw_uid, nobody.pw_gid)
    assert embedded.services._account_for(tmp_path, pwd.getpwnam("root")) == nobody


def python_for_everybody() -> str | None:
    """An interpreter that an unprivileged account can start; the one that runs the tests may lie below /root."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        check = "import sys; sys.exit(sys.version_info < (3, 11))"
        try:
            done = subprocess.run([candidate, "-c", check], user="nobody", group="nogroup", extra_groups=[], cwd="/")
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return None


@as_root
def test_an_ordinary_user_starts_and_stops_both(tmp_path_factory: pytest.TempPathFactory) -> None:
    python = python_for_everybody()
    if python is None or not programs.can_enter(CHECKOUT, pwd.getpwnam("nobody")):
        pytest.skip("no Python 3.11, or no checkout, that an unprivileged account can use")
    folder = Path("/tmp") / f"embedded-nobody-{os.getpid()}"
    folder.mkdir(mode=0o700)
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    wheels = Path(next(iter(programs._wheel_folder(programs.VALKEY_WHEEL).parents)))
    code = """if True:
        import os, pathlib
        from smarter.cli import embedded
        from smarter.cli.embedded import state
        assert os.geteuid() != 0
        folder = pathlib.Path(os.environ["FOLDER"])
        first = embedded.start_services(folder / "state")
        assert embedded.start_services(folder / "state") == first
        current = state.load(folder / "state")
        print({os.stat(f"/proc/{server.process.pid}").st_uid for server in (current.postgres, current.valkey)})
        embedded.stop_services(folder / "state")
        print(oct((folder / "state").stat().st_mode & 0o777), current.home == str(folder / "state"))
    """
    env = {"PYTHONPATH": f"{CHECKOUT}:{wheels}", "FOLDER": str(folder), "PATH": os.environ["PATH"]}
    try:
        done = subprocess.run(
            [python, "-c", code], env=env, cwd="/", user="nobody", group="nogroup", extra_groups=[],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [f"{{{nobody.pw_uid}}}", "0o700 True"]
    finally:
        shutil.rmtree(folder)
