"""What one document of an apply will do and cost, for its answer. `apply.py` calls it after the document is judged."""

from dataclasses import dataclass
from decimal import Decimal

from smarter.apps.resources.diff import FieldChange, ObjectChanges, field_changes, object_changes
from smarter.apps.resources.drafts import Draft
from smarter.core.cost import HOURS_PER_MONTH, rounded
from smarter.core.facts import Facts
from smarter.core.kind import MemoryVerdict, Placement


@dataclass(frozen=True, slots=True)
class Price:
    """`per_hour` is None where the node type has no price."""

    compute: str
    instance_type: str
    replicas: int
    share: Decimal
    currency: str
    per_hour: Decimal | None

    @property
    def per_month(self) -> Decimal | None:
        return None if self.per_hour is None else rounded(self.per_hour * HOURS_PER_MONTH)


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    fields: list[FieldChange]
    objects: ObjectChanges
    memory: MemoryVerdict | None


def price_of(draft: Draft, facts: Facts | None) -> Price | None:
    placement = draft.kind.placement(draft.parsed.model, facts) if facts else None
    return _price(placement) if placement else None


def _price(placement: Placement) -> Price:
    per_hour = placement.price_per_hour
    return Price(
        compute=placement.compute.name,
        instance_type=placement.compute.instance_type,
        replicas=placement.replicas,
        share=placement.share,
        currency=placement.compute.currency,
        per_hour=None if per_hour is None else rounded(per_hour),
    )


def plan_for(draft: Draft, facts: Facts | None) -> DocumentPlan:
    """`facts` are as after the apply."""
    after = {"metadata": draft.parsed.metadata, "spec": draft.parsed.spec}
    kind, manifest = draft.kind, draft.parsed.model
    fields = field_changes(draft.document_before, after, kind.secret_fields)
    if facts is None:
        return DocumentPlan(fields, ObjectChanges(), None)
    old = kind.render(draft.before, draft.old_facts) if draft.old_facts else []
    return DocumentPlan(fields, object_changes(old, kind.render(manifest, facts)), kind.memory_verdict(manifest, facts))
