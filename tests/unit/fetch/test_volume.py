"""The `pvc` source: present or not, and never outside the mount."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.fetch.conftest import Outcome

Fetch = Callable[..., Outcome]


@pytest.fixture
def mount(target: Path) -> Path:
    (target / "models" / "qwen").mkdir(parents=True)
    (target / "models" / "qwen" / "config.json").write_text("{}")
    (target / "models" / "empty").mkdir()
    (target / "inside").symlink_to("models/qwen")
    (target / "outside").symlink_to("/etc")
    (target / "loop").symlink_to("loop")
    (target.parent / "secret").mkdir()
    (target / "up").symlink_to("../secret")
    return target


def check(fetch: Fetch, repository: str, *extra: str) -> tuple[int, str | None]:
    outcome = fetch("--source", "pvc", f"--repository={repository}", *extra, hub=False, local=False)
    return outcome.code, outcome.last.get("reason")


def test_what_is_there(fetch: Fetch, mount: Path) -> None:
    assert check(fetch, "models/qwen") == (0, None)
    assert check(fetch, "inside") == (0, None)
    assert check(fetch, "models/qwen", "--file", "config.json") == (0, None)


def test_what_is_not(fetch: Fetch, mount: Path) -> None:
    assert check(fetch, "models/absent") == (4, "not_found")
    assert check(fetch, "models/empty") == (4, "not_found")
    assert check(fetch, "models/qwen", "--file", "absent") == (4, "not_found")
    assert check(fetch, "models/qwen/config.json/x") in ((4, "not_found"), (2, "bad_path"))


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../secret", "models/../../secret", "/etc", "//etc", "./models", "models//qwen", "models/./qwen", ""),
        *("models\\..\\..", "a\x00b", "outside", "outside/passwd", "up", "loop", "models/qwen/", "a" * 300),
    ],
)
def test_paths_that_lead_out(fetch: Fetch, mount: Path, path: str) -> None:
    assert check(fetch, path) == (2, "bad_path")


def test_a_file_that_leads_out(fetch: Fetch, mount: Path) -> None:
    assert check(fetch, "models/qwen", "--file", "../../../secret") == (2, "bad_path")
