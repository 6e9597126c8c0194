"""A broker that can be taken away, and real Celery processes on it, each in a process group of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis

from smarter.cli.embedded.processes import free_port
from smarter.cli.embedded.programs import find_programs
from tests.faults.rig import CHECKOUT, LEASE_SECONDS, POLL_SECONDS, environment, is_alive, wait_until


@dataclass
class Broker:
    folder: Path
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> "redis.Redis":
        return redis.Redis(port=self.port)

    def start(self) -> None:
        """Empty, as after a loss of everything."""
        program = find_programs(self.folder, None).valkey_server
        command = [
            str(program),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self.folder),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(self.answers, "the broker answers")

    def answers(self) -> bool:
        client = self.client
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
        finally:
            client.close()

    def kill(self) -> None:
        assert self.process is not None and self.process.poll() is None
        self.process.kill()
        self.process.wait()
        assert not self.answers()

    def flush(self) -> None:
        client = self.client
        client.flushall()
        assert client.dbsize() == 0
        client.close()


@dataclass
class CeleryStack:
    broker: Broker
    cluster_file: Path
    folder: Path
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def start(self, name: str) -> None:
        """`worker`, `worker2` or `beat`."""
        arguments = (
            ["beat", "--schedule", str(self.folder / "schedule")]
            if name == "beat"
            else ["worker", "--concurrency", "2", "--without-gossip", "--without-mingle", "-n", f"{name}@test"]
        )
        env = environment(
            BROKER_URL=self.broker.url,
            SMARTER_SIMULATED_CLUSTER_FILE=str(self.cluster_file),
            SMARTER_LEASE_SECONDS=str(LEASE_SECONDS),
            SMARTER_POLL_FAST_SECONDS=str(POLL_SECONDS),
        )
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "smarter.celery", *arguments],
                cwd=CHECKOUT, env=env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def is_alive(self, name: str) -> bool:
        return self.processes[name].poll() is None

    def children(self, name: str) -> list[int]:
        path = Path(f"/proc/{self.processes[name].pid}/task/{self.processes[name].pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def kill_group(self, name: str) -> None:
        process = self.processes.pop(name)
        children = self._descendants(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in children), "the whole group is gone")

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill_group(name)
        if self.broker.process is not None and self.broker.process.poll() is None:
            self.broker.kill()

    def _descendants(self, pid: int) -> Sequence[int]:
        text = Path(f"/proc/{pid}/task/{pid}/children")
        return [int(child) for child in text.read_text().split()] if text.exists() else []
