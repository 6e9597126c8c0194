"""Weights from a bucket that speaks S3: one object, or everything below a prefix.

The keys of the bucket are a token like those of other places, see docs/adr/0005. A region and another endpoint come in
`engine.env`, by the names that Amazon's own programs read.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from smarter.core.facts import Environment
from smarter.core.plain_words import file_problems, relative_path_problem
from smarter.core.problems import Problem, warning
from smarter.core.source import MODELS_MOUNT, Fetch, Layout, Source, Weights, trust_args, weights_key
from smarter.core.web_address import public_host_fault

_PATH = "spec.model.repository"
_BUCKET = re.compile(r"(?!\d+\.\d+\.\d+\.\d+\Z)[a-z0-9](?:[a-z0-9-]|\.(?![.-])|-(?!\.)){1,61}[a-z0-9]", re.ASCII)
_REGION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)
_ENDPOINT = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,253}/?", re.ASCII)
_SCHEME = "s3://"
_ENDPOINT_ENV = "AWS_ENDPOINT_URL"
_REGION_ENVS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def weights(spec: Any, environment: Environment, layout: Layout) -> Weights:
    place, file = _place(spec.model)
    env = _env(spec)
    # The same name in another store is another model.
    where = f"{env.get(_ENDPOINT_ENV, '')}|{place}" if _ENDPOINT_ENV in env else place
    key = weights_key("s3", where, "", file or "")
    folder = f"{MODELS_MOUNT}/{key}"
    args = ["--source", "s3", "--repository", place]
    if file is not None:
        args += ["--file", file]
    fetch = Fetch((*args, "--target", folder, *trust_args(environment)), token_env="S3_KEYS", env=env)
    return Weights(folder, file, fetch, key=key)


def _place(model: Any) -> tuple[str, str | None]:
    """The prefix, and the file below it. A GGUF file may be named whole, as it is one file by nature."""
    place = model.repository.rstrip("/")
    if model.file is None and place.lower().endswith(".gguf"):
        place, _, file = place.rpartition("/")
        return place, file
    return place, model.file


def _env(spec: Any) -> dict[str, str]:
    given = spec.engine.env or {}
    return {name: given[name] for name in sorted(ENV_NAMES) if name in given}


def check(spec: Any) -> list[Problem]:
    model = spec.model
    problems: list[Problem | None] = [_place_problem(model.repository)]
    if model.file is not None:
        problems += file_problems(model.file, "spec.model.file")
    problems += _env_problems(_env(spec))
    account = spec.resources.serviceAccountName if spec.resources else None
    if model.tokenSecret is None and account is None:
        words = "There are no credentials for the bucket, so it must be public. Name a Secret with "
        words += "ACCESS_KEY_ID:SECRET_ACCESS_KEY in model.tokenSecret, or a resources.serviceAccountName with a role."
        problems.append(warning("no_credentials", _PATH, words))
    return [problem for problem in problems if problem]


def _place_problem(repository: str) -> Problem | None:
    bucket, _, prefix = repository.removeprefix(_SCHEME).partition("/")
    if not repository.startswith(_SCHEME) or not _BUCKET.fullmatch(bucket):
        words = "A place in a bucket is written s3://bucket/prefix, for example s3://models/qwen3-8b."
        return Problem("repository", _PATH, words)
    return relative_path_problem(prefix.removesuffix("/"), _PATH) if prefix else None


def _env_problems(env: dict[str, str]) -> list[Problem]:
    problems = []
    for name in _REGION_ENVS:
        if name in env and not _REGION.fullmatch(env[name]):
            words = "A region has lower case letters, digits and hyphens, for example eu-central-1."
            problems.append(Problem("region", f"spec.engine.env.{name}", words))
    if _ENDPOINT_ENV in env and _endpoint_host(env[_ENDPOINT_ENV]) is None:
        words = "The address of an S3 service is written https://host or https://host:port."
        problems.append(Problem("address", f"spec.engine.env.{_ENDPOINT_ENV}", words))
    return problems


def _endpoint_host(address: str) -> str | None:
    if not _ENDPOINT.fullmatch(address):
        return None
    try:
        parts = urlsplit(address)
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        return None


def reach(spec: Any, environment: Environment) -> list[Problem]:
    endpoint = _env(spec).get(_ENDPOINT_ENV)
    host = _endpoint_host(endpoint) if endpoint else None
    if environment.trusted_sources or not endpoint or host is None:
        return []
    words = None if endpoint.startswith("https:") else "Weights come over https only."
    words = words or public_host_fault(host)
    if words is None and urlsplit(endpoint).port not in (None, 443):
        words = "Weights come from port 443 only, the usual one of https."
    return [Problem("address", f"spec.engine.env.{_ENDPOINT_ENV}", words)] if words else []


ENV_NAMES = frozenset({_ENDPOINT_ENV, *_REGION_ENVS})

SOURCE = Source(name="s3", weights=weights, check=check, tokens=True, env_names=ENV_NAMES, reach=reach)
