"""A simulated cluster with a process node that the test steps itself, and a small server that stands in for engines."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from smarter.cluster.processes.launch import Programs
from smarter.cluster.processes.node import NodeSettings, ProcessNode
from smarter.cluster.simulated import SimulatedCluster, open_simulated
from smarter.core.objects import POD, KubernetesObject, ObjectRef
from tests.contract.cluster import bodies

SPACE = "space"
COMPUTE = "this_machine"
SERVER = """\
import http.server, os, pathlib, signal, sys, threading, time
mode, port, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
print("begin", mode, os.environ.get("KEY", "no key"), flush=True)
if mode == "fail":
    print("last words", flush=True)
    sys.exit(7)
if mode == "once":
    (folder / "brought").write_text("weights")
    sys.exit(0)
if mode == "stubborn":
    signal.signal(signal.SIGTERM, lambda *_: print("heard", flush=True))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if (folder / "sick").exists() else 200)
        self.end_headers()
        self.wfile.write((folder / "brought").read_bytes() if (folder / "brought").exists() else b"")
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@dataclass(frozen=True)
class Site:
    cluster: SimulatedCluster
    node: ProcessNode
    folder: Path

    def apply(self, name: str, *containers: dict[str, Any], **spec: Any) -> None:
        toleration = {"key": "smarter.sh/compute", "operator": "Exists"}
        selector = {"smarter.sh/compute": COMPUTE}
        pod = bodies.pod_spec(*containers, tolerations=[toleration], nodeSelector=selector, **spec)
        self.cluster.apply(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": SPACE}, "spec": pod}
        )

    def pod(self, name: str) -> KubernetesObject | None:
        return self.cluster.get(ObjectRef(POD, SPACE, name))

    def until(self, check: Callable[[], Any], what: str, seconds: float = 20.0) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            self.node.step()
            answer = check()
            if answer:
                return answer
            assert time.monotonic() < deadline, f"not after {seconds:.0f} s: {what}"
            time.sleep(0.02)

    def until_ready(self, name: str) -> KubernetesObject:
        def ready() -> KubernetesObject | None:
            pod = self.pod(name)
            return pod if pod and bodies.condition(pod, "Ready") == "True" else None

        found: KubernetesObject = self.until(ready, f"{name} is ready")
        return found

    def state(self, name: str, container: str = "main") -> dict[str, Any]:
        pod = self.pod(name) or {}
        status = pod.get("status") or {}
        every = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
        return next((one for one in every if one["name"] == container), {})

    def pid(self, name: str) -> int:
        return int(self.state(name)["containerID"].removeprefix("process://"))

    def logs(self, name: str, container: str = "main", **options: Any) -> str:
        return self.cluster.logs(SPACE, name, container=container, **options)


def server(mode: str, port: int, name: str = "main", **content: Any) -> dict[str, Any]:
    content = {"args": [mode, str(port), "/data"], "ports": [{"name": "http", "containerPort": port}], **content}
    mounts = [{"name": "data", "mountPath": "/data"}]
    return bodies.container(name, command=["/app/engine"], volumeMounts=mounts, **content)


def probe(kind: str = "readinessProbe", **content: Any) -> dict[str, Any]:
    return {kind: {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1, **content}}


DATA = [{"name": "data", "emptyDir": {}}]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    file = tmp_path / "engine"
    file.write_text(f"#!{sys.executable}\n{SERVER}")
    file.chmod(0o755)
    return Programs({"engine": file}, Path(sys.executable), tmp_path)


@pytest.fixture
def site(tmp_path: Path, programs: Programs) -> Iterator[Site]:
    cluster = open_simulated(tmp_path / "cluster.sqlite")
    cluster.apply(bodies.namespace(SPACE))
    node = ProcessNode(cluster, NodeSettings("here", COMPUTE, tmp_path / "node"), programs)
    node.join()
    yield Site(cluster, node, tmp_path / "node")
    node.leave()
    cluster.close()
