"""Starts what the bench measures, and ends it again: the stack of processes as `smarter up` runs it, with a durable
database, and the real control plane of the tests."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from smarter.cli.embedded import processes, services, stack, state
from smarter.cli.embedded.launch import Stack
from tests.bench.client import BenchError, Target
from tests.bench.progress import say

CHECKOUT = Path(__file__).resolve().parents[2]
CONTROL_PLANE = CHECKOUT / "scripts" / "control_plane"
CPU_NODES = 12
"""Room for 6,000 pods."""
EXIT_NO_GO = 3
INSIDE = "import sys, django; django.setup(); from tests.bench.inside import main; main(sys.argv[1:])"
STOP_SECONDS = 20.0
OURS = ("DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE", "DJANGO_SECRET_KEY")


@dataclass(frozen=True)
class Login:
    """One account of Smarter, and the way in."""

    account: str
    target: Target

    @property
    def namespace(self) -> str:
        return f"smarter-{self.account}"


@dataclass
class World:
    stack: Stack
    kubernetes: Target
    kubeconfig: Path

    def inside(self, verb: str, *arguments: str) -> Any:
        """A step with Smarter's own code, in a process of its own; its answer is one line of JSON."""
        done = subprocess.run(
            [sys.executable, "-c", INSIDE, verb, *arguments],
            env={**self.stack.env, "SMARTER_LOG_LEVEL": "WARNING"},
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BenchError(f"the step {verb} failed")
        return json.loads(done.stdout.splitlines()[-1])

    def accounts(self, count: int) -> list[Login]:
        made = self.inside("accounts", str(count))
        return [Login(one["account"], Target("smarter", self.stack.url, one["token"])) for one in made]

    def stop_workers(self) -> None:
        """So that nothing else looks at the cluster."""
        programs = state.load(self.stack.state_dir).programs
        for name in ("beat", "worker"):
            processes.terminate(programs[name].process, signal.SIGTERM, signal.SIGKILL, STOP_SECONDS)


@contextmanager
def running(folder: Path) -> Iterator[World]:
    """Everything, until the end of the block; nothing is left behind."""
    for name in [*OURS, *(name for name in os.environ if name.startswith("SMARTER_"))]:
        os.environ.pop(name, None)
    folder.mkdir(parents=True)
    cluster = folder / "control-plane"
    try:
        say("starting the Kubernetes control plane")
        kubeconfig = _control_plane(cluster)
        made = stack.up(CHECKOUT, folder, say)
        stack.manage(made, "seed_demo", "--login-file", str(folder / "login.json"), "--kubeconfig", str(kubeconfig))
        yield World(made, _target(kubeconfig), kubeconfig)
    finally:
        say("stopping")
        stack.down(folder)
        subprocess.run([sys.executable, str(CONTROL_PLANE), "down", "--state", str(cluster)], check=False)
        services.remove_services(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _control_plane(folder: Path) -> Path:
    command = [sys.executable, str(CONTROL_PLANE), "up", "--state", str(folder), "--stop-with", str(os.getpid())]
    done = subprocess.run([*command, "--nodes", f"cpu={CPU_NODES}"], check=False)
    if done.returncode == EXIT_NO_GO:
        raise BenchError("the bench needs the real control plane, and this machine cannot build it")
    if done.returncode != 0:
        raise BenchError("the control plane did not start")
    return folder / "admin.kubeconfig"


def _target(kubeconfig: Path) -> Target:
    document = yaml.safe_load(kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Target("kubernetes", cluster["server"], document["users"][0]["user"]["token"], authority)
