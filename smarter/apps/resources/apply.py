"""Applies one body of manifests in one transaction: all of it is stored, or none.

The API is the caller. A dry run takes the same way to the end and is then rolled back, so that it cannot answer
something else than the real apply. `generation` rises with the spec and with `deployed`: a worker that was delayed can
never take up again what has been undeployed since, because it holds an older generation.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import Stored
from smarter.apps.resources.audit import Entry, record
from smarter.apps.resources.dependents import users_of, users_of_secret, wake_users
from smarter.apps.resources.drafts import Batch, Draft, Options, facts_of, generated_keys, judge, prepare
from smarter.apps.resources.events import write_events
from smarter.apps.resources.hint import hint_after_commit
from smarter.apps.resources.locks import lock_account
from smarter.apps.resources.plans import DocumentPlan, plan_for, price_of
from smarter.apps.resources.references import resolve_refs
from smarter.apps.resources.results import ApplyResult, Outcome
from smarter.apps.resources.tables import TABLE_STORES, is_table_kind
from smarter.apps.resources.write import Writes, store_draft, store_references
from smarter.core.errors import Refused
from smarter.core.manifest import ParsedManifest, read_manifests, spec_hash
from smarter.core.problems import Problem, errors_of, warnings_of
from smarter.kinds import KINDS

# Faults of the text as a whole. Everything else is about what a readable manifest says.
_UNREADABLE = frozenset({"encoding", "syntax", "empty"})


def apply_manifests(
    actor: Actor,
    body: bytes,
    *,
    dry_run: bool = False,
    deploy: bool = False,
    expected_version: str | None = None,
) -> ApplyResult:
    """Refused: 400 for text that cannot be read, 403, 409, 412, 413, 422 with every fault of every document."""
    manifests, problems = read_manifests(body, KINDS)
    if errors_of(problems):
        # Rules between fields need no database, so their faults are told in the same answer.
        for parsed in manifests:
            problems = [*problems, *parsed.located(parsed.kind.admit(parsed.model, None))]
        raise _refused(problems)
    options = Options(dry_run, deploy, expected_version)
    _authorise(actor, manifests, options)
    with transaction.atomic():
        outcomes = _apply_in_transaction(actor, manifests, options, warnings_of(problems))
        if dry_run:
            transaction.set_rollback(True)
    return ApplyResult(dry_run, outcomes)


def _authorise(actor: Actor, manifests: Sequence[ParsedManifest], options: Options) -> None:
    for parsed in manifests:
        if not is_table_kind(parsed.kind):
            actor.require(parsed.kind.writer, "apply")
    if options.deploy:
        actor.require("member", "deploy")
        if not any(parsed.kind.deployable for parsed in manifests):
            problem = Problem("not_deployable", "kind", f"a {manifests[0].kind.name} cannot be deployed")
            raise _refused(manifests[0].located([problem]))
    if options.expected_version is not None and len(manifests) > 1:
        raise Refused(400, "bad_request", "If-Match speaks of one manifest; send that one alone.")


def _apply_in_transaction(
    actor: Actor, manifests: Sequence[ParsedManifest], options: Options, read_warnings: list[Problem]
) -> tuple[Outcome, ...]:
    quota = lock_account(actor.account)
    batch = prepare(actor, manifests, options)
    faults = judge(batch)
    if faults:
        raise _refused(faults)
    for draft in batch.drafts:
        draft.warnings += [problem for problem in read_warnings if problem.document == draft.parsed.document.index]
    writes = Writes()
    outcomes = [_store(batch, draft, options, writes) for draft in batch.drafts]
    store_references(batch, lambda keys: resolve_refs(actor.account, keys))
    write_events(writes.events)
    record(quota, actor, writes.entries)
    hint_after_commit(writes.resource_ids)
    if options.dry_run:
        outcomes = _with_plans(batch, outcomes)
    return tuple(sorted(outcomes, key=lambda outcome: outcome.document))


def _store(batch: Batch, draft: Draft, options: Options, writes: Writes) -> Outcome:
    try:
        if draft.in_table:
            return _store_in_table(batch.actor, draft, options, writes)
        action = store_draft(batch, draft, writes)
    except Refused as refused:
        raise _located(refused, draft.parsed) from refused
    row = draft.stored
    assert row is not None
    if action == "changed" and not draft.kind.deployable:
        writes.resource_ids += wake_users(users_of(row, draft.kind))
    return Outcome(
        document=draft.parsed.document.index,
        kind=draft.kind,
        name=row.name,
        uid=str(row.uid),
        action=action,
        generation=row.generation,
        resource_version=row.resource_version,
        deployed=row.deployed,
        warnings=tuple(draft.warnings),
        price=price_of(draft, draft.facts),
    )


def _store_in_table(actor: Actor, draft: Draft, options: Options, writes: Writes) -> Outcome:
    store = TABLE_STORES[draft.kind.key]
    before = store.get(actor, draft.kind, draft.parsed.name) if actor.allows("read") else None
    draft.document_before = _document(before)
    applied = store.apply(actor, draft.parsed, expected_version=options.expected_version)
    stored = applied.stored
    hashes = ("" if before is None else spec_hash(before.spec), spec_hash(stored.spec))
    writes.entries.append(Entry("apply", stored.kind, stored.name, stored.uid, applied.action, *hashes))
    if applied.action == "changed":
        writes.resource_ids += wake_users(users_of_secret(stored.uid))
    return Outcome(
        document=draft.parsed.document.index,
        kind=draft.kind,
        name=stored.name,
        uid=stored.uid,
        action=applied.action,
        generation=stored.generation,
        resource_version=stored.resource_version,
        deployed=False,
        warnings=(*draft.warnings, *draft.parsed.located(applied.warnings)),
        reveal={} if options.dry_run else applied.reveal,
    )


def _document(stored: Stored | None) -> Mapping[str, Any]:
    return {} if stored is None else {"metadata": stored.metadata, "spec": stored.spec}


def _with_plans(batch: Batch, outcomes: list[Outcome]) -> list[Outcome]:
    """Facts are gathered again first: a secret that came in the same body restarts what uses it."""
    keys = {draft.key for draft in batch.drafts if draft.in_table} | generated_keys(batch.drafts)
    fresh = dataclasses.replace(batch, targets={**batch.targets, **resolve_refs(batch.actor.account, keys)})
    by_document = {draft.parsed.document.index: draft for draft in batch.drafts}
    return [dataclasses.replace(outcome, plan=_plan(fresh, by_document[outcome.document])) for outcome in outcomes]


def _plan(batch: Batch, draft: Draft) -> DocumentPlan:
    facts = None if draft.in_table else facts_of(batch, draft)
    return plan_for(draft, facts)


def _refused(problems: Sequence[Problem]) -> Refused:
    codes = {problem.code for problem in problems}
    if "too_large" in codes:
        return Refused(413, "too_large", "The body is larger than a manifest may be.", problems)
    if codes & _UNREADABLE:
        return Refused(400, "unreadable", "The body cannot be read as YAML or JSON.", problems)
    return Refused(422, "invalid", "The manifest is not accepted; nothing was stored.", problems)


def _located(refused: Refused, parsed: ParsedManifest) -> Refused:
    """Names the document that was refused, since a body may hold several."""
    problems = refused.problems or (Problem(refused.code, "", refused.detail),)
    return Refused(refused.status, refused.code, refused.detail, parsed.located(problems), refused.headers)
