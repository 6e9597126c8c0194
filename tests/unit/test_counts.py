"""What scripts/test claims to have proved is counted right, in one process and over workers."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

def test_c02_once(): pass
def test_c02_again(): pass
def test_c03_fails(): assert False
def test_c03_passes(): pass
@pytest.mark.case("C04", "C05")
def test_other_name(): pass
@pytest.mark.skip
def test_c06_skipped(): pass

@pytest.mark.rule("R1", "passes")
def test_r1(): pass
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.rule("R1", "fails")),
                               pytest.param(2, marks=pytest.mark.rule("R2", "fails"))])
def test_rejects(x): pass

@pytest.mark.failure("OOMKilled", "simulated")
@pytest.mark.failure("OOMKilled", "real")
def test_both(): pass
@pytest.mark.failure("DiskFull", "simulated")
def test_one(): pass
"""
EXPECTED = (
    "cases of public bug reports: 3 by id; rules with a passing and a failing manifest: 1; "
    "failures with a message: 2 (simulated 2, real control plane 1)"
)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_counts_by_id(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  case\n  rule\n  failure\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.counts",
        "-p",
        "no:django",
        "-n",
        workers,
        str(tmp_path),
    ]
    root = Path(__file__).parents[2]
    answer = subprocess.run(
        command,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin"},
    )
    assert EXPECTED in answer.stdout, answer.stdout + answer.stderr
