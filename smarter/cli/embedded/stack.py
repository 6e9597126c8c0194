"""Smarter as a whole on one machine: services, migrations, web, worker and beat. Called by `up`, `down`, `status`."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from smarter.cli.embedded import environment, launch, llama_server, processes, services, serving, state
from smarter.cli.embedded.launch import Stack
from smarter.cli.embedded.state import State
from smarter.core.errors import PermanentError

Report = Callable[[str], None]

READY_SECONDS = 180.0  # Generous for a busy machine: a process that ends is told at once.


@dataclass(frozen=True)
class ProcessStatus:
    name: str
    pid: int | None
    address: str


def up(checkout: Path, state_dir: Path, report: Report, port: int = 0) -> Stack:
    """Start what does not run, keep what runs and is up to date, and return when all of it works."""
    with state.locked(state_dir):
        stack = prepare(checkout, state_dir, report, port)
        stack = launch.start_programs(stack)
    wait_ready(stack, report)
    return stack


def prepare(checkout: Path, state_dir: Path, report: Report, port: int = 0) -> Stack:
    """Database, queue, keys and migrations. The caller holds the lock."""
    wanted = environment.wanted_services(os.environ)
    if wanted:
        report(f"Starting {' and '.join(_server_names(wanted))}")
    started = services.start_locked(state_dir, wanted=wanted)
    env = environment.environment_for(checkout, state_dir, started, os.environ)
    current = state.load(state_dir)
    found = llama_server.find() if current.serving else None
    if found:
        env = {**serving.SETTINGS, **env}
        serving.prepare(state_dir, current)
    stack = Stack(checkout, state_dir, env, _web_port(current, port))
    if found:
        models, engine = current.models_port, current.engine_port
        stack = replace(stack, model_server=found.path, models_port=models, engine_port=engine)
    if not _serves_this_code(stack):
        report("Bringing the database up to date")
        manage(stack, "migrate", "--no-input", "--verbosity", "0")
    return stack


def _serves_this_code(stack: Stack) -> bool:
    """A web server of the same code and database that is ready has checked the migrations, which saves some seconds."""
    current = state.load(stack.state_dir)
    return launch.is_current(stack, current, launch.WEB) and readiness(stack) is not None


def _server_names(wanted: frozenset[str]) -> list[str]:
    names = {services.DATABASE: "PostgreSQL", services.QUEUE: "Valkey"}
    return [names[name] for name in sorted(wanted)]


def _web_port(current: State, asked: int) -> int:
    """A running web process keeps its port, unless another one is asked for. 0 is for one that is not known yet."""
    web = current.programs.get(launch.WEB)
    return asked or (current.web_port if web and processes.alive(web.process) else 0)


def manage(stack: Stack, *arguments: str) -> str:
    """Run a management command and return what it printed."""
    done = subprocess.run(
        [sys.executable, str(stack.checkout / "manage.py"), *arguments],
        env=stack.env,
        cwd=stack.checkout,
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PermanentError(f"manage.py {arguments[0]} failed:\n{done.stderr.strip()[-2000:]}", reason="ManageFailed")
    return done.stdout


def wait_ready(stack: Stack, report: Report) -> None:
    """Until the web answers that it is ready, and the worker has done work since it was started."""
    report("Starting web, worker and beat")
    begun = time.monotonic()
    while missing := _missing(readiness(stack), time.monotonic() - begun):
        _fail_if_dead(stack)
        if time.monotonic() - begun > READY_SECONDS:
            where = state.logs(stack.state_dir)
            raise PermanentError(f"After {READY_SECONDS:.0f} s {missing}. The logs are in {where}.", reason="NotReady")
        time.sleep(0.1)


def _missing(answer: dict[str, Any] | None, waited_seconds: float) -> str:
    """What is not ready yet, or nothing. A heartbeat from before the start proves nothing, so it has to be younger than
    the wait."""
    if answer is None:
        return "the web server does not answer that it is ready"
    age = answer.get("workerSecondsSinceWork")
    if isinstance(age, int | float) and age < waited_seconds:
        return ""
    return "no worker has done any work"


def readiness(stack: Stack) -> dict[str, Any] | None:
    """The body of /readyz, or None while it does not say that it is ready. No proxy is asked: it is this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", stack.web_port, timeout=3)
    try:
        connection.request("GET", "/readyz", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return body if answer.status == 200 and isinstance(body, dict) else None


def _fail_if_dead(stack: Stack) -> None:
    for name, program in state.load(stack.state_dir).programs.items():
        if not processes.alive(program.process):
            log = state.logs(stack.state_dir) / f"{name}.log"
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise PermanentError(f"The process {name} ended. Its log, {log}, ends with:\n{tail}", reason="Ended")


def down(state_dir: Path) -> None:
    """End every process of this state directory. Nothing happens where nothing runs."""
    if not state_dir.exists():
        return
    with state.locked(state_dir):
        current = state.load(state_dir)
        for program in current.programs.values():
            if processes.alive(program.process):
                os.kill(program.process.pid, signal.SIGTERM)
        for name in (*launch.NAMES, *launch.SERVING):
            launch.stop_program(state_dir, current, name)
        state.save(state_dir, current)
        services.stop_locked(state_dir)


def status(state_dir: Path) -> list[ProcessStatus]:
    current = state.load(state_dir)
    found = []
    for name, server in (("postgres", current.postgres), ("valkey", current.valkey)):
        if not server.port:
            continue  # Never started here: DATABASE_URL or BROKER_URL names another one.
        record = server.process if processes.alive(server.process) else None
        found.append(ProcessStatus(name, record.pid if record else None, f"127.0.0.1:{server.port}" if record else ""))
    for name in (*launch.NAMES, *(one for one in launch.SERVING if one in current.programs)):
        program = current.programs.get(name)
        running = program is not None and processes.alive(program.process)
        address = f"http://127.0.0.1:{current.web_port}" if running and name == launch.WEB else ""
        found.append(ProcessStatus(name, program.process.pid if program and running else None, address))
    return found
