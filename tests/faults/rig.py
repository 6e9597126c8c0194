"""The platform of a fault test: a database that commits, a cluster whose history is written down, workers to kill.

Time is real where workers are processes of their own. Where the test is the only worker it may let time pass by
`elapse`, which moves every clock that Smarter and the cluster go by, and nothing else: what is not due stays so.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import F

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.services import add_member, create_account, create_user
from smarter.apps.clusters.models import AccountNamespace
from smarter.apps.reconcile.loop import reconcile
from smarter.apps.reconcile.models import ClusterWatch
from smarter.apps.reconcile.observe import observe
from smarter.apps.resources.models import Resource, ResourceState
from tests.db.reconcile.world import HOST, World, make_world
from tests.faults.oracle import Oracle

CHECKOUT = Path(__file__).resolve().parents[2]
POLL_SECONDS = 1.0
LEASE_SECONDS = 3.0
MAX_WORK = 200


def database_url() -> str:
    """Of the database that the test runs in, which pytest-django has made."""
    found = connection.settings_dict
    return f"postgres://{found['USER']}:{found['PASSWORD']}@{found['HOST']}:{found['PORT']}/{found['NAME']}"


def environment(**more: str) -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "smarter.settings.test",
        "PYTHONPATH": str(CHECKOUT),
        "SMARTER_LOG_LEVEL": "ERROR",
        **more,
    }


def wait_until(check: Callable[[], Any], what: str, seconds: float = 30.0) -> float:
    """Seconds until `check` was true."""
    begun = time.monotonic()
    while not check():
        assert time.monotonic() - begun < seconds, f"not after {seconds:.0f} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - begun


class Nursery:
    """Makes workers that may be killed; see worker.py."""

    def __init__(self, log: Path) -> None:
        with log.open("wb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.worker"],
                cwd=CHECKOUT,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
            )
        self._answer()

    def worker(self, cluster_file: Path, **order: Any) -> int:
        """Its pid."""
        assert self._process.stdin is not None
        line = {"cluster_file": str(cluster_file), "lease_seconds": LEASE_SECONDS, **order}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def kill(pids: Sequence[int]) -> None:
    """-9, and the proof that each was alive before and is gone after."""
    assert all(is_alive(pid) for pid in pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "the killed are gone")


@dataclass
class Rig(World):
    oracle: Oracle
    folder: Path
    nursery: Nursery | None = None
    pids: list[int] = field(default_factory=list)

    @property
    def cluster_file(self) -> Path:
        return self.sim.path

    def worker(self, **order: Any) -> int:
        assert self.nursery is not None
        pid = self.nursery.worker(self.cluster_file, **order)
        self.pids.append(pid)
        return pid

    def tenant(self, name: str) -> World:
        """Another account with a world of its own on the same cluster."""
        account = create_account(name, f"{name} Ltd")
        user = create_user(f"user_{name}", f"{name}@example.com", home_account=account)
        add_member(account, user, "admin")
        return World(Actor(user, account, "admin"), self.cluster, self.sim)

    def stop_workers(self) -> None:
        alive = [pid for pid in self.pids if is_alive(pid)]
        if alive:
            for pid in alive:
                os.kill(pid, signal.SIGCONT)
            kill(alive)
        self.pids.clear()

    def elapse(self, seconds: float) -> None:
        """Time passes for Smarter and on the cluster."""
        step = timedelta(seconds=seconds)
        ResourceState.objects.update(next_check_at=F("next_check_at") - step, lease_until=F("lease_until") - step)
        ClusterWatch.objects.update(
            next_observe_at=F("next_observe_at") - step,
            lease_until=F("lease_until") - step,
            info_at=F("info_at") - step,
            observed_at=F("observed_at") - step,
        )
        AccountNamespace.all_accounts.update(checked_at=F("checked_at") - step)
        self.sim.pass_time(seconds)

    def work(self) -> None:
        """Whatever is due now is done, once."""
        for _ in range(MAX_WORK):
            if reconcile() is None and observe() is None:
                return
        raise AssertionError("the work does not come to an end")

    def poll(self, times: int = 1) -> None:
        for _ in range(times):
            self.elapse(POLL_SECONDS)
            self.work()

    def polls_until(self, check: Callable[[], Any], what: str, limit: int = 60) -> int:
        """How many polls it took."""
        for count in range(limit):
            if check():
                return count
            self.poll()
        raise AssertionError(f"not after {limit} polls: {what}")

    def is_active(self, name: str = "a") -> bool:
        state = self.host(name).state
        return state.phase == "active" and state.ready and self.current(name)

    def until_active(self, name: str = "a", limit: int = 60) -> int:
        return self.polls_until(lambda: self.is_active(name), f"{name} is active", limit)


def make_rig(folder: Path) -> Rig:
    made = make_world(folder)
    oracle = Oracle(folder / "cluster.sqlite3")
    return Rig(made.actor, made.cluster, made.sim, oracle, folder)


def applied(world: World, name: str = "a") -> bool:
    """Whether the last generation of a host has been applied and its status saved."""
    return ResourceState.objects.filter(
        resource__account=world.actor.account,
        resource__name=name,
        observed_generation=F("resource__generation"),
        lease_until=None,
        fail_count=0,
    ).exists()


def deploy(world: World, name: str = "a", text: str = HOST) -> Resource:
    world.apply(text.format(name=name))
    return world.host(name)
