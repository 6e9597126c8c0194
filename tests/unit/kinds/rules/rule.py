"""What a row of the tables is, the ids that they must cover, and what a manifest of a row is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from smarter.core.problems import Problem
from smarter.models.sam.base import validate
from smarter.models.sam.llm_host import SAMLLMHost
from tests.llm_hosts import KIND, facts, host, secret, spec_with

Spec = dict[str, Any]
Changes = dict[str, Any]

_NUMBERED = {"E": 4, "S": 16, "F": 8, "Q": 8, "G": 12, "C": 4, "N": 7, "R": 6, "X": 17}
FIELD_RULES = tuple(f"M{number}" for number in range(1, 27))
"""Rules of single fields and of whole specs that the vocabulary's first release had, in its order."""
IDS = (*(f"{letter}{number}" for letter, last in _NUMBERED.items() for number in range(1, last + 1)), *FIELD_RULES)

# Where a rule was decided otherwise than it was first written down, and why.
DECIDED: Mapping[str, str] = MappingProxyType(
    {
        "S10": "Only a Hugging Face repository has revisions. Code from elsewhere cannot be pinned: a warning says so.",
        "S13": "Ollama itself knows no tokens and never sees one: the fetch program brings the model.",
        "R3": "The fetch program is the only writer and holds a lock, so replicas may share a volume. A claim of the "
        "account that is not said to be ReadWriteMany gets a warning, since each replica then does the bringing.",
        "N1": "tgi counts as an engine that does not ask for keys, as in the published vocabulary.",
        "X3": "maxConcurrentRequests is C4, a warning: it asks nothing of the server that would make it fail.",
        "M5": "A value in another case is refused with a suggestion. Nothing that was sent is rewritten.",
        "M4": "A warning, as E3: the capability is information for clients, and harms nothing.",
        "M2": "Addresses are https only unless the operator trusts plain ones.",
    }
)


@dataclass(frozen=True, slots=True)
class Rule:
    """`base` with `wrong` breaks the rule, and with `wrong` and then `cure` keeps it; both are dotted paths below spec.
    `secrets` are values that count only while it is broken; `stored` is what the manifest was before, as changes."""

    id: str
    base: Spec
    wrong: Changes
    code: str
    path: str
    cure: Changes
    level: str = "error"
    note: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict)
    stored: Changes | None = None

    @property
    def name(self) -> str:
        return f"{self.id} {self.note}".strip()

    def broken(self) -> list[Problem]:
        return told(self.base, self.wrong, self.secrets, self.stored)

    def kept(self) -> list[Problem]:
        return told(self.base, {**self.wrong, **self.cure}, {}, self.stored)


def told(
    base: Spec, changes: Changes, secrets: Mapping[str, str] = MappingProxyType({}), stored: Changes | None = None
) -> list[Problem]:
    """Everything that an apply would say: of the schema, of the rules between fields, and of those that need facts."""
    document = {
        "apiVersion": "smarter.sh/v1",
        "kind": "LLMHost",
        "metadata": {"name": "case_host"},
        "spec": spec_with(base, changes),
    }
    manifest, faults = validate(SAMLLMHost, document)
    if manifest is None:
        return [Problem(fault.code, ".".join(map(str, fault.path)), fault.message) for fault in faults]
    known = facts(manifest)
    values = {name: secret(name, secrets.get(name, "the-value")) for name in known.secrets}
    before = None if stored is None else host(stored, base)
    return [*KIND.admit(manifest, before), *KIND.check(manifest, facts(manifest, secrets=values))]
