"""Help: every command has it, it is quick to make, and it tells the exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from smarter.cli import exit_codes
from smarter.cli.lazy import LazyCommand
from smarter.cli.main import Commands
from tests.unit.cli.conftest import Run

NAMES = [entry.name for entry in Commands.table]


@pytest.mark.parametrize("entry", Commands.table, ids=NAMES)
def test_each_command_explains_itself(anonymous: Run, entry: LazyCommand) -> None:
    done = anonymous(entry.name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: smarter {entry.name} ")
    assert ("--context" in done.out) == entry.is_client


def test_the_overview_names_every_command_and_exit_code(anonymous: Run) -> None:
    text = anonymous("--help").out
    assert [name for name in NAMES if f"  {name} " not in text] == []
    assert [code for code, meaning in exit_codes.MEANINGS.items() if f"  {code}  {meaning}\n" not in text] == []


def test_the_overview_imports_nothing_large() -> None:
    """Each of these takes longer than the rest together, or reaches into the server."""
    program = (
        "import sys; from smarter.cli.main import app; app(['--help'], standalone_mode=False);"
        "print([name for name in ('httpx', 'rich', 'yaml', 'tenacity', 'pydantic', 'django', 'smarter.kinds',"
        " 'smarter.models') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_unknown_command_is_refused_with_a_suggestion(anonymous: Run) -> None:
    done = anonymous("aply")
    assert done.code == 2
    assert "Did you mean 'apply'" in done.err


def test_no_command_shows_the_overview(anonymous: Run) -> None:
    assert "Exit codes:" in anonymous().err + anonymous().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [("smarter ap", "apply"), ("smarter apply --dr", "--dry-run"), ("smarter get --cont", "--context")],
)
def test_completion_knows_commands_and_options(tmp_path: Path, words: str, expected: str) -> None:
    request = {"_SMARTER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = "from smarter.cli.main import app; app(prog_name='smarter')"
    environment = {**request, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert expected in done.stdout.split(), done.stderr
