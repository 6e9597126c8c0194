"""`python -m smarter.cluster.processes`: the node of a simulated cluster that runs pods as processes of this machine.

The embedded supervisor starts it beside web and worker, and tests start it themselves. A second one for the same file
ends at once. SIGTERM ends it and everything that it runs.
"""

import argparse
import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

from smarter.cluster.processes.launch import Programs
from smarter.cluster.processes.node import NodeSettings, ProcessNode
from smarter.cluster.simulated import open_simulated

STEP_SECONDS = 0.05
EXIT_SECOND = 3


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="smarter.cluster.processes", description=__doc__, allow_abbrev=False)
    parser.add_argument("--cluster", required=True, type=Path, help="the file of the simulated cluster")
    parser.add_argument("--folder", required=True, type=Path, help="where volumes and logs are kept")
    parser.add_argument("--name", default="this-machine")
    parser.add_argument("--compute", default="this_machine", help="value of the node's label and taint")
    parser.add_argument("--lease-seconds", type=float, default=40.0)
    parser.add_argument(
        "--program", action="append", default=[], metavar="NAME=PATH", help="what pods may run; repeatable"
    )
    return parser


def main(argv: list[str] | None = None) -> int:
    options = arguments().parse_args(argv)
    os.umask(0o077)
    lock = _lock(options.cluster)
    if lock is None:
        sys.stderr.write(f"another process runs the node of {options.cluster}\n")
        return EXIT_SECOND
    programs = dict(entry.split("=", 1) for entry in options.program)
    checkout = Path(__file__).resolve().parents[3]
    known = Programs({name: Path(path) for name, path in programs.items()}, Path(sys.executable), checkout)
    settings = NodeSettings(options.name, options.compute, options.folder.resolve(), options.lease_seconds)
    node = ProcessNode(open_simulated(options.cluster), settings, known)
    # A flag and no exception: a step is short, and half of one would leave a program that nobody knows of.
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    node.join()
    while not stop.wait(STEP_SECONDS):
        node.step()
    node.leave()
    return 0


def _lock(cluster: Path) -> int | None:
    """Held until the process ends, however it does."""
    cluster.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(cluster.with_name(f"{cluster.name}.node.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


if __name__ == "__main__":
    sys.exit(main())
