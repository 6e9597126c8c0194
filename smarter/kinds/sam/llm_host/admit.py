"""Rules between the fields of an LLMHost, and of a change against what is stored. They need nothing but the manifest.

The rules of one engine or source stand in its own file; here are those that hold for all of them, by what an engine or
source says about itself.
"""

from collections.abc import Mapping
from typing import Any

from smarter.core.arguments import argument_problems, env_problems
from smarter.core.defaults import filled
from smarter.core.problems import Problem
from smarter.engines import ENGINES
from smarter.kinds.sam.llm_host.host import Host, host_of
from smarter.kinds.sam.llm_host.network_rules import network_problems
from smarter.kinds.sam.llm_host.resource_rules import quantity_problems, resource_problems
from smarter.kinds.sam.llm_host.settings_rules import image_problems, model_problems, settings_problems
from smarter.kinds.sam.llm_host.storage_rules import change_problems, storage_problems
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.sources import SOURCES


def admit(manifest: SAMLLMHost, stored: SAMLLMHost | None) -> list[Problem]:
    problems = unreadable(manifest)
    if problems:
        return problems
    host = host_of(manifest)
    problems = [
        *_support_problems(host),
        *host.source.check(host.spec),
        *host.engine.check(host.spec),
        *argument_problems(host.spec.engine.args or (), host.engine, "spec.engine.args"),
        *env_problems(host.spec.engine.env or {}, host.engine, "spec.engine.env", host.source.env_names),
        *model_problems(host),
        *settings_problems(host),
        *image_problems(host),
        *resource_problems(host),
        *network_problems(host),
        *storage_problems(host),
    ]
    return _told_once(problems + (change_problems(host, stored) if stored is not None else []))


def _told_once(problems: list[Problem]) -> list[Problem]:
    """An engine may say in its own words what a rule for all engines says too."""
    kept: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        kept.setdefault((problem.code, problem.path), problem)
    return list(kept.values())


def unreadable(manifest: SAMLLMHost) -> list[Problem]:
    """What no other rule can be asked without: known engine and source, amounts that are numbers."""
    spec = filled(manifest.spec)
    return [*_registry_problems(spec), *quantity_problems(spec)]


def _registry_problems(spec: Any) -> list[Problem]:
    """The schema names all engines and sources of the vocabulary; not each of them has its file yet."""
    problems = []
    if str(spec.engine.name) not in ENGINES:
        problems.append(_later("spec.engine.name", f"The engine {spec.engine.name}", ENGINES))
    if str(spec.model.source) not in SOURCES:
        problems.append(_later("spec.model.source", f"The source {spec.model.source}", SOURCES))
    return problems


def _later(path: str, what: str, available: Mapping[str, object]) -> Problem:
    return Problem("not_available", path, f"{what} comes in a later release; available: {', '.join(available)}.")


def _support_problems(host: Host) -> list[Problem]:
    engine, model = host.engine, host.spec.model
    problems = []
    if host.source.name not in engine.sources:
        words = f"{engine.name} cannot take its weights from {model.source}; it takes {', '.join(engine.sources)}."
        problems.append(Problem("source", "spec.model.source", words))
    if str(model.task) not in engine.tasks:
        words = f"{engine.name} cannot be used for {model.task}; it serves {', '.join(engine.tasks)}."
        problems.append(Problem("task", "spec.model.task", words))
    if host.api_format not in engine.api_formats:
        words = f"{engine.name} does not speak {host.api_format}; it speaks {', '.join(engine.api_formats)}."
        problems.append(Problem("api_format", "spec.engine.apiFormat", words))
    return problems
