"""The Go program and its module cache; used by the build and by the CRDs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.cluster.control_plane.versions import ControlPlaneError, MissingGoError

GO_HELP = (
    "Go is needed to build the test control plane (etcd, kube-apiserver and others, once, about 7 minutes), "
    "and was not found.\n"
    "Get Go 1.26 or newer: https://go.dev/doc/install, or your system's package 'golang', or 'brew install go'.\n"
    "Then run: scripts/control_plane build"
)


def find_go() -> str:
    """SMARTER_GO names the program; otherwise the search path does, or the folder that Go's own installation uses."""
    named = os.environ.get("SMARTER_GO", "").strip()
    go = shutil.which(named) if named else shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        raise MissingGoError(GO_HELP)
    return go


def download(go: str, module: str, version: str, folder: Path | None = None) -> dict[str, str]:
    """What `go mod download -json` says about one module: Dir, GoMod, Version and more."""
    command = [go, "mod", "download", "-json", f"{module}@{version}"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ControlPlaneError(f"{module}@{version} cannot be downloaded: {(result.stdout + result.stderr).strip()}")
    answer: dict[str, str] = json.loads(result.stdout)
    return answer
