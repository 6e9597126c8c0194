"""Each manifest gives exactly these objects. After a change that is meant, `UPDATE_GOLDEN=1 pytest tests/golden` writes
the files anew, and the difference is read by eye before it is committed."""

import os
from pathlib import Path

import pytest

from smarter.cli.render_command import as_yaml
from tests.golden.cases import BOOTSTRAP, CASES, FOLDER, namespace_objects, own_objects, rendered

UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def same(path: Path, text: str) -> None:
    if UPDATE:
        if text:
            path.write_text(text)
        else:
            path.unlink(missing_ok=True)
    assert text == (path.read_text() if path.exists() else "")


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 24


@pytest.mark.parametrize("case", CASES)
def test_objects(case: str) -> None:
    found = rendered(case)
    assert found.errors == ()
    same(FOLDER / case / "objects.yaml", as_yaml(own_objects(found)))


@pytest.mark.parametrize("case", CASES)
def test_warnings(case: str) -> None:
    lines = [f"{problem.path}: {problem.message}\n" for problem in rendered(case).warnings]
    same(FOLDER / case / "warnings.txt", "".join(lines))


def test_namespace() -> None:
    same(BOOTSTRAP, as_yaml(namespace_objects(rendered("vllm_minimal"))))
