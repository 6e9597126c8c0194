"""The build without Go, interrupted, and wanted by two at once. A stand-in plays the Go program."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster import harness
from tests.cluster.control_plane import nodes, versions
from tests.cluster.control_plane.versions import ControlPlaneError
from tests.cluster.harness import SCRIPT, UnavailableError, wait_for

GO = """#!/bin/sh
if [ "$1" = mod ]; then
  echo '{{"Dir": "{modules}", "GoMod": "{modules}/go.mod", "Version": "v0.0.0"}}'
  exit 0
fi
echo "$@" >> {calls}
while [ "$1" != -o ]; do shift; done
echo half > "$2"
sleep {seconds}
printf '#!/bin/sh\\nexit 0\\n' > "$2"
chmod +x "$2"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home without a cache and without Go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("SMARTER_GO", "KUBEBUILDER_ASSETS", "K8S_VERSION", "SMARTER_TEST_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "sleep", "chmod", "nice"):
        found = next(Path(folder) / name for folder in ("/bin", "/usr/bin") if (Path(folder) / name).exists())
        (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    return tmp_path


def install_go(machine: Path, seconds: float) -> None:
    modules = machine / "modules"
    for folder in ("config/crd/standard", "deploy/crds", "config/crd/bases"):
        (modules / folder).mkdir(parents=True)
        (modules / folder / "some.yaml").write_text("kind: CustomResourceDefinition\n")
    go = machine / "tools" / "go"
    go.write_text(GO.format(modules=modules, calls=machine / "calls", seconds=seconds))
    go.chmod(0o755)


def start_build() -> "subprocess.Popen[str]":
    command = [sys.executable, str(SCRIPT), "build"]
    # A shell that runs the tests in the background has them ignore SIGINT, and a child would inherit that.
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_listen_to_sigint
    )


def _listen_to_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def built(machine: Path) -> set[str]:
    return {path.name for path in (machine / "cache").rglob("bin/*")}


NAMES = {program.name for program in versions.PROGRAMS}


def test_without_go_the_script_says_how_to_get_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMARTER_GO", str(machine / "no-go"))
    build = start_build()
    _, errors = build.communicate(timeout=20)
    assert build.returncode == harness.EXIT_NO_GO
    assert "https://go.dev/doc/install" in errors
    with pytest.raises(UnavailableError, match=re.escape("https://go.dev/doc/install")):
        harness.acquire(machine / "state", os.getpid())


def test_without_go_the_tests_skip_loudly(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMARTER_GO", str(machine / "no-go"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cluster/test_control_plane.py"]
    result = subprocess.run(command, cwd=SCRIPT.parents[1], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert "0 tests ran on the real control plane" in result.stdout
    assert "TESTS DID NOT RUN ON THE REAL CONTROL PLANE" in result.stdout
    assert "https://go.dev/doc/install" in result.stdout


def test_it_builds_what_is_missing_and_nothing_twice(machine: Path) -> None:
    install_go(machine, seconds=0.05)
    first, second = start_build(), start_build()
    for build in (first, second):
        _, errors = build.communicate(timeout=60)
        assert build.returncode == 0, errors
    assert built(machine) == NAMES
    calls = (machine / "calls").read_text().splitlines()
    assert len(calls) == len(NAMES)
    flags = next(call for call in calls if call.endswith("k8s.io/kubernetes/cmd/kube-apiserver"))
    assert f"version.gitVersion={versions.committed_kubernetes()}" in flags


def test_an_interrupted_build_leaves_no_broken_program_and_no_process(machine: Path) -> None:
    install_go(machine, seconds=30)
    build = start_build()
    wait_for(lambda: any(name.endswith(".partial") for name in built(machine)), "the first build is under way")
    build.send_signal(signal.SIGINT)
    try:
        _, errors = build.communicate(timeout=10)
    finally:
        build.kill()
    assert build.returncode == 130, errors
    assert not built(machine) & NAMES
    time.sleep(0.2)
    commands = subprocess.run(["/bin/ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(machine / "tools" / "go") not in commands


def test_programs_of_kubebuilder_assets_are_taken(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = machine / "assets"
    assets.mkdir()
    for name in versions.ASSET_NAMES:
        (assets / name).write_text("#!/bin/sh\necho Kubernetes v1.36.3\n")
        (assets / name).chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert versions.kubernetes() == "v1.36.3"
    missing = {program.name for program in versions.missing("v1.36.3")}
    assert missing == NAMES - set(versions.ASSET_NAMES)
    monkeypatch.setenv("K8S_VERSION", "1.35.4")
    assert versions.kubernetes() == "v1.35.4"
    monkeypatch.setenv("K8S_VERSION", "latest")
    with pytest.raises(ControlPlaneError, match="latest"):
        versions.kubernetes()


def test_node_counts() -> None:
    assert nodes.parse_counts(["gpu_l4_1x=20"]) == nodes.DEFAULT_COUNTS | {"gpu_l4_1x": 20}
    for wrong in ("gpu_l4_1x", "gpu_l4_1x=many", "gpu_unknown=1"):
        with pytest.raises(ControlPlaneError, match=re.escape(wrong)):
            nodes.parse_counts([wrong])
