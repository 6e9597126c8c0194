"""Kind: everything that Smarter knows about one kind of manifest, as a record of pure functions.

One file (or folder) in `smarter/kinds/` ends in `KIND = Kind(...)`. The API, the command line, the reconciler and the
ledger are generic over this record, so a new kind touches none of them. Optional functions default to "nothing".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel

from smarter.core.conditions import Condition
from smarter.core.facts import ComputeFact, Facts
from smarter.core.naming import SAM_NAMES, NameRule
from smarter.core.objects import KubernetesObject, ObjectKind
from smarter.core.problems import Problem
from smarter.core.question import Question

Role = Literal["viewer", "member", "admin", "platform"]
Manifest = Any
"""An instance of the kind's model; each kind's functions narrow it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A field that names another manifest of the same account (or a built-in of the platform)."""

    field: str
    kind: str
    name: str
    api_version: str = "smarter.sh/v1"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of lists. `path` is dotted from the top of the manifest, e.g. `status.hostStatus`."""

    title: str
    path: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a manifest runs and what that costs: `share` of one node of `compute` for each of `replicas` pods."""

    compute: ComputeFact
    share: Decimal
    replicas: int

    @property
    def price_per_hour(self) -> Decimal | None:
        """Of all replicas, in the compute's currency; None where the node has no price."""
        if self.compute.price_per_hour is None:
            return None
        return self.compute.price_per_hour * self.share * self.replicas


@dataclass(frozen=True, slots=True)
class MemoryVerdict:
    """Whether what a manifest asks for fits the memory of the node that was chosen, for the plan of an apply."""

    verdict: Literal["fits", "tight", "does_not_fit", "unknown"]
    message: str
    needed_bytes: int | None = None
    available_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What the live objects mean. `status` holds the kind's own status fields (camelCase, JSON values); ownership,
    times, money, conditions and generation are added by the reconciler. `in_transition` asks for a look again soon."""

    phase: str
    ready: bool
    in_transition: bool
    message: str = ""
    status: dict[str, Any] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    failed: bool = False
    """This revision will not come up by waiting. The reconciler then puts the last good one back."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The last lines of one container's log, which an observation wants to read."""

    pod: str
    container: str
    lines: int


def _no_references(_manifest: Manifest) -> tuple[Reference, ...]:
    return ()


def _no_secrets(_manifest: Manifest) -> tuple[str, ...]:
    return ()


def _admit_all(_manifest: Manifest, _stored: Manifest | None) -> list[Problem]:
    return []


def _check_nothing(_manifest: Manifest, _facts: Facts) -> list[Problem]:
    return []


def _render_nothing(_manifest: Manifest, _facts: Facts) -> list[KubernetesObject]:
    return []


def _no_placement(_manifest: Manifest, _facts: Facts) -> Placement | None:
    return None


def _no_hostnames(_manifest: Manifest, _facts: Facts) -> tuple[str, ...]:
    return ()


def _no_logs(_manifest: Manifest, _live: Sequence[KubernetesObject]) -> tuple[LogRequest, ...]:
    return ()


def _no_question(_manifest: Manifest, _facts: Facts) -> Question | None:
    return None


def _no_verdict(_manifest: Manifest, _facts: Facts) -> MemoryVerdict | None:
    return None


def _no_pins(_manifest: Manifest, _facts: Facts) -> Mapping[str, str]:
    return {}


def _as_it_was(good: Manifest, _failed: Manifest) -> Manifest | None:
    return good


def _observe_stored(_manifest: Manifest, _facts: Facts, _live: list[KubernetesObject], _now: datetime) -> Observation:
    return Observation(phase="active", ready=True, in_transition=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    api_version: str
    name: str
    plural: str
    """Lower case, as in URLs."""
    model: type[BaseModel]
    summary: str
    example: str
    """A complete YAML document that applies as it is."""
    name_rule: NameRule = SAM_NAMES
    columns: tuple[Column, ...] = ()

    # Who may do what.
    writer: Role = "member"
    """The least role that may apply and delete."""
    shared: bool = False
    """Whether manifests of the platform's own account are readable, and usable by reference, in every account."""
    secret_fields: tuple[str, ...] = ()
    """Dotted paths whose values are never stored in the spec, logged or answered."""

    # Before anything is stored.
    references: Callable[[Manifest], tuple[Reference, ...]] = _no_references
    admit: Callable[[Manifest, Manifest | None], list[Problem]] = _admit_all
    """Rules between fields, and of changes against what is stored. Needs no facts."""
    check: Callable[[Manifest, Facts], list[Problem]] = _check_nothing
    """Rules that need facts: placement, features, referenced values. Run at apply and again before render."""
    placement: Callable[[Manifest, Facts], Placement | None] = _no_placement

    hostnames: Callable[[Manifest, Facts], tuple[str, ...]] = _no_hostnames
    """Host names, lower case, that render would publish; claimed at apply. Each belongs to one resource."""
    memory_verdict: Callable[[Manifest, Facts], MemoryVerdict | None] = _no_verdict

    # For other kinds.
    compute_fact: Callable[[Manifest], ComputeFact] | None = None
    """Set by a kind whose manifests describe a type of node; the answers become `facts.computes` of every kind."""
    built_ins: tuple[dict[str, Any], ...] = ()
    """Manifests (apiVersion, kind, metadata, spec) that the platform's account holds from the start."""

    # On a cluster.
    deployable: bool = False
    object_kinds: tuple[ObjectKind, ...] = ()
    """Every kind of object that render may answer, in the order of creation, without pods."""
    generated_secrets: Callable[[Manifest], tuple[str, ...]] = _no_secrets
    """Names of Secrets that Smarter makes at launch when they do not exist, with a random key as the value."""
    render: Callable[[Manifest, Facts], list[KubernetesObject]] = _render_nothing
    """The objects that should exist, in the order of creation; also for `facts.deployed` False, where a volume may
    remain. Same input, same bytes."""
    logs: Callable[[Manifest, Sequence[KubernetesObject]], tuple[LogRequest, ...]] = _no_logs
    """Which logs to read before `observe`, as `facts.logs`. Only a bounded number is read, and some may fail."""
    observe: Callable[[Manifest, Facts, list[KubernetesObject], datetime], Observation] = _observe_stored
    """Live objects of the resource, pods included, to what they mean."""
    question: Callable[[Manifest, Facts], Question | None] = _no_question
    """What to ask its server once in a while, to see whether it still does its work. None: nothing."""
    phase_field: str = ""
    """The field of the status that repeats the phase, where the kind has one."""
    pins: Callable[[Manifest, Facts], Mapping[str, str]] = _no_pins
    """What this manifest takes from the platform's defaults, resolved. It comes back as `facts.pins` until the next
    launch."""
    restored: Callable[[Manifest, Manifest], Manifest | None] = _as_it_was
    """(the last good manifest, the one that failed) to what runs instead: the good one, with what cannot or must not go
    back. None: nothing can."""

    @property
    def group(self) -> str:
        return self.api_version.partition("/")[0]

    @property
    def key(self) -> tuple[str, str]:
        return (self.api_version, self.name)
