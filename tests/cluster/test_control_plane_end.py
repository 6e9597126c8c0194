"""The control plane ends when told to, ends with its owner, and never kills what is not its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.control_plane import processes, state
from tests.cluster.control_plane.processes import Process
from tests.cluster.control_plane.state import State
from tests.cluster.harness import SCRIPT, ControlPlane, wait_for

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    process = processes.start("watcher", SLEEPER, tmp_path)
    yield process
    processes.stop(process, patience_seconds=1)


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def running(folder: Path) -> State:
    current = state.load(folder)
    assert current is not None
    return current


@pytest.mark.control_plane
def test_up_attaches_and_down_leaves_no_process(control_plane: ControlPlane, tmp_path: Path) -> None:
    folder = str(tmp_path / "state")
    assert run("env", "--state", folder).returncode == 1
    assert run("up", "--state", folder).returncode == 0
    first = running(tmp_path / "state")
    assert {process.name for process in first.processes} == set(state.STOP_ORDER) - {"watcher"}
    assert "already running" in run("up", "--state", folder).stderr
    assert running(tmp_path / "state") == first
    assert f"export KUBECONFIG={first.kubeconfig} " in run("env", "--state", folder).stdout

    scheduler = next(process for process in first.processes if process.name == "kube-scheduler")
    processes.stop(scheduler, patience_seconds=0)
    status = run("status", "--state", folder)
    assert status.returncode == 1
    assert "broken" in status.stdout

    assert run("down", "--state", folder).returncode == 0
    assert not [process for process in first.processes if processes.is_alive(process)]
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == sorted(state.KEPT)
    assert run("down", "--state", folder).returncode == 0


@pytest.mark.control_plane
def test_it_stops_when_its_owner_is_gone(control_plane: ControlPlane, tmp_path: Path, sleeper: Process) -> None:
    folder = tmp_path / "state"
    assert run("up", "--state", str(folder), "--stop-with", str(sleeper.pid)).returncode == 0
    started = running(folder).processes
    assert "watcher" in {process.name for process in started}
    processes.stop(sleeper, patience_seconds=0)
    wait_for(lambda: not [process for process in started if processes.is_alive(process)], "all processes gone")
    wait_for(lambda: not folder.exists(), "the folder is gone")


def test_a_recycled_pid_is_spared(tmp_path: Path, sleeper: Process) -> None:
    """state.json names the sleeper's pid with another start time, so the sleeper is a stranger."""
    stranger = Process("kwok", sleeper.pid, "another boot 1")
    state.save(tmp_path, State("v1", "https://127.0.0.1:1", "none", "none", ready=True, processes=(stranger,)))
    state.stop_all(tmp_path)
    assert processes.is_alive(sleeper)
    assert state.load(tmp_path) is None


def test_a_process_of_ours_is_ended(tmp_path: Path, sleeper: Process) -> None:
    state.save(tmp_path, State("v1", "https://127.0.0.1:1", "none", "none", ready=True, processes=(sleeper,)))
    state.stop_all(tmp_path)
    assert not processes.is_alive(sleeper)


def test_a_start_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    """An etcd that ends at once: the error carries its last words."""
    tools = tmp_path / "assets"
    tools.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tools / name).write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo Kubernetes v1.37.2\necho no such luck >&2\nexit 1\n'
        )
        (tools / name).chmod(0o755)
    environment = os.environ | {"KUBEBUILDER_ASSETS": str(tools)}
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "up", "--state", str(tmp_path / "state")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode == 3:
        pytest.skip(result.stderr)
    assert result.returncode == 1
    assert "no such luck" in result.stderr
    assert state.load(tmp_path / "state") is None
