"""Puts judged drafts into rows, for `apply.py`, inside its transaction and with the account locked."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import Action, metadata_of
from smarter.apps.resources.audit import Entry
from smarter.apps.resources.claims import claim
from smarter.apps.resources.drafts import Batch, Draft
from smarter.apps.resources.events import event_for
from smarter.apps.resources.models import Event, Reference, Resource, ResourceState
from smarter.apps.resources.references import Key, Target, key_of
from smarter.apps.secrets import services as secrets
from smarter.core.problems import remarks

GENERATED = "generated"
"""The field of references that Smarter makes by itself."""


@dataclass(slots=True)
class Writes:
    """What is written once for all documents at the end: entries of the audit trail, events, hints."""

    entries: list[Entry] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    resource_ids: list[int] = field(default_factory=list)


def next_version() -> int:
    """Versions come from one sequence, so that none is ever seen twice, not even for a name that is used again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('resources_version_seq')")
        return int(cursor.fetchone()[0])


def store_draft(batch: Batch, draft: Draft, writes: Writes) -> Action:
    """The row as it should be. `draft.stored` is set afterwards in any case."""
    before_hash = draft.stored.spec_hash if draft.stored else ""
    launched = draft.deployed and not draft.was_deployed
    if draft.stored is None:
        action: Action = "created"
        draft.stored = _created(batch.actor, draft)
    else:
        action = _changed(draft, launched)
        _keep_remarks(draft)
    row = draft.stored
    if draft.cluster is not None and row.deployed and row.cluster_id is None:
        row.cluster = draft.cluster
        row.save(update_fields=["cluster"])
    if action != "unchanged":
        _claim(draft)
    writes.entries.append(Entry("apply", row.kind, row.name, str(row.uid), action, before_hash, row.spec_hash))
    if launched:
        writes.entries.append(Entry("deploy", row.kind, row.name, str(row.uid), "changed"))
    if action != "unchanged":
        writes.events.append(event_for(row, action.capitalize(), f"Generation {row.generation}."))
    if launched:
        writes.events.append(event_for(row, "Launched", f"Deployed by {batch.actor.user.username}."))
    writes.resource_ids.append(row.pk)
    return action


def _created(actor: Actor, draft: Draft) -> Resource:
    now = timezone.now()
    row = Resource(
        uid=draft.uid,
        account=actor.account,
        owner=actor.user,
        api_group=draft.kind.group,
        api_version=draft.kind.api_version,
        kind=draft.kind.name,
        name=draft.parsed.name,
        metadata=metadata_of(draft.parsed),
        spec=draft.parsed.spec,
        applied_text=_text_to_keep(draft),
        spec_hash=draft.spec_hash,
        resource_version=next_version(),
        deployed=draft.deployed,
        deployed_at=now if draft.deployed else None,
        cluster=draft.cluster if draft.deployed else None,
        created=now,
        modified=now,
    )
    row.save(force_insert=True)
    found = remarks(draft.warnings)
    status = {"warnings": found} if found else {}
    ResourceState(resource=row, next_check_at=Now(), status=status).save(force_insert=True)
    return row


_REMARKS = """
UPDATE resources_resourcestate SET status = jsonb_set(status, '{warnings}', %s::jsonb) WHERE resource_id = %s
"""


def _keep_remarks(draft: Draft) -> None:
    """Only that part of the status: the rest of it is the reconciler's, and may be newer than what was read."""
    row = draft.stored
    assert row is not None
    found = remarks(draft.warnings)
    if found == row.state.status.get("warnings", []):
        return
    with connection.cursor() as cursor:
        cursor.execute(_REMARKS, [json.dumps(found), row.pk])


