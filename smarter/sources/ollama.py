"""Weights from Ollama's registry, brought once into a store that Ollama's own server reads.

The store's layout is the only one: no other engine knows what to do with it, and the rules say so by `engine.sources`.
"""

import re
from typing import Any

from smarter.core.facts import Environment
from smarter.core.problems import Problem
from smarter.core.source import REGISTRY_STORE, Fetch, Layout, Source, Weights, trust_args, weights_key

_PATH = "spec.model.repository"
_MODEL = re.compile(r"(?:(?P<space>\w[\w.-]{0,79})/)?(?P<name>\w[\w.-]{0,79})(?::(?P<tag>\w[\w.-]{0,79}))?", re.ASCII)
_DEFAULT_TAG = "latest"
_REGISTRY = Environment().registry_url


def weights(spec: Any, environment: Environment, layout: Layout) -> Weights:
    repository = spec.model.repository
    name = repository if ":" in repository else f"{repository}:{_DEFAULT_TAG}"
    args = ["--source", "ollama", "--repository", name, "--target", REGISTRY_STORE]
    if environment.registry_url != _REGISTRY:
        args += ["--registry-url", environment.registry_url]
    fetch = Fetch((*args, *trust_args(environment)))
    return Weights(REGISTRY_STORE, fetch=fetch, name=name, key=weights_key("registry", name, "", ""))


def check(spec: Any) -> list[Problem]:
    model = spec.model
    problems = []
    match = _MODEL.fullmatch(model.repository)
    if match is None or ".." in model.repository:
        words = "A model of Ollama's registry is written name:tag or owner/name:tag, for example llama3.1:8b."
        problems.append(Problem("repository", _PATH, words))
    elif (match["tag"] or "").lower().endswith("cloud"):
        words = "Models with this tag run on the servers of Ollama's maker: requests would leave the cluster."
        problems.append(Problem("cloud_model", _PATH, words))
    if model.file is not None:
        words = "Models of Ollama's registry have no files to choose from. Put the tag into model.repository."
        problems.append(Problem("file", "spec.model.file", words))
    return problems


SOURCE = Source(name="ollama", weights=weights, check=check)
