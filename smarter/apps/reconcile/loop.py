"""One look at one resource: claim, gather, render, plan, apply, observe, save.

The same function creates, updates, repairs, undeploys and deletes, and is safe to run twice, late, or after a half
finished run. It never waits for anything to become ready: it returns, and the row says when to look again. Celery
tasks call it with an id, and so do tests, without Celery.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from smarter.apps.costs.services import open_of
from smarter.apps.reconcile import finish, namespaces, usage, watch
from smarter.apps.reconcile.claim import Claim, claim, clock, keeper, mark_touched, save
from smarter.apps.reconcile.gather import Gathered, gather, kind_and_manifest
from smarter.apps.reconcile.outcome import (
    PERMANENT_RETRY_SECONDS,
    QUARANTINE_AFTER,
    backoff_seconds,
    digest,
    fingerprint,
    phase_event,
    priced,
    remarked,
    state_columns,
)
from smarter.apps.reconcile.work import Live, carry_out, newest_generation, objects_left, read_certificates, read_live
from smarter.apps.resources.events import write_events
from smarter.apps.resources.models import Resource, ResourceState
from smarter.core import naming
from smarter.core.conditions import Condition
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.kind import Observation
from smarter.core.plan import Plan, plan
from smarter.core.problems import errors_of

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Look:
    """`gone` is true when a deleted resource has nothing left on its cluster."""

    observation: Observation
    conditions: tuple[Condition, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)
    again_seconds: float | None = None
    gone: bool = False


def reconcile(resource_id: int | None = None) -> int | None:
    """Looks at the given resource, or at the one that has been due for longest. The id, or None when there was nothing
    to do here."""
    held = claim(resource_id)
    if held is None:
        return None
    state = ResourceState.objects.select_related("resource__account", "resource__owner", "resource__cluster").get(
        pk=held.resource_id
    )
    now = timezone.now()
    try:
        look = _look(held, state, now)
    except TemporaryError as error:
        look = _failed(
            held, state, error.reason, error.message, max(error.delay_seconds, backoff_seconds(held.fail_count))
        )
    except PermanentError as error:
        look = _failed(held, state, error.reason, error.message, PERMANENT_RETRY_SECONDS)
    except Exception:
        # The outer edge: one poisoned resource must not stop the others.
        log.exception("reconcile_crashed", resource=held.resource_id, kind=state.resource.kind)
        delay = PERMANENT_RETRY_SECONDS if held.fail_count >= QUARANTINE_AFTER else backoff_seconds(held.fail_count)
        look = _failed(
            held, state, "InternalError", "Smarter failed at this manifest; its operators have the details", delay
        )
    _save(held, state, look, now)
    return held.resource_id


def _look(held: Claim, state: ResourceState, now: datetime) -> Look:
    resource = state.resource
    if not state.touched and (resource.deleting_at or not resource.deployed):
        return _never_ran(state)
    found = gather(resource)
    live = Live()
    if state.touched:
        namespace = naming.namespace(resource.account.number)
        live = read_live(found.port, found.kind.object_kinds, found.facts.features, namespace, str(resource.uid))
        if not found.facts.deployed:
            live.kept = read_certificates(found.port, namespace, str(resource.uid))
    if newest_generation(live) > resource.generation:
        raise TemporaryError("a newer generation has been applied already", reason="Stale", delay_seconds=0)
    steps = _plan(found, live)
    _remember_place(found)
    if not steps.empty:
        renewed_at = _mark_touched(held, state)
        _apply(found, steps, live, keeper(held, renewed_at))
    _record_usage(found, live)
    return _observed(found, live, steps, now)


def _never_ran(state: ResourceState) -> Look:
    """Nothing was ever written to a cluster for it, so there is nothing to look at."""
    kind, _ = kind_and_manifest(state.resource)
    if not kind.deployable:
        return Look(Observation(phase="active", ready=True, in_transition=False), gone=bool(state.resource.deleting_at))
    observation = Observation(phase="inactive", ready=False, in_transition=False, message="not deployed")
    return Look(observation, gone=bool(state.resource.deleting_at))


def _plan(found: Gathered, live: Live) -> Plan:
    resource = found.resource
    if resource.deleting_at:
        return plan([], [*live.owned, *live.kept], generation=resource.generation, delete_volumes=True)
    if resource.deployed:
        faults = errors_of(found.kind.check(found.manifest, found.facts))
        if faults:
            raise PermanentError("; ".join(str(fault) for fault in faults)[:1024], reason="Refused")
    desired = found.kind.render(found.manifest, found.facts)
    return plan(desired, live.owned, generation=resource.generation, delete_volumes=not resource.deployed)


def _remember_place(found: Gathered) -> None:
    """What runs stays where it is: the node type is chosen once for a launch, and again only when it no longer fits."""
    resource = found.resource
    placement = found.kind.placement(found.manifest, found.facts) if resource.deployed else None
    name = placement.compute.name if placement else ""
    if resource.placed_on != name:
        Resource.all_accounts.filter(pk=resource.pk, generation=resource.generation).update(placed_on=name)


def _mark_touched(held: Claim, state: ResourceState) -> float:
    """Before the first write: whoever comes after a crash must know that objects may exist. When the lease was renewed,
    for `keeper`."""
    if state.touched:
        return -math.inf
    renewed_at = clock()
    if not mark_touched(held):
        raise TemporaryError("another worker has taken over", reason="LeaseLost", delay_seconds=0)
    state.touched = True
    return renewed_at


def _apply(found: Gathered, steps: Plan, live: Live, still_mine: Callable[[], bool]) -> None:
    account = found.resource.account
    if any(change.action != "delete" for change in steps.changes):
        namespaces.ensure(found.port, found.cluster, account, found.facts.environment)
    try:
        carry_out(found.port, steps, live, still_mine)
    except PermanentError as error:
        if error.reason == "NamespaceMissing":
            namespaces.forget(found.cluster, account)
            raise TemporaryError(error.message, reason=error.reason, delay_seconds=0) from error
        raise
    finally:
        watch.wake(found.cluster.pk)


def _record_usage(found: Gathered, live: Live) -> None:
    payer = usage.payer_of(found.resource, found.cluster.uid)
    usage.record(
        payer, live.pods, set(open_of(found.resource.uid)), lambda: found.kind.placement(found.manifest, found.facts)
    )


def _observed(found: Gathered, live: Live, steps: Plan, now: datetime) -> Look:
    fast = settings.SMARTER.poll_fast_seconds
    columns = {
        "fingerprint": fingerprint(live.owned),
        "seen_digest": digest(live.everything),
        "touched": bool(live.everything or live.kept) or found.resource.deployed or not steps.empty,
    }
    if found.resource.deleting_at:
        left = objects_left(found.kind, live)
        message = f"deleting; {len(left)} objects remain: {', '.join(left[:5])}" if left else "deleted"
        observation = Observation(phase="deleting", ready=False, in_transition=bool(left), message=message)
        # What was deleted in this very pass is confirmed gone by the next one, which lists again.
        gone = not left and steps.empty
        return Look(observation, columns=columns, again_seconds=None if gone else fast, gone=gone)
    observation = found.kind.observe(found.manifest, found.facts, live.everything, now)
    if found.resource.deployed:
        observation = priced(observation, found.kind.placement(found.manifest, found.facts))
    rules = (found.kind.admit(found.manifest, None), found.kind.check(found.manifest, found.facts))
    observation = remarked(observation, chain(*rules))
    leaving = any(body["metadata"].get("deletionTimestamp") for body in live.owned)
    return Look(observation, columns=columns, again_seconds=fast if leaving else None)


def _failed(held: Claim, state: ResourceState, reason: str, message: str, delay_seconds: float) -> Look:
    """The status of the last good look stays; a condition and the message say why there is no newer one."""
    before = state.status
    fields = {key: value for key, value in before.items() if key not in {"conditions", "observedGeneration", "message"}}
    phase = "error" if state.resource.deployed and not state.ready else state.phase
    observation = Observation(
        phase=phase,
        ready=state.ready,
        in_transition=state.in_transition,
        message=message,
        status={**fields, "hostStatus": phase} if "hostStatus" in fields or phase != state.phase else fields,
    )
    condition = Condition("Reconciled", "False", reason, message)
    columns = {"fail_count": held.fail_count + 1, "last_error": f"{reason}: {message}"[:1024]}
    return Look(observation, (condition,), columns, again_seconds=delay_seconds)


def _save(held: Claim, state: ResourceState, look: Look, now: datetime) -> None:
    if look.gone:
        finish.finish_deletion(held, state.resource)
        return
    failed = any(condition.type == "Reconciled" for condition in look.conditions)
    conditions = look.conditions if failed else (Condition("Reconciled", "True", "Applied"),)
    generation = state.observed_generation if failed else state.resource.generation
    columns = state_columns(state, look.observation, generation=generation, conditions=conditions, now=now)
    columns |= {"fail_count": 0, "last_error": ""} | look.columns
    again = None if look.again_seconds is None else now + timedelta(seconds=look.again_seconds)
    entry = phase_event(state.resource, state.phase, look.observation.phase, look.observation.message)
    with transaction.atomic():
        if save(held, columns, next_check_at=again):
            write_events([entry] if entry else [])
