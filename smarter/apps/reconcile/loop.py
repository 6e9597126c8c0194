"""One look at one resource: claim, gather, render, plan, apply, observe, save.

The same function creates, updates, repairs, undeploys and deletes, and is safe to run twice, late, or after a half
finished run. It never waits for anything to become ready: it returns, and the row says when to look again. Celery
tasks call it with an id, and so do tests, without Celery.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.utils import timezone

from smarter.apps.costs.services import open_of
from smarter.apps.reconcile import finish, namespaces, rollout, usage, watch
from smarter.apps.reconcile.claim import Claim, claim, clock, keeper, mark_touched, save
from smarter.apps.reconcile.gather import Gathered, gather
from smarter.apps.reconcile.look import Look, failed, never_ran, observed
from smarter.apps.reconcile.outcome import (
    PERMANENT_RETRY_SECONDS,
    QUARANTINE_AFTER,
    backoff_seconds,
    phase_event,
    state_columns,
)
from smarter.apps.reconcile.work import (
    VOLUME_NOT_GROWN,
    Live,
    carry_out,
    newest_generation,
    read_certificates,
    read_live,
)
from smarter.apps.resources import revision
from smarter.apps.resources.events import write_events
from smarter.apps.resources.models import Resource, ResourceState
from smarter.core import naming
from smarter.core.conditions import Condition
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.plan import Plan, plan
from smarter.core.problems import errors_of

log = structlog.get_logger(__name__)


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
        look = failed(held, state, error, max(error.delay_seconds, backoff_seconds(held.fail_count)))
    except PermanentError as error:
        look = failed(held, state, error, PERMANENT_RETRY_SECONDS)
    except Exception:
        # The outer edge: one poisoned resource must not stop the others.
        log.exception("reconcile_crashed", resource=held.resource_id, kind=state.resource.kind)
        delay = PERMANENT_RETRY_SECONDS if held.fail_count >= QUARANTINE_AFTER else backoff_seconds(held.fail_count)
        message = "Smarter failed at this manifest; its operators have the details"
        look = failed(held, state, PermanentError(message, reason="InternalError"), delay)
    _save(held, state, look, now)
    return held.resource_id


def _look(held: Claim, state: ResourceState, now: datetime) -> Look:
    resource = state.resource
    if not state.touched and (resource.deleting_at or not resource.deployed):
        return never_ran(state)
    found = gather(resource)
    live = _live(found, state)
    if newest_generation(live) > resource.generation:
        raise TemporaryError("a newer generation has been applied already", reason="Stale", delay_seconds=0)
    steps = _plan(held, state, found, live)
    _remember_launch(held, state, found)
    refused: PermanentError | None = None
    if not steps.empty:
        renewed_at = _mark_touched(held, state)
        refused = _apply(found, steps, live, keeper(held, renewed_at))
    _record_usage(found, live)
    look = observed(found, live, steps, now)
    if refused is not None:
        condition = Condition("Reconciled", "False", refused.reason, refused.message)
        return replace(look, conditions=(condition,), again_seconds=PERMANENT_RETRY_SECONDS)
    if steps.empty and look.observation.failed and revision.may_restore(resource):
        return _restore(held, look, resource)
    return look


def _live(found: Gathered, state: ResourceState) -> Live:
    if not state.touched:
        return Live()
    namespace, uid = naming.namespace(found.resource.account.number), str(found.resource.uid)
    live = read_live(found.port, found.kind.object_kinds, found.facts.features, namespace, uid)
    if not found.facts.deployed:
        live.kept = read_certificates(found.port, namespace, uid)
    return live


def _plan(held: Claim, state: ResourceState, found: Gathered, live: Live) -> Plan:
    resource = found.resource
    if resource.deleting_at:
        return plan([], [*live.owned, *live.kept], generation=resource.generation, delete_volumes=True)
    if resource.deployed:
        faults = errors_of(found.problems)
        if faults:
            raise PermanentError("; ".join(str(fault) for fault in faults)[:1024], reason="Refused")
    desired = rollout.settled(held, state, found, live)
    return plan(desired, live.owned, generation=resource.generation, delete_volumes=not resource.deployed)


def _remember_launch(held: Claim, state: ResourceState, found: Gathered) -> None:
    """What runs stays where it is and what it is: node type and defaults are chosen once for a launch, and a node type
    again only when the host no longer fits it."""
    resource = found.resource
    placement = found.placement if resource.deployed else None
    name = placement.compute.name if placement else ""
    if resource.placed_on != name:
        Resource.all_accounts.filter(pk=resource.pk, generation=resource.generation).update(placed_on=name)
    if not found.facts.deployed or revision.is_restored(resource):
        return
    values = dict(found.kind.pins(found.manifest, found.facts))
    pins = {"launch": revision.launch_of(resource), "values": values} if values else {}
    if pins != state.pins:
        ResourceState.objects.filter(pk=state.pk, lease_token=held.token).update(pins=pins)


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


def _apply(found: Gathered, steps: Plan, live: Live, still_mine: Callable[[], bool]) -> PermanentError | None:
    """What the cluster refused, where all else was applied."""
    account = found.resource.account
    if any(change.action != "delete" for change in steps.changes):
        namespaces.ensure(found.port, found.cluster, account, found.facts.environment)
    try:
        carry_out(found.port, steps, live, still_mine)
    except PermanentError as error:
        if error.reason == "NamespaceMissing":
            namespaces.forget(found.cluster, account)
            raise TemporaryError(error.message, reason=error.reason, delay_seconds=0) from error
        if error.reason != VOLUME_NOT_GROWN:
            raise
        return error
    finally:
        watch.wake(found.cluster.pk)
    return None


def _record_usage(found: Gathered, live: Live) -> None:
    payer = usage.payer_of(found.resource, found.cluster.uid)
    usage.record(payer, live.pods, set(open_of(found.resource.uid)), lambda: found.placement)


def _restore(held: Claim, look: Look, resource: Resource) -> Look:
    """The revision has failed: what it says stays in the status, and the next look, at once, puts the good one back."""
    reason = next((one.reason for one in look.observation.conditions if one.type == "Available"), "NotStarted")
    if not revision.begin_restore(resource, held.token, reason, look.observation.message):
        return look
    return replace(look, again_seconds=0.0)


def _save(held: Claim, state: ResourceState, look: Look, now: datetime) -> None:
    if look.gone:
        finish.finish_deletion(held, state.resource)
        return
    told = any(condition.type == "Reconciled" for condition in look.conditions)
    conditions = look.conditions if told else (*look.conditions, Condition("Reconciled", "True", "Applied"))
    generation = state.resource.generation if look.judged else state.observed_generation
    columns = state_columns(state, look.observation, generation=generation, conditions=conditions, now=now)
    columns |= {"fail_count": 0, "last_error": ""} | look.columns
    again = None if look.again_seconds is None else now + timedelta(seconds=look.again_seconds)
    entry = phase_event(state.resource, state.phase, look.observation.phase, look.observation.message)
    with transaction.atomic():
        if save(held, columns, next_check_at=again):
            write_events([entry] if entry else [])
            if columns["ready"]:
                revision.remember_good([state])
