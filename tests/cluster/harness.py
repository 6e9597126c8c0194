"""The real control plane for tests: one per test run, started by the first test that asks for it.

Tests get it from the fixture `control_plane` of tests/cluster/report.py.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.control_plane import build, launch, objects, state, versions

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "control_plane"
EXIT_NO_GO = 3
FATE_LABEL = "smarter.sh/test-fate"
DELAY_ANNOTATION = "smarter.sh/test-delay"


class UnavailableError(Exception):
    """There is no control plane on this machine and none can be built; the text says how to get one."""


@dataclass(frozen=True)
class ControlPlane:
    """A running API server. `folder` is None for a cluster that somebody else provides (SMARTER_TEST_KUBECONFIG)."""

    kubeconfig: Path
    kubectl_path: str
    folder: Path | None = None

    @property
    def cache(self) -> Path:
        """kubectl's cache goes by address, and ports come back: one cache for each control plane of ours."""
        folder = self.folder or self.kubeconfig.parent
        return (folder if state.load(folder) else Path(tempfile.gettempdir())) / launch.KUBECTL_CACHE

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output; AssertionError with kubectl's own words when it fails."""
        result = self.try_kubectl(*arguments, stdin=stdin)
        assert result.returncode == 0, f"kubectl {' '.join(arguments)}: {result.stderr.strip()}"
        return result.stdout

    def try_kubectl(self, *arguments: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        command = [self.kubectl_path, "--kubeconfig", str(self.kubeconfig), "--cache-dir", str(self.cache), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)

    def get(self, *arguments: str) -> Any:
        """`kubectl get … -o json`, parsed: an object, or the items when the answer is a list."""
        answer = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return answer["items"] if answer["kind"].endswith("List") else answer

    def apply(self, *documents: dict[str, Any]) -> None:
        """Server-side apply with strict field validation, in one kubectl."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        self.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)

    @contextmanager
    def namespace(self, **labels: str) -> Iterator[str]:
        """A namespace of the caller's own, ready for pods; deleted afterwards, without waiting for its end."""
        name = f"test-{uuid.uuid4().hex[:10]}"
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        self.apply(document)
        try:
            account = ("serviceaccount", "default", "-n", name)
            wait_for(lambda: self.try_kubectl("get", *account).returncode == 0, "the default ServiceAccount")
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false")

    def has_fates(self) -> bool:
        """Whether the label of a fate works: it does on a control plane that scripts/control_plane made."""
        mark = ("configmap", objects.MARK, "-n", "kube-system")
        return self.folder is not None or self.try_kubectl("get", *mark).returncode == 0


def wait_for(check: Callable[[], Any], what: str, timeout_seconds: float = 20.0, pause_seconds: float = 0.4) -> Any:
    """The first true answer of `check`; AssertionError after the timeout."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        answer = check()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not after {timeout_seconds:.0f} s: {what}"
        time.sleep(pause_seconds)


def doom(deployment: dict[str, Any], fate: str, delay: str | None = None) -> dict[str, Any]:
    """A copy of a Deployment whose pods get a fate, e.g. "crash-loop"; `delay` ("3s") for those that take time."""
    changed: dict[str, Any] = json.loads(json.dumps(deployment))
    metadata = changed["spec"]["template"].setdefault("metadata", {})
    metadata.setdefault("labels", {})[FATE_LABEL] = fate
    if delay is not None:
        metadata.setdefault("annotations", {})[DELAY_ANNOTATION] = delay
    return changed


def folder_of_run(owner_pid: int) -> Path:
    """Where the control plane of one test run lives; the same for all its worker processes."""
    return Path(tempfile.gettempdir()) / f"smarter-control-plane-{os.getuid()}-{owner_pid}"


def for_test_run(owner_pid: int) -> ControlPlane:
    """The control plane of this test run; the test is skipped, with the way out, where there can be none."""
    try:
        return acquire(folder_of_run(owner_pid), owner_pid)
    except UnavailableError as error:
        pytest.skip(str(error))


def acquire(folder: Path, owner_pid: int) -> ControlPlane:
    """Attach to the control plane in `folder`, or start it; it stops with the process `owner_pid` at the latest."""
    given = os.environ.get("SMARTER_TEST_KUBECONFIG", "").strip()
    if given:
        return ControlPlane(Path(given), find_kubectl())
    command = [sys.executable, str(SCRIPT), "up", "--state", str(folder), "--stop-with", str(owner_pid)]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode == EXIT_NO_GO:
        raise UnavailableError(result.stderr.strip())
    assert result.returncode == 0, f"the control plane does not start:\n{result.stderr}"
    current = state.load(folder)
    assert current is not None
    return ControlPlane(Path(current.kubeconfig), find_kubectl(), folder)


def find_kubectl() -> str:
    """Ours when it is built, since it fits the server; else the one of the system."""
    path = versions.programs(versions.kubernetes())["kubectl"]
    return str(path) if path.exists() else "kubectl"


def release(folder: Path) -> None:
    """Stop the control plane of a run and remove its folder; nothing happens when there is none."""
    if not folder.exists():
        return
    with build.locked(folder / "lock"):
        state.stop_all(folder)
    state.remove(folder)
