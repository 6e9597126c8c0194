"""Each manifest gives exactly these objects. After a change that is meant, `UPDATE_GOLDEN=1 pytest tests/golden` writes
the files anew, and the difference is read by eye before it is committed."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from smarter.cli.render_command import as_yaml
from smarter.core.problems import errors_of
from smarter.engines import ENGINES
from smarter.sources import SOURCES
from tests.golden.cases import BOOTSTRAP, CASES, FOLDER, namespace_objects, own_objects, rendered
from tests.llm_hosts import BASES, KIND, host

PAIRS = {
    (engine.name, source, task) for engine in ENGINES.values() for source in engine.sources for task in engine.tasks
}
PLACES: dict[str, dict[str, Any]] = {
    "huggingface": {"model.repository": "Qwen/Qwen3-8B"},
    "ollama": {"model.repository": "llama3.1:8b", "model.file": None},
    "s3": {"model.repository": "s3://models/qwen3"},
    "url": {"model.repository": "https://example.com/qwen3.tar.gz"},
    "pvc": {"model.repository": "models/qwen3", "storage.existingClaim": "team-weights"},
}
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def same(path: Path, text: str) -> None:
    if UPDATE:
        if text:
            path.write_text(text)
        else:
            path.unlink(missing_ok=True)
    assert text == (path.read_text() if path.exists() else "")


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60


def test_every_engine_source_and_task_that_go_together_have_a_case() -> None:
    seen = set()
    for case in CASES:
        for document in yaml.safe_load_all((FOLDER / case / "manifest.yaml").read_text()):
            if document["kind"] == "LLMHost":
                model, engine = document["spec"]["model"], document["spec"]["engine"]["name"]
                seen.add((engine, model.get("source") or "huggingface", model.get("task") or "text-generation"))
    assert seen == PAIRS


def test_what_goes_together() -> None:
    """So many as this release has: a change of a record changes this number too."""
    assert len(PAIRS) == 46


@pytest.mark.parametrize(
    ("engine", "source", "task"),
    sorted({(e, s, t) for e in ENGINES for s in SOURCES for t in ("text-generation", "embedding")} - PAIRS),
)
def test_everything_else_is_refused(engine: str, source: str, task: str) -> None:
    """Whatever else stands in the manifest; it is as right for the source as it can be."""
    changes = {**PLACES[source], "model.source": source, "model.task": task}
    found = errors_of(KIND.admit(host(changes, BASES[engine]), None))
    assert {problem.path for problem in found} & {"spec.model.source", "spec.model.task"}
    told = " ".join(problem.message for problem in found)
    assert (source in told) or (task in told)


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
