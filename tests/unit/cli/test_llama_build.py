"""scripts/llama_server on machines that lack things, and on one that has the program already. The build itself takes
minutes; scripts/test does it where it was not done before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smarter.cli.embedded import llama_build, llama_server, random_model

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on its search path, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("LLAMA_SERVER", "CXX", "CI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_without_a_compiler_the_build_says_what_to_install(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert llama_build.main(["build"]) == 3
    assert "apt-get install g++" in capsys.readouterr().err
    assert not llama_server.built_path().exists()


def test_a_step_that_fails_shows_the_end_of_its_log(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(bare / "bin" / "c++", "exit 0")
    program(bare / "bin" / "uv", "echo the index is away; exit 4")
    assert llama_build.main(["build"]) == 1
    told = capsys.readouterr().err
    assert "exit code 4" in told
    assert "the index is away" in told


def test_a_program_that_is_there_is_not_built(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert llama_build.main(["path"]) == 1
    assert llama_build.main(["status"]) == 1
    assert "scripts/llama_server build" in capsys.readouterr().out
    path = program(bare / "bin" / "llama-server", "echo version: 7")
    assert [llama_build.main([word]) for word in ("build", "path", "status")] == [0, 0, 0]
    assert capsys.readouterr().out == f"{path}\n{path} (the search path), version: 7\n"


def test_the_script_needs_no_virtual_environment() -> None:
    command = [sys.executable, "-I", str(ROOT / "scripts" / "llama_server"), "guess"]
    done = subprocess.run(command, env={"PATH": os.defpath, "HOME": "/"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "build | path | status" in done.stderr


def test_the_random_model_is_the_same_each_time_and_whole_tensors_follow_its_table() -> None:
    data = random_model.model()
    assert data == random_model.model(1)
    assert data != random_model.model(2)
    assert data[:4] == b"GGUF"
    assert len(data) % 32 == 0
