"""The documents of one apply on their way to the database: what is stored, what they refer to, what is wrong.

`apply.py` calls `prepare` and then `judge`, with the account locked; nothing here writes. Documents of one body may
refer to one another, so what is in the body counts as there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.db.models import Q

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import check_version
from smarter.apps.clusters.models import Cluster
from smarter.apps.clusters.services import choose
from smarter.apps.resources.facts import build_facts, computes_for, stand_ins
from smarter.apps.resources.models import Reference as StoredReference
from smarter.apps.resources.models import Resource
from smarter.apps.resources.references import SECRET_KEY, Key, Target, key_of, resolve_refs
from smarter.apps.resources.revision import declared_manifest, pins_of, pins_of_launch, place_of
from smarter.apps.resources.tables import is_table_kind
from smarter.core.errors import Refused
from smarter.core.facts import ComputeFact, Facts
from smarter.core.kind import Kind, Manifest, Reference
from smarter.core.manifest import ParsedManifest, spec_hash
from smarter.core.problems import Problem, errors_of, first_of_each_path, warnings_of


@dataclass(frozen=True, slots=True)
class Options:
    dry_run: bool = False
    deploy: bool = False
    expected_version: str | None = None
    """From If-Match, without quotation marks; `*` asks only that the manifest exists."""


@dataclass(slots=True)
class Draft:
    """One document. `stored`, `before`, `old_facts` and `old_references` are of what is in the database now; a table
    kind has none of them, because its store looks for itself."""

    parsed: ParsedManifest
    uid: UUID
    in_table: bool
    spec_hash: str
    references: tuple[Reference, ...]
    deployed: bool = False
    stored: Resource | None = None
    before: Manifest | None = None
    cluster: Cluster | None = None
    document_before: Mapping[str, Any] = field(default_factory=dict)
    """Metadata and spec as stored, empty where there is nothing."""
    old_references: list[StoredReference] = field(default_factory=list)
    old_facts: Facts | None = None
    facts: Facts | None = None
    warnings: list[Problem] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        return self.parsed.kind

    @property
    def key(self) -> Key:
        return (*self.kind.key, self.parsed.name)

    @property
    def was_deployed(self) -> bool:
        return self.stored is not None and self.stored.deployed

    @property
    def next_generation(self) -> int:
        if self.stored is None:
            return 1
        same = self.stored.spec_hash == self.spec_hash and self.stored.deployed == self.deployed
        return self.stored.generation if same else self.stored.generation + 1


@dataclass(frozen=True, slots=True)
class Batch:
    """All documents of one apply, those that others refer to first."""

    actor: Actor
    drafts: list[Draft]
    targets: dict[Key, Target]
    computes: tuple[ComputeFact, ...]


def prepare(actor: Actor, manifests: Sequence[ParsedManifest], options: Options) -> Batch:
    """Refused with 409 where a manifest is being deleted, and 412 where it is not at the expected version."""
    drafts = in_order([_draft(parsed) for parsed in manifests])
    _load_stored(actor, drafts)
    for draft in drafts:
        if not draft.in_table:
            _check_state(draft, options)
            draft.deployed = draft.was_deployed or (options.deploy and draft.kind.deployable)
    wanted = {key_of(reference) for draft in drafts for reference in draft.references}
    targets = resolve_refs(actor.account, wanted | generated_keys(drafts))
    generic = [draft for draft in drafts if not draft.in_table]
    computes = computes_for(actor.account) if generic else ()
    batch = Batch(actor, drafts, targets, _with_new_computes(computes, drafts))
    chosen = _chosen_cluster(actor, generic)
    for draft in generic:
        draft.cluster = (draft.stored.cluster if draft.stored else None) or chosen
        draft.facts = facts_of(batch, draft)
        draft.old_facts = _old_facts(batch, draft, computes)
    return batch


def judge(batch: Batch) -> list[Problem]:
    """Every error that only the database can tell. Warnings stay with their drafts."""
    here = {draft.key for draft in batch.drafts}
    problems: list[Problem] = []
    for draft in batch.drafts:
        found = list(draft.kind.admit(draft.parsed.model, None if _is_nowhere(draft) else draft.before))
        found += _missing_references(draft, here, batch.targets)
        if draft.facts is not None:
            found += draft.kind.check(draft.parsed.model, draft.facts)
            found += _no_cluster(draft)
        located = first_of_each_path(draft.parsed.located(found))
        draft.warnings += warnings_of(located)
        problems += errors_of(located)
    return problems


def _is_nowhere(draft: Draft) -> bool:
    """What runs on clusters and has nothing there yet may change in every way."""
    stored = draft.stored
    if stored is None or not draft.kind.deployable:
        return False
    return not stored.state.touched or _has_left(stored)


def _has_left(stored: Resource) -> bool:
    """Whether a worker has seen, since it was undeployed, that nothing of it is left but what outlives it."""
    state = stored.state
    return not stored.deployed and state.observed_generation == stored.generation and not state.fingerprint


def facts_of(batch: Batch, draft: Draft) -> Facts:
    keys = {key_of(reference) for reference in draft.references} | generated_keys([draft])
    return build_facts(
        batch.actor.account,
        draft.uid,
        generation=draft.next_generation,
        deployed=draft.deployed,
        cluster=draft.cluster,
        secrets=stand_ins(batch.targets[key] for key in keys if key in batch.targets),
        computes=batch.computes,
        placed_on=draft.stored.placed_on if draft.stored else "",
        pins=pins_of_launch(draft.stored) if draft.stored else {},
        surge=draft.stored.state.rollout.get("surge") if draft.stored else None,
    )


def in_order(drafts: list[Draft]) -> list[Draft]:
    """What is referred to comes before what refers to it; otherwise as sent. A circle is broken where it is met."""
    by_key = {draft.key: draft for draft in drafts}
    ordered: dict[Key, Draft] = {}
    entered: set[Key] = set()

    def visit(draft: Draft) -> None:
        if draft.key in entered:
            return
        entered.add(draft.key)
        for reference in draft.references:
            if key_of(reference) in by_key:
                visit(by_key[key_of(reference)])
        ordered[draft.key] = draft

    for draft in drafts:
        visit(draft)
    return list(ordered.values())


NO_CLUSTER = "no_cluster"


def generated_keys(drafts: Iterable[Draft]) -> set[Key]:
    return {(*SECRET_KEY, name) for draft in drafts for name in draft.kind.generated_secrets(draft.parsed.model)}


def _draft(parsed: ParsedManifest) -> Draft:
    return Draft(
        parsed=parsed,
        uid=uuid4(),
        in_table=is_table_kind(parsed.kind),
        spec_hash=spec_hash(parsed.spec),
        references=parsed.kind.references(parsed.model),
    )


def _load_stored(actor: Actor, drafts: list[Draft]) -> None:
    condition = Q()
    for draft in drafts:
        if not draft.in_table:
            condition |= Q(api_group=draft.kind.group, kind=draft.kind.name, name=draft.parsed.name)
    if not condition:
        return
    rows = Resource.for_account(actor.account).filter(condition).select_related("cluster__account", "state")
    by_key = {(row.api_group, row.kind, row.name): row for row in rows}
    for draft in drafts:
        row = by_key.get((draft.kind.group, draft.kind.name, draft.parsed.name))
        if row is not None and not draft.in_table:
            draft.stored, draft.uid = row, row.uid
            draft.before = _manifest_or_none(row)
            draft.document_before = {"metadata": dict(row.metadata), "spec": dict(row.spec)}
    if by_key:
        _load_references(drafts)


def _load_references(drafts: list[Draft]) -> None:
    by_pk = {draft.stored.pk: draft for draft in drafts if draft.stored is not None}
    rows = StoredReference.objects.filter(from_resource__in=by_pk).select_related("to_resource", "to_secret")
    for row in rows:
        by_pk[row.from_resource_id].old_references.append(row)


def _manifest_or_none(row: Resource) -> Manifest | None:
    try:
        return declared_manifest(row)
    except ValueError:
        # A manifest of an older release that no longer fits is replaced like one that was never there.
        return None


def _check_state(draft: Draft, options: Options) -> None:
    stored = draft.stored
    if stored is not None and stored.deleting_at is not None:
        raise Refused(
            409, "deleting", f"The {draft.kind.name} {stored.name!r} is being deleted. Apply it again when it is gone."
        )
    if options.expected_version is None:
        return
    if stored is None:
        raise Refused(412, "precondition_failed", f"There is no {draft.kind.name} {draft.parsed.name!r} to change.")
    if options.expected_version != "*":
        check_version(stored.resource_version, options.expected_version)


def _chosen_cluster(actor: Actor, drafts: list[Draft]) -> Cluster | None:
    undecided = [d for d in drafts if d.kind.deployable and (d.stored is None or d.stored.cluster is None)]
    return choose(actor.account) if undecided else None


def _with_new_computes(computes: tuple[ComputeFact, ...], drafts: list[Draft]) -> tuple[ComputeFact, ...]:
    found = {compute.name: compute for compute in computes}
    for draft in drafts:
        if draft.kind.compute_fact is not None:
            found[draft.parsed.name] = draft.kind.compute_fact(draft.parsed.model)
    return tuple(found[name] for name in sorted(found))


def _old_facts(batch: Batch, draft: Draft, computes: tuple[ComputeFact, ...]) -> Facts | None:
    if draft.stored is None or draft.before is None:
        return None
    return build_facts(
        batch.actor.account,
        draft.uid,
        generation=draft.stored.generation,
        deployed=draft.stored.deployed,
        cluster=draft.cluster,
        secrets=stand_ins(Target(secret=row.to_secret) for row in draft.old_references),
        computes=computes,
        placed_on=place_of(draft.stored),
        pins=pins_of(draft.stored),
        surge=draft.stored.state.rollout.get("surge"),
    )


def _missing_references(draft: Draft, here: set[Key], targets: dict[Key, Target]) -> list[Problem]:
    return [
        Problem(
            "reference_not_found", reference.field, f"there is no {reference.kind} {reference.name!r} in this account"
        )
        for reference in draft.references
        if key_of(reference) not in here and key_of(reference) not in targets
    ]


def _no_cluster(draft: Draft) -> list[Problem]:
    if draft.cluster is not None or not draft.deployed or draft.was_deployed:
        return []
    return [Problem(NO_CLUSTER, "", "there is no cluster to deploy to; apply a Cluster with isDefault first")]
