"""Web, worker and beat, and where models are served the node and its weights: how each is started, recognised as
current, and ended. Used by stack and the quick start."""

import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from smarter.cli.embedded import environment, processes, serving, state
from smarter.cli.embedded.processes import Command
from smarter.cli.embedded.state import Program, State

WEB = "web"
NAMES = (WEB, "worker", "beat")
NODE, MODELS = "node", "models"
SERVING = (NODE, MODELS)
"""What runs beside those where the simulated cluster has a node that serves models."""
FIRST_PORT = 8000
STOP_SECONDS = 20.0


@dataclass(frozen=True)
class Stack:
    """`env` holds secrets; it is for child processes. `web_port` is 0 as long as nobody has asked for one."""

    checkout: Path
    state_dir: Path
    env: dict[str, str]
    web_port: int
    model_server: Path | None = None
    """The program that the node runs; None: there is no such node."""
    models_port: int = 0
    engine_port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    def __repr__(self) -> str:
        return f"Stack({self.url})"


def start_programs(stack: Stack) -> Stack:
    """Start all side by side, but keep those that run and are up to date. Returns the stack with its port. The caller
    holds the lock."""
    current = state.load(stack.state_dir)
    if not is_current(stack, current, WEB):
        stack = _start_web(stack, current)
    wanted = NAMES + (SERVING if stack.model_server else ())
    for name in (*NAMES[1:], *SERVING):
        if name not in wanted or not is_current(stack, current, name):
            stop_program(stack.state_dir, current, name)
            if name in wanted:
                _start(stack, current, name, _arguments(stack, name))
    state.save(stack.state_dir, current)
    return stack


def is_current(stack: Stack, current: State, name: str) -> bool:
    """Whether the process runs, from the code and settings of now."""
    known = current.programs.get(name)
    return known is not None and processes.alive(known.process) and known.fingerprint == _mark(stack, name)


def _mark(stack: Stack, name: str) -> str:
    place = [str(stack.web_port)] if name == WEB else []
    return environment.fingerprint([*_arguments(stack, name), *place], stack.env, stack.checkout / "smarter")


def _start_web(stack: Stack, current: State) -> Stack:
    """The port is taken here and handed over open, so that nobody can take it while the server loads."""
    stop_program(stack.state_dir, current, WEB)
    wanted, fixed = stack.web_port or current.web_port or FIRST_PORT, stack.web_port != 0
    with processes.listen(wanted, fixed=fixed) as listener:
        current.web_port = listener.getsockname()[1]
        stack = replace(stack, web_port=current.web_port)
        descriptor = listener.fileno()
        _start(stack, current, WEB, [*_arguments(stack, WEB), "--bind", f"fd://{descriptor}"], (descriptor,))
    return stack


def _start(stack: Stack, current: State, name: str, argv: list[str], descriptors: tuple[int, ...] = ()) -> None:
    log = state.logs(stack.state_dir) / f"{name}.log"
    folder = run_folder(stack.state_dir, name)
    folder.mkdir(parents=True, exist_ok=True)
    record = processes.spawn(Command(argv, log, stack.env, folder, descriptors=descriptors))
    current.programs[name] = Program(record, _mark(stack, name))
    state.save(stack.state_dir, current)


def _arguments(stack: Stack, name: str) -> list[str]:
    if name in SERVING:
        return serving.arguments(stack.state_dir, name == NODE, stack.model_server, stack.models_port)
    celery = [sys.executable, "-m", "celery", "-A", "smarter.celery"]
    if name == WEB:
        # Threads, because requests wait for the database. Loaded once before the fork: half the time and memory, and a
        # fault of the code ends the server at once. Workers are replaced now and then against slow leaks.
        return [
            sys.executable, "-m", "gunicorn", "smarter.wsgi:application",
            "--preload", "--worker-class", "gthread", "--workers", "2", "--threads", "8",
            "--max-requests", "10000", "--max-requests-jitter", "1000",
        ]  # fmt: skip
    if name == "worker":
        # So many that a pass over a large cluster, or a cluster that is slow to answer, does not hold up half the work.
        return [*celery, "worker", "--concurrency", "4", "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    return [*celery, "beat", "--loglevel", "INFO", "--schedule", "schedule"]


def run_folder(state_dir: Path, name: str) -> Path:
    return state_dir.resolve() / "run" / name


def stop_program(state_dir: Path, current: State, name: str) -> None:
    """Also one whose starter was killed before it could write the record: its working folder gives it away."""
    known = current.programs.pop(name, None)
    if known:
        processes.terminate(known.process, signal.SIGTERM, signal.SIGKILL, STOP_SECONDS)
    for pid in processes.processes_in(run_folder(state_dir, name)):
        record = processes.adopt(pid)
        if record:
            processes.terminate(record, signal.SIGTERM, signal.SIGKILL, STOP_SECONDS)
