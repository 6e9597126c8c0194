"""Builds the programs of the control plane from Go modules into the user's cache; called by the command and by `up`."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.control_plane import crds, gomodules, versions
from tests.cluster.control_plane.versions import ControlPlaneError, Program

PROGRESS_SECONDS = 15


def say(text: str) -> None:
    sys.stderr.write(f"control plane: {text}\n")
    sys.stderr.flush()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock ends with the process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that holds {path}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def ensure(version: str) -> dict[str, Path]:
    """Build what is missing; returns the path of every program."""
    if not versions.missing(version) and crds.are_cached(version):
        return versions.programs(version)
    go = gomodules.find_go()
    with locked(versions.cache_of(version) / "lock"):
        absent = versions.missing(version)
        remove_leftovers(version)
        for number, program in enumerate(absent, start=1):
            build(go, program, version, f"{number} of {len(absent)}")
        crds.fill_cache(go, version)
    return versions.programs(version)


def remove_leftovers(version: str) -> None:
    """Files that a build left which was killed; nobody else builds while the lock is held."""
    for path in versions.binaries_of(version).glob(".*.partial"):
        path.unlink()


def build(go: str, program: Program, version: str, position: str) -> None:
    target = versions.binaries_of(version) / program.name
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{program.name}.{os.getpid()}.partial")
    folder = prepare_module(go, program.module, version)
    command = [
        go,
        "build",
        "-mod=mod",
        "-trimpath",
        "-ldflags",
        linker_flags(version),
        "-o",
        str(partial),
        program.package,
    ]
    say(f"{program.name} ({position}): building, log in {folder / 'build.log'}")
    seconds = run_with_progress(command, folder, f"{program.name} ({position})")
    partial.rename(target)
    say(f"{program.name} ({position}): built in {seconds:.0f} s")


def linker_flags(version: str) -> str:
    """Without these the server calls itself v0.0.0-master, and clients that read its version misjudge it."""
    major, minor = version.removeprefix("v").split(".")[:2]
    package = "k8s.io/component-base/version"
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])


def run_with_progress(command: list[str], folder: Path, what: str) -> float:
    """Run in a process group of its own, which an interruption ends; returns the seconds that it took."""
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    started = time.monotonic()
    with (folder / "build.log").open("w") as log:
        process = subprocess.Popen(
            ["nice", "-n", "5", *command], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            while True:
                try:
                    code = process.wait(timeout=PROGRESS_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    say(f"{what}: building, {time.monotonic() - started:.0f} s")
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if code != 0:
        tail = "\n".join((folder / "build.log").read_text().splitlines()[-15:])
        raise ControlPlaneError(f"{what}: go build failed with exit code {code}\n{tail}")
    return time.monotonic() - started


def prepare_module(go: str, module: str, version: str) -> Path:
    """A copy of the Go module in the cache, because `go build -mod=mod` may write to go.mod and go.sum."""
    folder = versions.cache_of(version) / "modules" / module
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(versions.HERE / module, folder)
    if module == "kubernetes" and version != versions.committed_kubernetes():
        (folder / "go.mod").write_text(kubernetes_module(go, version))
        (folder / "go.sum").unlink(missing_ok=True)
    return folder


def kubernetes_module(go: str, version: str) -> str:
    """A go.mod for another Kubernetes version.

    The published module asks for its staging modules at v0.0.0 and replaces them by folders that a dependency does
    not see, so each is replaced by the release that belongs to it (v0.37.2 for v1.37.2).
    """
    published = Path(gomodules.download(go, "k8s.io/kubernetes", version)["GoMod"]).read_text()
    staging = sorted(set(re.findall(r"^\s*(k8s\.io/\S+) v0\.0\.0$", published, re.MULTILINE)))
    language = re.search(r"^go (\S+)$", published, re.MULTILINE)
    release = "v0" + version.removeprefix("v1")
    lines = [
        "module smarter.test/kubernetes",
        f"go {language.group(1) if language else '1.26.0'}",
        f"require k8s.io/kubernetes {version}",
        "replace (",
        *(f"\t{name} => {name} {release}" for name in staging),
        ")",
    ]
    return "\n".join(lines) + "\n"
