"""Weights that a volume of the account already holds. Nothing is brought; the fetch program only looks whether the
model is there, so that a wrong path is told in words and not by a crashing server."""

from typing import Any

from smarter.core.facts import Environment
from smarter.core.plain_words import relative_path_problem
from smarter.core.problems import Problem
from smarter.core.source import MODELS_MOUNT, Fetch, Layout, Source, Weights

_ROOT = "."


def weights(spec: Any, environment: Environment, layout: Layout) -> Weights:
    """The root of the volume, written `.`, needs no look."""
    model = spec.model
    path = _ROOT if model.repository == _ROOT else model.repository.removesuffix("/")
    below, file = (path, model.file) if model.file or not _is_file(path) else _split(path)
    folder = MODELS_MOUNT if below == _ROOT else f"{MODELS_MOUNT}/{below}"
    parts = [part for part in (below, file) if part not in (_ROOT, None)]
    if not parts:
        return Weights(folder)
    args = ["--source", "pvc", "--repository", parts[0]]
    for part in parts[1:]:
        args += ["--file", part]
    return Weights(folder, file, Fetch((*args, "--target", MODELS_MOUNT)))


def _is_file(path: str) -> bool:
    return path.lower().endswith(".gguf")


def _split(path: str) -> tuple[str, str]:
    below, _, file = path.rpartition("/")
    return below or _ROOT, file


def check(spec: Any) -> list[Problem]:
    model, storage = spec.model, spec.storage
    problems = []
    if model.repository != _ROOT:
        problems.append(relative_path_problem(model.repository.removesuffix("/"), "spec.model.repository"))
    if model.file is not None:
        problems.append(relative_path_problem(model.file, "spec.model.file"))
    if not storage.existingClaim:
        words = "Weights on a volume need the name of the PersistentVolumeClaim that holds them."
        problems.append(Problem("existing_claim", "spec.storage.existingClaim", words))
    return [problem for problem in problems if problem]


SOURCE = Source(name="pvc", weights=weights, check=check, brings=False)
