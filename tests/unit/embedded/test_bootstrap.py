"""scripts/bootstrap in a small checkout of its own, whose one package is a file: no network is needed."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "bootstrap"
WITH_UV = pytest.param("yes", marks=pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a checkout"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPT, folder / "scripts")
    (folder / "pyproject.toml").write_text('[project]\nname = "smarter"\nversion = "7.8.9"\n')
    (folder / "smarter" / "cli").mkdir(parents=True)
    (folder / "smarter" / "cli" / "main.py").write_text(
        "import sys\ndef app(prog_name): print(prog_name, *sys.argv[1:])"
    )
    write_lock(folder, wheel(tmp_path, "1.0"))
    return folder


def wheel(folder: Path, version: str) -> Path:
    path = folder / f"tiny-{version}-py3-none-any.whl"
    info = f"tiny-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", f"version = {version!r}\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"tiny.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


def write_lock(checkout: Path, package: Path, digest: str = "") -> None:
    digest = digest or hashlib.sha256(package.read_bytes()).hexdigest()
    (checkout / "requirements.lock").write_text(f"tiny @ {package.as_uri()} --hash=sha256:{digest}\n")


def bootstrap(checkout: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "scripts" / "bootstrap")],
        env={**os.environ, "PYTHON": sys.executable, **env},
        capture_output=True,
        text=True,
    )


def installed(checkout: Path) -> str:
    code = "import tiny, smarter; print(tiny.version, list(smarter.__path__)[0])"
    command = [str(checkout / ".venv" / "bin" / "python"), "-c", code]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("uv", [WITH_UV, "no"])
def test_it_installs_the_lock_and_the_command(checkout: Path, uv: str) -> None:
    done = bootstrap(checkout, BOOTSTRAP_UV=uv)
    assert done.returncode == 0, done.stderr
    assert installed(checkout) == f"1.0 {checkout / 'smarter'}"
    launcher = [str(checkout / ".venv" / "bin" / "smarter"), "get", "a b"]
    assert subprocess.run(launcher, cwd="/", capture_output=True, text=True).stdout == "smarter get a b\n"


def test_the_project_knows_its_version_and_follows_a_new_one(checkout: Path) -> None:
    command = [str(checkout / ".venv" / "bin" / "python"), "-c"]
    command.append("import importlib.metadata as m; print(m.version('smarter'))")
    bootstrap(checkout)
    assert subprocess.run(command, cwd="/", capture_output=True, text=True).stdout == "7.8.9\n"
    (checkout / "pyproject.toml").write_text('[project]\nname = "smarter"\nversion = "8.0.0"\n')
    bootstrap(checkout)
    assert subprocess.run(command, cwd="/", capture_output=True, text=True).stdout == "8.0.0\n"


def test_a_second_run_installs_nothing(checkout: Path) -> None:
    assert "Installing" in bootstrap(checkout).stderr
    assert bootstrap(checkout).stderr == ""


def test_a_changed_lock_is_installed(checkout: Path, tmp_path: Path) -> None:
    bootstrap(checkout)
    write_lock(checkout, wheel(tmp_path, "2.0"))
    assert bootstrap(checkout).returncode == 0
    assert installed(checkout).startswith("2.0 ")


@pytest.mark.parametrize("uv", [WITH_UV, "no"])
def test_a_package_that_is_not_the_one_of_the_lock_is_refused(checkout: Path, tmp_path: Path, uv: str) -> None:
    write_lock(checkout, tmp_path / "tiny-1.0-py3-none-any.whl", digest="0" * 64)
    first, second = bootstrap(checkout, BOOTSTRAP_UV=uv), bootstrap(checkout, BOOTSTRAP_UV=uv)
    assert first.returncode != 0
    assert second.returncode != 0
    assert "hash" in first.stderr.lower()


def test_a_checkout_that_was_moved_finds_itself_again(checkout: Path) -> None:
    bootstrap(checkout)
    moved = checkout.rename(checkout.with_name("moved"))
    assert bootstrap(moved).returncode == 0
    assert installed(moved) == f"1.0 {moved / 'smarter'}"
    launcher = moved / ".venv" / "bin" / "smarter"
    assert subprocess.run([str(launcher), "up"], capture_output=True, text=True).stdout == "smarter up\n"


def test_an_environment_whose_python_is_gone_is_made_anew(checkout: Path) -> None:
    bootstrap(checkout)
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert bootstrap(checkout).returncode == 0
    assert installed(checkout).startswith("1.0 ")


def test_a_folder_that_is_no_environment_is_left_alone(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "mine").touch()
    done = bootstrap(checkout)
    assert done.returncode == 1
    assert "no virtual environment" in done.stderr
    assert (checkout / ".venv" / "mine").exists()


def fake_python(folder: Path, script: str) -> str:
    """A PATH on which every Python is this script."""
    folder.mkdir()
    for name in ("python", "python3", "python3.11", "python3.12", "python3.13"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_an_old_python_is_told_what_to_do(checkout: Path, tmp_path: Path) -> None:
    path = fake_python(tmp_path / "old", "exit 1")
    done = bootstrap(checkout, PATH=path, PYTHON="")
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_python_without_venv_is_told_what_to_install(checkout: Path, tmp_path: Path) -> None:
    script = f'case "$*" in *ensurepip*) exit 1;; *sys.executable*) echo "$0";; *) exec {sys.executable} "$@";; esac'
    path = fake_python(tmp_path / "bare", script)
    done = bootstrap(checkout, PATH=path, PYTHON="", BOOTSTRAP_UV="no")
    assert done.returncode == 1
    assert "python3-venv" in done.stderr
