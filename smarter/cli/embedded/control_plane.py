"""A real Kubernetes control plane beside the stack, for `quickstart --control-plane`. It is a program of its own."""

import shlex
import subprocess
import sys
from pathlib import Path

from smarter.core.errors import PermanentError


def up(checkout: Path, state_dir: Path) -> Path:
    """Start it, or attach to the one that runs; returns the kubeconfig. Building it takes minutes the first time, so
    its own progress is shown."""
    started = subprocess.run([*_program(checkout), "up", *_place(state_dir)], check=False)
    if started.returncode != 0:
        raise PermanentError("The Kubernetes control plane did not start.", reason="ControlPlaneFailed")
    shown = subprocess.run(
        [*_program(checkout), "env", *_place(state_dir)], check=True, stdout=subprocess.PIPE, text=True
    )
    values = dict(word.split("=", 1) for word in shlex.split(shown.stdout) if "=" in word)
    return Path(values["KUBECONFIG"])


def down(checkout: Path, state_dir: Path) -> None:
    if _folder(state_dir).exists():
        subprocess.run([*_program(checkout), "down", *_place(state_dir)], check=True, stderr=subprocess.DEVNULL)


def _program(checkout: Path) -> list[str]:
    return [sys.executable, str(checkout / "scripts" / "control_plane")]


def _place(state_dir: Path) -> list[str]:
    return ["--state", str(_folder(state_dir))]


def _folder(state_dir: Path) -> Path:
    return state_dir / "control-plane"
