"""Workers that tests may kill: processes that look at what is due, as Celery's do, without Celery.

`python -m tests.faults.worker` loads Django once and then makes one worker, by a fork, for each order that it reads: a
line of JSON. It answers with the worker's pid. At the end of its input its workers end too.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - Django reads its settings first
from django.db import connection  # noqa: E402 - as above

from smarter.apps.reconcile import loop  # noqa: E402 - as above
from smarter.apps.reconcile.observe import observe  # noqa: E402 - as above

PAUSE_SECONDS = 0.05
STALL_SECONDS = 600.0
AFTER = {
    "claimed": "claim",
    "gathered": "gather",
    "marked": "_mark_touched",
    "applied": "carry_out",
    "billed": "_record_usage",
    "saved": "save",
}
"""Functions of the loop after which a worker may stop and wait for its end; `saving` is before the last."""


def stall(point: str, mark: Path, seconds: float) -> None:
    """Leaves `mark` behind when the point is reached, and another one when the work goes on."""

    def wait() -> None:
        mark.touch()
        time.sleep(seconds)
        mark.with_suffix(".woken").touch()

    name = "save" if point == "saving" else AFTER[point]
    original: Callable[..., Any] = getattr(loop, name)

    def stalling(*arguments: Any, **named: Any) -> Any:
        if point == "saving":
            wait()
        answer = original(*arguments, **named)
        if point not in {"saving", "claimed"} or (point == "claimed" and answer is not None):
            wait()
        return answer

    setattr(loop, name, stalling)


def work(order: dict[str, Any], parent: int) -> None:
    """`only` is the id of the one resource to look at; such a worker leaves the cluster to others."""
    settings.SMARTER.simulated_cluster_file = Path(order["cluster_file"])
    settings.SMARTER.lease_seconds = order["lease_seconds"]
    only = order.get("only")
    if order.get("stall"):
        stall(order["stall"], Path(order["mark"]), order.get("stall_seconds", STALL_SECONDS))
    connection.ensure_connection()
    while os.getppid() == parent:
        while loop.reconcile(only) is not None:
            pass
        while only is None and observe() is not None:
            pass
        time.sleep(PAUSE_SECONDS)


def main() -> None:
    parent = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    made: list[int] = []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                work(json.loads(line), parent)
            finally:
                os._exit(1)
        made.append(pid)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for pid in made:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
