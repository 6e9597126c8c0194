"""A new engine is one file and a word in the schema, a new kind is one file and a schema; nothing else is touched.

A copy of the program gets both and serves them over the API. The copy differs from the original in exactly those files
and in what the generator writes.
"""

import filecmp
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
TOYS = Path(__file__).with_name("adding")
DATABASE = f"adding_{os.getpid()}"

pytestmark = pytest.mark.xdist_group("adding")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(CHECKOUT / "smarter", folder / "smarter", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml", "scripts"):
        source = CHECKOUT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    schema = folder / "smarter/models/sam/schema"
    shutil.copy(TOYS / "toy_engine.py", folder / "smarter/engines/toy.py")
    shutil.copy(TOYS / "toy_kind.py", folder / "smarter/kinds/sam/greeting.py")
    shutil.copy(TOYS / "Greeting.json", schema / "Greeting.json")
    host = schema / "LLMHost.json"
    assert host.read_text().count('"sglang"') == 1
    host.write_text(host.read_text().replace('"sglang"', '"sglang", "toy"'))
    run(folder, ["scripts/generate_models.py"])
    return folder


@pytest.fixture(scope="module")
def database(django_db_blocker: Any) -> Iterator[str]:
    """A database of its own, since the copy migrates it."""
    url = urlsplit(os.environ["DATABASE_URL"])
    admin = urlunsplit(url._replace(scheme="postgresql", path="/postgres"))
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{DATABASE}"')
    yield urlunsplit(url._replace(path=f"/{DATABASE}"))
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{DATABASE}" WITH (FORCE)')


def run(folder: Path, arguments: list[str], **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(folder), "DJANGO_SETTINGS_MODULE": "smarter.settings.test", **environment}
    # -P keeps the script's own folder off the path, so that only the copy is imported.
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def answers(copy: Path, database: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("cluster")
    output = run(copy, [str(TOYS / "use_them.py"), str(folder)], DATABASE_URL=database)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def body(answers: dict[str, Any], name: str) -> Any:
    return json.loads(answers[name]["body"])


def test_nothing_else_was_touched(copy: Path) -> None:
    changed = set()
    for path in (copy / "smarter").rglob("*"):
        original = CHECKOUT / path.relative_to(copy)
        same = original.exists() and (path.is_dir() or filecmp.cmp(path, original, shallow=False))
        if not same and "__pycache__" not in path.parts:
            changed.add(str(path.relative_to(copy / "smarter")))
    by_hand = {
        "engines/toy.py",
        "kinds/sam/greeting.py",
        "models/sam/schema/Greeting.json",
        "models/sam/schema/LLMHost.json",
    }
    generated = {"models/sam/greeting.py", "models/sam/llm_host.py"}
    assert changed == by_hand | generated


def test_no_migration_is_due(copy: Path) -> None:
    run(copy, ["manage.py", "makemigrations", "--check", "--dry-run"])


def test_the_kind_is_applied_read_and_listed(answers: dict[str, Any]) -> None:
    assert answers["greeting"]["status"] == 200, answers["greeting"]
    manifest = body(answers, "read")
    assert manifest["spec"] == {"words": "Hello to everybody"}
    assert body(answers, "list")["total"] == 1
    assert body(answers, "schema")["title"] == "SAMGreeting"
    assert "Greeting" in answers["example"]["body"]
    assert answers["deleted"] in {200, 202}


def test_its_rules_hold(answers: dict[str, Any]) -> None:
    assert answers["refused"]["status"] == 422
    assert [fault["path"] for fault in body(answers, "refused")["errors"]] == ["spec.words"]


def test_it_runs_on_the_cluster(answers: dict[str, Any]) -> None:
    conditions = {one["type"]: one["status"] for one in body(answers, "read")["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert "Hello to everybody" in answers["objects"]["body"]


def test_the_engine_runs_a_host(answers: dict[str, Any]) -> None:
    assert "example.com/toy:1.0" in answers["host"]["body"]
    assert "--weights" in answers["host"]["body"]


def test_the_rules_of_the_engine_hold(answers: dict[str, Any]) -> None:
    assert answers["bad_engine"]["status"] == 422
    assert [fault["path"] for fault in body(answers, "bad_engine")["errors"]] == ["spec.engine.dtype"]
