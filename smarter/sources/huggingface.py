"""Weights from a repository on the Hugging Face Hub, brought to the volume once and pinned to a revision there."""

import re
from typing import Any

from smarter.core.facts import Environment
from smarter.core.plain_words import file_problems, word_problem
from smarter.core.problems import Problem
from smarter.core.source import (
    MODELS_MOUNT,
    REGISTRY_STORE,
    Fetch,
    Layout,
    Source,
    Weights,
    trust_args,
    weights_key,
)

_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_DEFAULT_REVISION = "main"
_DEFAULT_QUANTIZATION = "Q4_K_M"
_HUB = Environment().hub_url


def weights(spec: Any, environment: Environment, layout: Layout) -> Weights:
    hub = () if environment.hub_url == _HUB else ("--hub-url", environment.hub_url)
    return {"files": _files, "registry": _store}[layout](spec.model, (*hub, *trust_args(environment)))


def _files(model: Any, more: tuple[str, ...]) -> Weights:
    revision = model.revision or _DEFAULT_REVISION
    key = weights_key("huggingface", model.repository, revision, model.file or "")
    folder = f"{MODELS_MOUNT}/{key}"
    args = ["--source", "huggingface", "--repository", model.repository, "--revision", revision]
    if model.file is not None:
        # A file that is the first part of a set brings the set.
        args += ["--file", model.file]
    return Weights(folder, model.file, Fetch((*args, "--target", folder, *more), token_env="HF_TOKEN"), key=key)


def _store(model: Any, more: tuple[str, ...]) -> Weights:
    """The hub also speaks the registry's protocol, for GGUF repositories; there the file is named by its quantization,
    and no revision is."""
    tag = model.file or _DEFAULT_QUANTIZATION
    args = ("--source", "huggingface", "--layout", "registry", "--repository", model.repository, "--file", tag)
    return Weights(
        REGISTRY_STORE,
        fetch=Fetch((*args, "--target", REGISTRY_STORE, *more), token_env="HF_TOKEN"),
        name=f"hf.co/{model.repository}:{tag}",
        key=weights_key("registry", f"hf.co/{model.repository}", "", tag),
    )


def check(spec: Any) -> list[Problem]:
    model = spec.model
    problems: list[Problem | None] = []
    owner_and_name = model.repository
    if not _REPOSITORY.fullmatch(owner_and_name) or owner_and_name.startswith("-") or ".." in owner_and_name:
        words = "A Hugging Face repository is written owner/name, for example Qwen/Qwen3-8B."
        problems.append(Problem("repository", "spec.model.repository", words))
    if model.file is not None:
        problems += file_problems(model.file, "spec.model.file")
    if model.revision is not None:
        problems.append(word_problem(model.revision, "spec.model.revision"))
    return [problem for problem in problems if problem]


SOURCE = Source(name="huggingface", weights=weights, check=check, revisions=True, tokens=True)
