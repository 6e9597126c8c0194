"""Which programs the control plane consists of, in which versions, and where they are kept."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("kubernetes", "etcd", "kwok")
ASSET_NAMES = ("etcd", "kube-apiserver", "kubectl")


class ControlPlaneError(Exception):
    """The control plane cannot be built or started; the text is for the person at the terminal."""


class MissingGoError(ControlPlaneError):
    """Something must be built and there is no Go; the script exits with 3, tests skip with this text."""


@dataclass(frozen=True)
class Program:
    name: str
    module: str  # folder beside this file
    package: str


PROGRAMS = (
    Program("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Program("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Program("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)


def required_versions(module: str) -> dict[str, str]:
    """The direct requirements of one of the Go modules here: module path to version."""
    text = (HERE / module / "go.mod").read_text()
    lines = [line for line in text.splitlines() if "// indirect" not in line and "=>" not in line]
    return dict(re.findall(r"^(?:require\s+|\t)(\S+)\s+(v\S+)", "\n".join(lines), re.MULTILINE))


def committed_kubernetes() -> str:
    return required_versions("kubernetes")["k8s.io/kubernetes"]


def kubernetes() -> str:
    """K8S_VERSION, else the version of a kube-apiserver in KUBEBUILDER_ASSETS, else the one in the committed module."""
    wanted = os.environ.get("K8S_VERSION", "").strip()
    if wanted:
        wanted = wanted if wanted.startswith("v") else f"v{wanted}"
        if not re.fullmatch(r"v1\.\d+\.\d+", wanted):
            raise ControlPlaneError(f"K8S_VERSION is {wanted!r}; expected something like v1.37.2")
        return wanted
    server = assets().get("kube-apiserver")
    if server is None or server.parent == binaries_of(committed_kubernetes()):
        return committed_kubernetes()
    answer = subprocess.run([server, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"v1\.\d+\.\d+", answer)
    return found.group(0) if found else committed_kubernetes()


def assets() -> dict[str, Path]:
    """The programs that KUBEBUILDER_ASSETS brings."""
    folder = os.environ.get("KUBEBUILDER_ASSETS", "").strip()
    if not folder:
        return {}
    return {name: Path(folder) / name for name in ASSET_NAMES if os.access(Path(folder) / name, os.X_OK)}


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(base) if base else Path.home() / ".cache") / "smarter" / "control-plane"


def cache_of(version: str) -> Path:
    etcd = required_versions("etcd")["go.etcd.io/etcd/server/v3"]
    kwok = required_versions("kwok")["sigs.k8s.io/kwok"]
    return cache() / f"{version}-etcd-{etcd}-kwok-{kwok}"


def binaries_of(version: str) -> Path:
    return cache_of(version) / "bin"


def programs(version: str) -> dict[str, Path]:
    """Where each program is, or will be once it is built."""
    built = {program.name: binaries_of(version) / program.name for program in PROGRAMS}
    return built | assets()


def missing(version: str) -> list[Program]:
    found = programs(version)
    return [program for program in PROGRAMS if not os.access(found[program.name], os.X_OK)]
