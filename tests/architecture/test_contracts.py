"""The contracts of pyproject.toml hold, and each one bites: a planted violation is caught."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
RUFF = Path(sys.executable).with_name("ruff")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the program, to plant faults in."""
    ignore = shutil.ignore_patterns("__pycache__", "migrations")
    shutil.copytree(CHECKOUT / "smarter", tmp_path / "smarter", ignore=ignore)
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache"]
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def plant(folder: Path, file: str, line: str) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.read_text() + f"\n{line}\n" if path.exists() else f"{line}\n")


def test_all_contracts_are_kept(checkout: Path) -> None:
    result = lint_imports(checkout)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("smarter/core/plan.py", "import smarter.kinds", "Layers point downwards"),
        ("smarter/render/service.py", "import time", "Pure layers do no input or output"),
        ("smarter/kinds/sam/account.py", "import django", "Pure layers do no input or output"),
        ("smarter/engines/vllm.py", "import smarter.engines.llama_cpp", "Engines are independent of one another"),
        ("smarter/sources/url.py", "import smarter.sources.pvc", "Sources are independent of one another"),
        ("smarter/engines/vllm.py", "import smarter.sources.url", "Layers point downwards"),
        ("smarter/apps/resources/write.py", "import smarter.apps.reconcile.loop", "Apps point downwards"),
        ("smarter/apps/unplaced/__init__.py", "import json", "Apps point downwards"),
        ("smarter/unplaced/__init__.py", "import json", "Layers point downwards"),
        ("smarter/apps/api/views.py", "import kubernetes", "Only one module imports the Kubernetes client"),
        ("smarter/fetch/__main__.py", "import smarter.core.errors", "The fetch program stands alone"),
        ("smarter/cli/client.py", "import smarter.apps.accounts.models", "The command line never reaches"),
    ],
)
def test_a_planted_violation_is_caught(checkout: Path, file: str, line: str, contract: str) -> None:
    plant(checkout, file, line)
    result = lint_imports(checkout)
    assert result.returncode != 0, f"{line} in {file} was not caught"
    broken = [text for text in result.stdout.splitlines() if "BROKEN" in text]
    assert any(contract in text for text in broken) or contract in result.stdout, result.stdout


@pytest.mark.parametrize(
    ("file", "line", "rule"),
    [
        ("smarter/core/plan.py", "from datetime import datetime\nNOW = datetime.now()", "TID251"),
        ("smarter/core/plan.py", "def inner():\n    import json\n    return json", "PLC0415"),
    ],
)
def test_ruff_catches_what_imports_do_not_show(checkout: Path, file: str, line: str, rule: str) -> None:
    plant(checkout, file, line)
    command = [str(RUFF), "check", "--no-cache", "--output-format", "concise", file]
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert rule in result.stdout
