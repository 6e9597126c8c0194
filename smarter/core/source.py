"""Source: one place that model weights come from, as a record of pure functions.

One file in `smarter/sources/` ends in `SOURCE = Source(...)`. A source answers Weights; engines read Weights and never
know where they came from.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from smarter.core.facts import Environment
from smarter.core.problems import Problem

MODELS_MOUNT = "/models"
REGISTRY_STORE = f"{MODELS_MOUNT}/ollama"
"""The store of the layout `registry`; it may hold several models."""

Layout = Literal["files", "registry"]
"""`files`: one folder holds the model's files. `registry`: a store of blobs and manifests, as Ollama keeps it."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Arguments of `python -m smarter.fetch` that bring the weights, without a secret. `token_env` is the environment
    variable that carries the token, where the source takes one; `env` are further variables, none of them secret."""

    args: tuple[str, ...]
    token_env: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Weights:
    """Where the engine finds the model. `folder` is absolute in the container; `file` is the one weights file below it,
    where the manifest names one."""

    folder: str
    file: str | None = None
    fetch: Fetch | None = None
    """None: nothing is to be brought or looked for."""
    name: str | None = None
    """What a store of the layout `registry` calls the model."""
    key: str = ""
    """Names what is brought: other weights have another key. Empty where nothing is."""

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file}" if self.file else self.folder


def _reaches_anything(_spec: Any, _environment: Environment) -> list[Problem]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    name: str
    weights: Callable[[Any, Environment, Layout], Weights]
    """(spec, what the operator decided, how the engine wants them to lie)."""
    check: Callable[[Any], list[Problem]]
    revisions: bool = False
    """Whether `model.revision` means something here."""
    tokens: bool = False
    """Whether `model.tokenSecret` means something here."""
    brings: bool = True
    """False where the volume holds the model before the host exists: it is mounted for reading only."""
    env_names: frozenset[str] = frozenset()
    """Variables of `engine.env` that are meant for the fetch. `weights` passes them on; the server never sees them."""
    reach: Callable[[Any, Environment], list[Problem]] = _reaches_anything
    """Whether the fetch may talk to the address that the manifest names, which the operator has a say in."""


ARCHIVES = (".tar", ".tar.gz", ".tgz")
"""Ends of the names of archives that a fetch unpacks."""


def weights_key(source: str, repository: str, revision: str, file: str) -> str:
    """The folder name of a model on a volume: the same model is brought once, another one never overwrites it."""
    return hashlib.sha256("\0".join((source, repository, revision, file)).encode()).hexdigest()[:16]


def trust_args(environment: Environment) -> tuple[str, ...]:
    """For a fetch program that may also talk to what is not public."""
    return ("--allow-http", "--allow-private") if environment.trusted_sources else ()


def verification(weights: Weights) -> Weights:
    """The same weights, brought by somebody else: there is only a look whether they are complete."""
    if weights.fetch is None:
        return weights
    return replace(weights, fetch=Fetch((*weights.fetch.args, "--verify")))
