"""Documents to the Kubernetes objects that a worker would apply for them, without a server, a cluster or a clock.

`smarter render` prints what this answers; tests of the renderer start here too. Nothing is looked up: node types come
from the documents and from what is built in, secret values from Secret documents or from a placeholder.
"""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from pydantic import SecretStr

from smarter.core.facts import AccountFact, ComputeFact, Environment, Facts, SecretFact
from smarter.core.manifest import ParsedManifest, read_manifests
from smarter.core.objects import KubernetesObject
from smarter.core.problems import Problem, errors_of, warning, warnings_of
from smarter.kinds import KINDS
from smarter.models.sam.base import validate
from smarter.render.namespace import bootstrap

FEATURES = ("cert-manager", "gateway-api", "inference-extension", "keda", "kserve", "kaito")
DEFAULT_ACCOUNT = "1234-5678-9012"
PLACEHOLDER = "placeholder-set-at-launch"
_UIDS = uuid.UUID("7d2a4a44-6d7a-5c5e-9b63-0d7f1c1c0a11")
"""Uids of offline renders derive from names, so that the same documents always give the same objects."""
_SECRET = ("smarter.sh/v1", "Secret")


@dataclass(frozen=True, slots=True)
class Rendered:
    """`objects` is empty where `errors` is not."""

    objects: tuple[KubernetesObject, ...] = ()
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    account_number: str = DEFAULT_ACCOUNT
    environment: Environment = field(default_factory=Environment)
    features: frozenset[str] = frozenset()


def render_body(body: bytes, settings: Settings, computes: Sequence[ComputeFact] = ()) -> Rendered:
    """`computes` are node types from elsewhere; those of the body win over them, and both over the built-in ones."""
    manifests, problems = read_manifests(body, KINDS)
    for parsed in manifests:
        problems = [*problems, *parsed.located(parsed.kind.admit(parsed.model, None))]
    available = _by_name([*built_in_computes(), *computes, *computes_of(manifests)])
    account = AccountFact(settings.account_number, str(uuid.uuid5(_UIDS, settings.account_number)))
    given = {parsed.name: parsed for parsed in manifests if parsed.kind.key == _SECRET}
    objects: list[KubernetesObject] = []
    for parsed in manifests:
        secrets, missing = _secrets(parsed, given)
        facts = Facts(
            account=account,
            uid=str(uuid.uuid5(_UIDS, f"{account.number}/{'/'.join(parsed.kind.key)}/{parsed.name}")),
            environment=settings.environment,
            features=settings.features,
            secrets=secrets,
            computes=available,
        )
        found = parsed.located([*missing, *_checked(parsed, facts)])
        problems = [*problems, *found]
        if not errors_of(problems):
            objects += parsed.kind.render(parsed.model, facts)
    errors = errors_of(problems)
    if objects and not errors:
        objects = [*bootstrap(account, settings.environment), *objects]
    return Rendered(() if errors else tuple(objects), tuple(errors), tuple(warnings_of(problems)))


def _checked(parsed: ParsedManifest, facts: Facts) -> list[Problem]:
    return parsed.kind.check(parsed.model, facts) if parsed.kind.deployable else []


@cache
def built_in_computes() -> tuple[ComputeFact, ...]:
    facts = []
    for kind in KINDS.values():
        for built_in in kind.built_ins:
            model, _ = validate(kind.model, built_in)
            if model is not None and kind.compute_fact is not None:
                facts.append(kind.compute_fact(model))
    return tuple(facts)


def computes_of(manifests: Iterable[ParsedManifest]) -> list[ComputeFact]:
    return [parsed.kind.compute_fact(parsed.model) for parsed in manifests if parsed.kind.compute_fact]


def _by_name(computes: Iterable[ComputeFact]) -> tuple[ComputeFact, ...]:
    named = {compute.name: compute for compute in computes}
    return tuple(named[name] for name in sorted(named))


def _secrets(parsed: ParsedManifest, given: dict[str, ParsedManifest]) -> tuple[dict[str, SecretFact], list[Problem]]:
    facts: dict[str, SecretFact] = {}
    warnings: list[Problem] = []
    for reference in parsed.kind.references(parsed.model):
        if (reference.api_version, reference.kind) != _SECRET:
            continue
        if reference.name not in given:
            words = f"There is no Secret {reference.name!r} in the input; a placeholder stands for its value."
            warnings.append(warning("placeholder", reference.field, words))
        facts[reference.name] = _fact(reference.name, given.get(reference.name))
    for name in parsed.kind.generated_secrets(parsed.model):
        facts[name] = _fact(name, given.get(name))
    return facts, warnings


def _fact(name: str, document: ParsedManifest | None) -> SecretFact:
    value = document.spec["config"]["value"] if document else PLACEHOLDER
    checksum = hashlib.sha256(f"{name}\0{value}".encode()).hexdigest()
    return SecretFact(name, SecretStr(value), checksum)
