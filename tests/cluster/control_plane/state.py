"""What `up` leaves in the state folder for `env`, `status`, `down` and the tests."""

import json
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.cluster.control_plane import processes, versions
from tests.cluster.control_plane.processes import Process

# Clients end first: the server waits for open watches, and keeps its port meanwhile.
STOP_ORDER = ("watcher", "kwok", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
PATIENCE_SECONDS = {"kube-apiserver": 1.5}
KEPT = ("logs", "lock")


@dataclass(frozen=True)
class State:
    version: str
    server: str
    kubeconfig: str
    assets: str
    ready: bool = False
    processes: tuple[Process, ...] = field(default_factory=tuple)

    def with_process(self, process: Process) -> "State":
        return replace(self, processes=(*self.processes, process))


def default_folder() -> Path:
    return versions.cache() / "state"


def load(folder: Path) -> State | None:
    try:
        data = json.loads((folder / "state.json").read_text())
    except FileNotFoundError:
        return None
    return State(**data | {"processes": tuple(Process(**each) for each in data["processes"])})


def save(folder: Path, state: State) -> None:
    partial = folder / "state.json.partial"
    partial.write_text(json.dumps(asdict(state), indent=2) + "\n")
    partial.rename(folder / "state.json")


def dead(state: State) -> list[Process]:
    return [each for each in state.processes if not processes.is_alive(each)]


def stop_all(folder: Path, spare_pid: int = 0) -> None:
    """End every process of the state, then remove what they wrote; the logs stay for whoever wants to know why."""
    state = load(folder)
    if state is not None:
        ordered = sorted(state.processes, key=lambda each: STOP_ORDER.index(each.name))
        for process in ordered:
            if process.pid != spare_pid:
                processes.stop(process, PATIENCE_SECONDS.get(process.name, 5.0))
    if not folder.exists():
        return
    for path in folder.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def remove(folder: Path) -> None:
    """The folder of a stopped control plane that nobody will start again there."""
    shutil.rmtree(folder, ignore_errors=True)
