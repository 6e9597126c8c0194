"""What an apply answers, as data. `apps/api` turns it into JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from smarter.apps.accounts.store import Action
from smarter.apps.resources.plans import DocumentPlan, Price
from smarter.core.kind import Kind
from smarter.core.problems import Problem


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one document. `reveal` holds values that are shown this once and are nowhere to be read again."""

    document: int
    kind: Kind
    name: str
    uid: str
    action: Action
    generation: int
    resource_version: int
    deployed: bool
    warnings: tuple[Problem, ...]
    price: Price | None = None
    plan: DocumentPlan | None = None
    reveal: Mapping[str, SecretStr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApplyResult:
    dry_run: bool
    outcomes: tuple[Outcome, ...]
    """In the order of the documents as sent."""
