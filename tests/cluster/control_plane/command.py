"""The command line of scripts/control_plane."""

import argparse
import os
import shlex
import signal
import sys
import time
from pathlib import Path

from tests.cluster.control_plane import build, launch, nodes, processes, state, versions
from tests.cluster.control_plane.processes import Process
from tests.cluster.control_plane.state import State
from tests.cluster.control_plane.versions import ControlPlaneError, MissingGoError

EXIT_FAILED = 1
EXIT_NO_GO = 3
DESCRIPTION = "A real Kubernetes control plane with simulated nodes, for tests. See docs/control-plane.md."


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return int(options.run(options))
    except MissingGoError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_NO_GO
    except ControlPlaneError as error:
        sys.stderr.write(f"control plane: {error}\n")
        return EXIT_FAILED
    except KeyboardInterrupt:
        sys.stderr.write("control plane: interrupted\n")
        return 130


def interrupt(_number: int, _frame: object) -> None:
    """SIGTERM ends a build or a start as tidily as Ctrl-C does."""
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="control_plane", description=DESCRIPTION)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    add = commands.add_parser
    add("build", help="build the programs into the cache (about 7 minutes the first time)").set_defaults(run=run_build)
    up = add("up", help="start it, or attach to the one that runs; builds what is missing")
    up.add_argument(
        "--nodes", action="append", default=[], metavar="TYPE=NUMBER", help="how many nodes of a type; repeatable"
    )
    up.add_argument(
        "--stop-with", type=int, metavar="PID", help="stop when the process PID is gone, and remove the state folder"
    )
    up.set_defaults(run=run_up)
    down = add("down", help="stop it")
    down.set_defaults(run=run_down)
    env = add("env", help="print the environment of the running one for the shell")
    env.set_defaults(run=run_env)
    status = add("status", help="say whether it runs; exit code 1 when it does not")
    status.set_defaults(run=run_status)
    watch = add("watch")
    watch.add_argument("--owner", type=int, required=True)
    watch.add_argument("--owner-started", required=True)
    watch.set_defaults(run=run_watch)
    for each in (up, down, env, status, watch):
        each.add_argument(
            "--state", type=lambda text: Path(text).resolve(), default=state.default_folder(), metavar="DIR"
        )
    return top


def run_build(_options: argparse.Namespace) -> int:
    version = versions.kubernetes()
    build.ensure(version)
    build.say(f"programs for {version} are in {versions.binaries_of(version)}")
    return 0


def run_up(options: argparse.Namespace) -> int:
    counts = nodes.parse_counts(options.nodes)
    version = versions.kubernetes()
    folder: Path = options.state
    with build.locked(folder / "lock"):
        current = state.load(folder)
        if current is not None and current.ready and not state.dead(current):
            build.say(f"already running: {current.server}")
            return 0
        programs = build.ensure(version)
        started = time.monotonic()
        begin(folder, version, programs, counts, options.stop_with)
        build.say(f"ready after {time.monotonic() - started:.1f} s; KUBECONFIG={folder / 'admin.kubeconfig'}")
    return 0


def begin(folder: Path, version: str, programs: dict[str, Path], counts: dict[str, int], owner: int | None) -> State:
    """Start from nothing; what a failed or interrupted start left running is ended before the error goes up."""
    state.stop_all(folder)
    folder.chmod(0o700)
    try:
        current = launch.launch(folder, version, programs, counts)
        return current if owner is None else launch.start_watcher(folder, current, owner)
    except BaseException:
        state.stop_all(folder)
        raise


def run_down(options: argparse.Namespace) -> int:
    if not options.state.exists():
        build.say("not running")
        return 0
    with build.locked(options.state / "lock"):
        was_running = state.load(options.state) is not None
        state.stop_all(options.state)
    build.say("stopped" if was_running else "not running")
    return 0


def run_env(options: argparse.Namespace) -> int:
    """SMARTER_TEST_KUBECONFIG names a cluster that somebody else provides, and goes first."""
    given = os.environ.get("SMARTER_TEST_KUBECONFIG", "").strip()
    if given:
        kubectl = versions.programs(versions.kubernetes())["kubectl"]
        print_environment({"KUBECONFIG": given, "KUBEBUILDER_ASSETS": str(kubectl.parent)})
        return 0
    current = state.load(options.state)
    if current is None or not current.ready or state.dead(current):
        sys.stderr.write("control plane: not running; start it with: scripts/control_plane up\n")
        return EXIT_FAILED
    # kubectl caches what a server offers by address, and the next control plane may get the same port.
    cache = str(options.state / launch.KUBECTL_CACHE)
    values = {"KUBECONFIG": current.kubeconfig, "KUBEBUILDER_ASSETS": current.assets, "KUBECACHEDIR": cache}
    print_environment(values)
    return 0


def print_environment(values: dict[str, str]) -> None:
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
    sys.stdout.write(f"export {assignments}\n")


def run_status(options: argparse.Namespace) -> int:
    current = state.load(options.state)
    if current is None:
        sys.stdout.write("not running\n")
        return EXIT_FAILED
    dead = state.dead(current)
    for process in current.processes:
        sys.stdout.write(f"{process.name:<24} pid {process.pid:<8} {'gone' if process in dead else 'running'}\n")
    healthy = current.ready and not dead
    sys.stdout.write(f"{'running' if healthy else 'broken'}: Kubernetes {current.version} at {current.server}\n")
    return 0 if healthy else EXIT_FAILED


def run_watch(options: argparse.Namespace) -> int:
    """Wait for the owner's end. `down` ends this process first, so it never competes with it."""
    owner = Process("owner", options.owner, options.owner_started)
    while processes.is_alive(owner):
        time.sleep(0.5)
    with build.locked(options.state / "lock"):
        state.stop_all(options.state, spare_pid=os.getpid())
    state.remove(options.state)
    return 0
