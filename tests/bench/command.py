"""The command line of scripts/bench: runs all measurements, prints one table, stores and compares."""

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smarter.core.errors import PermanentError
from tests.bench import burst, figures, follow, latency, passes
from tests.bench.client import BenchError
from tests.bench.figures import Row
from tests.bench.progress import say
from tests.bench.world import CHECKOUT, World, running

PARTS = ("latency", "statements", "burst", "follow", "observe")


@dataclass(frozen=True)
class Sizes:
    rounds: int = 5
    requests: int = 60
    burst_rounds: int = 3
    burst_hosts: int = 200
    follow_hosts: int = 100
    pods: tuple[int, ...] = (1250, 2500, 5000)


QUICK = Sizes(rounds=2, requests=20, burst_rounds=1, burst_hosts=50, follow_hosts=15, pods=(250, 500))


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    older = json.loads(options.compare.read_text()) if options.compare else None
    folder = CHECKOUT / ".smarter" / "bench"
    began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    try:
        sizes = QUICK if options.quick else Sizes()
        rows, whole = _run(folder / f"run-{os.getpid()}", sizes, options.part or PARTS)
    except (BenchError, PermanentError) as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(figures.table(rows) + "\n")
    file = options.json or folder / f"{began}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {"began": began, "quick": options.quick, "machine": _machine(), "rows": figures.as_json(rows)}
    file.write_text(json.dumps(document, indent=1) + "\n")
    say(f"stored in {file}")
    if older:
        sys.stdout.write(f"\nAgainst {options.compare}:\n{figures.comparison(rows, older['rows'])}\n")
    return 0 if whole else 1


def _interrupt(_number: int, _frame: object) -> None:
    """SIGTERM stops everything that was started, as Ctrl-C does."""
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure Smarter beside raw Kubernetes on this machine. See docs/benchmarks.md."
    )
    parser.add_argument("--quick", action="store_true", help="a few minutes; for a look, not for figures to quote")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to store the run")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="an older run to compare with")
    return parser


def _run(folder: Path, sizes: Sizes, parts: Sequence[str]) -> tuple[list[Row], bool]:
    """The rows, and whether every part could be measured. One that could not leaves the others their figures."""
    rows: list[Row] = []
    whole = True
    with running(folder) as world:
        for name, part in _parts(world, sizes).items():
            try:
                rows += part() if name in parts else []
            except (BenchError, OSError) as error:
                say(f"{name} could not be measured: {error}")
                whole = False
    return rows, whole


def _parts(world: World, sizes: Sizes) -> dict[str, Callable[[], list[Row]]]:
    """Observe comes last: it stops the workers and fills the cluster."""
    writer, reader, follower, observed, *bursts = world.accounts(4 + sizes.burst_rounds)
    return {
        "latency": lambda: latency.measure(world, writer, reader, rounds=sizes.rounds, size=sizes.requests),
        "statements": lambda: _statements(world, reader.target.token),
        "burst": lambda: burst.measure(world, bursts, hosts=sizes.burst_hosts),
        "follow": lambda: follow.measure(world, follower, hosts=sizes.follow_hosts),
        "observe": lambda: passes.measure(world, observed, sizes=sizes.pods),
    }


def _statements(world: World, token: str) -> list[Row]:
    say("counting statements")
    file = world.stack.state_dir / "statements.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps({"token": token}))
    counts = world.inside("statements", str(file))
    return [Row(f"statements: {name}", "", count, 1) for name, count in counts.items()]


def _machine() -> dict[str, Any]:
    with Path("/proc/meminfo").open() as file:
        memory = int(file.readline().split()[1]) * 1024
    return {
        "processors": os.cpu_count(),
        "memory": memory,
        "system": platform.platform(),
        "python": platform.python_version(),
        "free_disk": shutil.disk_usage(CHECKOUT).free,
    }
