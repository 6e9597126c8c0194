"""One file is one entry; a doubled name is refused with both places."""

import importlib
import sys
from pathlib import Path

import pytest

from smarter.core.registry import collect


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "things_for_test"
    (folder / "group").mkdir(parents=True)
    for name in ("__init__", "group/__init__"):
        (folder / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("things_for_test")]:
        del sys.modules[name]


def collected(folder: Path) -> dict:
    importlib.invalidate_caches()
    return collect(importlib.import_module("things_for_test"), "THING", lambda thing: thing)


def test_files_and_folders_register_by_existing(package: Path) -> None:
    (package / "b.py").write_text("THING = 'b'")
    (package / "group" / "a.py").write_text("THING = 'a'")
    (package / "other.py").write_text("SOMETHING = 1")
    assert collected(package) == {"b": "b", "a": "a"}


def test_a_doubled_name_names_both_files(package: Path) -> None:
    (package / "one.py").write_text("THING = 'x'")
    (package / "two.py").write_text("THING = 'x'")
    with pytest.raises(RuntimeError, match=r"things_for_test\.one and in things_for_test\.two"):
        collected(package)


def test_a_broken_file_is_loud(package: Path) -> None:
    (package / "broken.py").write_text("import no_such_module_here")
    with pytest.raises(ModuleNotFoundError):
        collected(package)
