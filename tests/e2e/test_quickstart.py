"""scripts/quickstart from a fresh copy of the checkout: the first host becomes active, and `down` leaves nothing.

Costs about a minute: it installs the packages, and starts the database, the queue, web, worker and beat.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.stack import ROOT, fresh_environment

LIMIT_SECONDS = 400

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("quickstart")]


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str
    seconds: float


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    """The files that git would keep, in a folder that other accounts can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="quickstart-"))
    folder.chmod(0o755)
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    yield folder
    if (folder / ".venv" / "bin" / "smarter").exists():
        smarter(folder, "down")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def first(checkout: Path) -> Run:
    """The first run, for all tests but the one of the real control plane. It stays up; `checkout` ends it."""
    return quickstart(checkout)


def run(folder: Path, *command: str, timeout_seconds: int = LIMIT_SECONDS, state: Path | None = None) -> Run:
    """As a user would at a fresh shell: nothing of the tests' own servers is in the environment."""
    env = fresh_environment("VIRTUAL_ENV", "PYTHONPATH", "QUICKSTART_BEGAN")
    if state:
        env["SMARTER_STATE_DIR"] = str(state)
    begun = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout_seconds)
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - begun)


def quickstart(folder: Path, *arguments: str, state: Path | None = None) -> Run:
    done = run(folder, str(folder / "scripts" / "quickstart"), *arguments, state=state)
    sys.stdout.write(f"quickstart {' '.join(arguments)}: {done.seconds:.1f} s\n{done.err}")
    assert done.code == 0, done.err + done.out
    return done


def smarter(folder: Path, *arguments: str, state: Path | None = None) -> Run:
    return run(Path("/"), str(folder / ".venv" / "bin" / "smarter"), *arguments, state=state)


def processes_of(folder: Path) -> dict[int, str]:
    """Live processes that were started from this checkout or work in it."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            argv = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            places = [argv, str((entry / "exe").readlink()), str((entry / "cwd").readlink())]
        except OSError:
            continue
        if any(str(folder) in place for place in places):
            found[int(entry.name)] = argv
    return found


def screen(done: Run) -> dict[str, str]:
    return {line[:15].strip(): line[15:].strip() for line in done.out.splitlines() if line.strip()}


def test_one_command_leads_to_an_active_host(checkout: Path, first: Run) -> None:
    shown = screen(first)
    assert shown["Host"].endswith("active")
    assert shown["Endpoint"].startswith("http")
    assert float(shown["Price"].split()[0].removeprefix("$")) > 0
    assert shown["Cost so far"].startswith("$")
    assert shown["Cluster"].startswith("simulated")
    assert shown["Stop"].endswith("smarter down")
    assert smarter(checkout, "status").code == 0


@pytest.mark.tokens
def test_the_host_answers_the_question_that_is_shown(checkout: Path, first: Run, model_server: Path) -> None:
    shown = screen(first)
    assert shown["Host"].startswith("random_words")
    assert shown["Answer"].endswith("(random weights, so random words)")
    answer = run(checkout, "sh", "-c", shown["Try"])
    assert len(json.loads(answer.out)["choices"][0]["text"].split()) == 12
    without_key = run(checkout, "sh", "-c", shown["Try"].replace("Authorization", "X-Nothing"))
    assert json.loads(without_key.out)["error"]["code"] == 401
    key = (checkout / ".smarter" / "random-words.key").read_text()
    assert key not in first.out + first.err + "".join(processes_of(checkout).values())


def test_a_second_run_changes_nothing(checkout: Path, first: Run) -> None:
    before = smarter(checkout, "status").out
    shown = screen(quickstart(checkout))
    assert shown["Host"] == screen(first)["Host"]
    assert shown["API"] == screen(first)["API"]
    assert smarter(checkout, "status").out == before
    assert len(hosts(checkout)) == 1


def test_the_token_is_private_and_shown_nowhere(checkout: Path, first: Run) -> None:
    file = checkout / ".smarter" / "cli.json"
    token = json.loads(file.read_text())["token"]
    logs = "".join(path.read_text(errors="replace") for path in (checkout / ".smarter" / "logs").iterdir())
    arguments = "".join(processes_of(checkout).values())
    assert len(token) > 20
    assert token not in first.out + first.err + logs + arguments
    files = [path for path in (checkout / ".smarter").iterdir() if path.is_file() and path.stat().st_size]
    assert file in files
    assert {path.name: oct(path.stat().st_mode & 0o077) for path in files} == {path.name: "0o0" for path in files}


def test_down_leaves_no_process_and_up_finds_the_data_again(checkout: Path, first: Run) -> None:
    address = screen(first)["API"]
    assert len(processes_of(checkout)) >= 5
    assert smarter(checkout, "down").code == 0
    assert processes_of(checkout) == {}
    assert smarter(checkout, "status").code == 8
    done = smarter(checkout, "up")
    assert done.code == 0, done.err
    assert address in done.out
    assert len(hosts(checkout)) == 1


def hosts(checkout: Path) -> list[Any]:
    found: list[Any] = json.loads(smarter(checkout, "get", "llmhosts", "-o", "json").out)["items"]
    return found


@pytest.mark.control_plane
def test_the_same_on_a_real_control_plane(checkout: Path, first: Run) -> None:
    control_plane = str(checkout / "scripts" / "control_plane")
    if run(checkout, control_plane, "build", timeout_seconds=1800).code == 3:
        pytest.skip("the programs of the control plane are not built and there is no Go 1.26 to build them")
    others = set(processes_of(checkout))
    state = checkout / ".smarter" / "real"
    try:
        shown = screen(quickstart(checkout, "--control-plane", state=state))
        assert shown["Host"].endswith("active")
        assert "control plane" in shown["Cluster"]
        assert shown["API"] != screen(first)["API"]
        env = run(checkout, control_plane, "env", "--state", str(state / "control-plane")).out
        kubectl = "$KUBEBUILDER_ASSETS/kubectl get deployments -A -l app.kubernetes.io/managed-by=smarter -o name"
        assert "deployment.apps/" in run(checkout, "sh", "-c", f"{env.strip()}; {kubectl}").out
        assert len(processes_of(checkout)) > len(others)
    finally:
        assert smarter(checkout, "down", state=state).code == 0
    # What runs in the other state directory goes on.
    assert set(processes_of(checkout)) == others