def _changed(draft: Draft, launched: bool) -> Action:
    row = draft.stored
    assert row is not None
    metadata, text = metadata_of(draft.parsed), _text_to_keep(draft)
    same = row.spec_hash == draft.spec_hash and row.metadata == metadata and not launched
    if same and row.api_version == draft.kind.api_version:
        if row.applied_text != text:
            row.applied_text = text
            row.save(update_fields=["applied_text"])
        ResourceState.objects.filter(resource=row).update(next_check_at=Now())
        return "unchanged"
    now = timezone.now()
    row.generation = draft.next_generation
    row.metadata, row.spec, row.applied_text, row.spec_hash = metadata, draft.parsed.spec, text, draft.spec_hash
    row.api_version = draft.kind.api_version
    row.resource_version = next_version()
    row.modified = now
    row.deployed = draft.deployed
    if launched:
        row.deployed_at = now
    row.save(update_fields=_APPLIED)
    # A change is a new start: what failed before says nothing about it.
    ResourceState.objects.filter(resource=row).update(next_check_at=Now(), fail_count=0)
    return "changed"


# What an apply decides. The other columns are the reconciler's, and may have changed since the row was read.
_APPLIED = [
    "api_version", "metadata", "spec", "applied_text", "spec_hash", "generation", "resource_version", "modified",
    "deployed", "deployed_at",
]  # fmt: skip


def _text_to_keep(draft: Draft) -> str | None:
    return None if draft.kind.secret_fields else draft.parsed.text


def _claim(draft: Draft) -> None:
    assert draft.stored is not None and draft.facts is not None
    wanted = draft.kind.hostnames(draft.parsed.model, draft.facts)
    held = draft.kind.hostnames(draft.before, draft.old_facts) if draft.old_facts else ()
    unreadable_before = draft.document_before and draft.old_facts is None
    if wanted or held or unreadable_before:
        claim(draft.stored, wanted)


def store_references(batch: Batch, find_again: Callable[[set[Key]], dict[Key, Target]]) -> None:
    """After all rows are there, since documents of one body may refer to one another. `find_again` resolves names
    that were not there when the batch was prepared."""
    drafts = [draft for draft in batch.drafts if draft.stored is not None]
    rows_here = {draft.key: draft.stored for draft in drafts}
    absent = {key_of(ref) for draft in drafts for ref in draft.references if key_of(ref) not in batch.targets}
    elsewhere = absent - set(rows_here)
    targets = {**batch.targets, **(find_again(elsewhere) if elsewhere else {})}
    added: list[Reference] = []
    for draft in drafts:
        wanted = {}
        for ref in draft.references:
            row = rows_here.get(key_of(ref))
            wanted[ref.field] = Target(resource=row) if row is not None else targets[key_of(ref)]
        wanted.update(_generated(batch.actor, draft))
        added += _replaced(draft, wanted)
    if added:
        Reference.objects.bulk_create(added)


def generated_targets(actor: Actor, row: Resource, names: Iterable[str]) -> dict[str, Target]:
    """Secrets that Smarter makes for a resource that is deployed, so that they are there when it starts."""
    return {
        f"{GENERATED}[{index}]": Target(secret=secrets.ensure_generated(actor.account, actor.user, name, row.uid))
        for index, name in enumerate(names)
    }


def _generated(actor: Actor, draft: Draft) -> dict[str, Target]:
    """Those of a resource that is no longer deployed stay until it is deleted."""
    assert draft.stored is not None
    if draft.deployed:
        return generated_targets(actor, draft.stored, draft.kind.generated_secrets(draft.parsed.model))
    return {row.field: Target(secret=row.to_secret) for row in draft.old_references if _is_generated(row.field)}


def _is_generated(field_name: str) -> bool:
    return field_name.startswith(f"{GENERATED}[")


def _replaced(draft: Draft, wanted: dict[str, Target]) -> list[Reference]:
    """Takes out what is no longer referred to, and answers the rows to add."""
    kept = set()
    for old in draft.old_references:
        target = wanted.get(old.field)
        if target is not None and _same(old, target):
            kept.add(old.field)
        else:
            old.delete()
    return [
        Reference(from_resource=draft.stored, to_resource=target.resource, to_secret=target.secret, field=name)
        for name, target in wanted.items()
        if name not in kept and (target.resource is not None or target.secret is not None)
    ]


def _same(old: Reference, target: Target) -> bool:
    return (old.to_resource_id, old.to_secret_id) == (
        target.resource.pk if target.resource else None,
        target.secret.pk if target.secret else None,
    )
