"""Real tokens on a machine without a cluster: a node of the simulated cluster that runs model servers as processes, and
a model for it whose weights are random. Used by the stack and the quick start.
"""

import sys
from pathlib import Path

from smarter.cli.embedded import llama_server, processes, random_model, state
from smarter.cli.embedded.state import State

COMPUTE = "this_machine"
MODEL_FILE = f"{random_model.NAME}.gguf"
FIRST_ENGINE_PORT = 8180
SETTINGS = {"SMARTER_TRUSTED_SOURCES": "true"}
"""The demo's weights come over plain HTTP from this machine."""


def arrange(state_dir: Path, *, wanted: bool) -> llama_server.Found | None:
    """Notes whether models are to be served from now on: if that is wanted and there is a server. The caller holds the
    lock."""
    found = llama_server.find() if wanted else None
    current = state.load(state_dir)
    if current.serving != (found is not None):
        current.serving = found is not None
        state.save(state_dir, current)
    return found


def prepare(state_dir: Path, current: State) -> None:
    """The model and the ports. A port is kept unless another program has taken it while ours did not run."""
    folder = models_folder(state_dir)
    folder.mkdir(mode=0o700, exist_ok=True)
    if not (folder / MODEL_FILE).exists():
        random_model.write_model(folder / MODEL_FILE)
    if not _runs(current, "models"):
        current.models_port = processes.free_port(current.models_port)
    if not _runs(current, "node"):
        current.engine_port = processes.free_port(current.engine_port or FIRST_ENGINE_PORT)
    state.save(state_dir, current)


def _runs(current: State, name: str) -> bool:
    program = current.programs.get(name)
    return program is not None and processes.alive(program.process)


def models_folder(state_dir: Path) -> Path:
    return state_dir / "models"


def arguments(state_dir: Path, node: bool, server: Path | None, models_port: int) -> list[str]:
    """Of the node's process, or of the file server with the demo's weights."""
    place = state_dir.resolve()
    if node:
        return [
            sys.executable, "-m", "smarter.cluster.processes",
            "--cluster", str(place / "simulated-cluster.sqlite3"),
            "--folder", str(place / "node"),
            "--compute", COMPUTE,
            "--program", f"{llama_server.PROGRAM}={server}",
        ]  # fmt: skip
    folder = str(models_folder(place))
    return [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", folder, str(models_port)]
