"""What one look at a resource found, as data for the loop to save."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from smarter.apps.reconcile.answers import checks_of
from smarter.apps.reconcile.claim import Claim
from smarter.apps.reconcile.gather import Gathered, kind_and_manifest
from smarter.apps.reconcile.judgement import Eyes, Scene, judged
from smarter.apps.reconcile.outcome import digest, fingerprint, phase_fields, remarked
from smarter.apps.reconcile.tails import Budget
from smarter.apps.reconcile.work import Live, objects_left
from smarter.apps.resources.models import ResourceState
from smarter.apps.resources.revision import is_restored
from smarter.core.conditions import Condition
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.kind import Observation
from smarter.core.objects import KubernetesObject
from smarter.core.plan import Plan
from smarter.kinds import KINDS

PASSING = frozenset({"Conflict", "Stale", "LeaseLost"})
"""Reasons that say nothing about the resource: the next look, a moment later, knows."""
STUCK_AFTER = timedelta(minutes=5)
"""What has not left the cluster by then is held there, and need not be looked at every two seconds."""


@dataclass(frozen=True, slots=True)
class Look:
    """`gone` is true when a deleted resource has nothing left on its cluster. `judged` is false where a failure kept
    the manifest from being applied."""

    observation: Observation
    conditions: tuple[Condition, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)
    again_seconds: float | None = None
    gone: bool = False
    judged: bool = True


def never_ran(state: ResourceState) -> Look:
    """Nothing was ever written to a cluster for it, so there is nothing to look at."""
    kind, _ = kind_and_manifest(state.resource)
    gone = bool(state.resource.deleting_at)
    if not kind.deployable:
        return Look(Observation(phase="active", ready=True, in_transition=False), gone=gone)
    observation = Observation(phase="inactive", ready=False, in_transition=False, message="not deployed")
    return Look(observation, gone=gone)


def observed(found: Gathered, live: Live, steps: Plan, now: datetime) -> Look:
    resource = found.resource
    columns = {
        "fingerprint": fingerprint(live.owned),
        "seen_digest": digest(live.everything),
        "touched": bool(live.everything or live.kept) or resource.deployed or not steps.empty,
    }
    if resource.deleting_at:
        return _leaving(found, live, steps, columns, now)
    observation = judged(_scene(found, live), Eyes(found.port, Budget(), checks_of([resource.pk]), now))
    if not is_restored(resource):
        # The warnings are about the manifest as it is declared, whatever runs in its place.
        observation = remarked(observation, (*found.kind.admit(found.manifest, None), *found.problems))
    leaving = [body for body in live.owned if body["metadata"].get("deletionTimestamp")]
    again = _patience(_since(leaving), now) if leaving else None
    return Look(observation, columns=columns, again_seconds=again)


def _scene(found: Gathered, live: Live) -> Scene:
    return Scene(
        resource=found.resource,
        kind=found.kind,
        manifest=found.manifest,
        facts=found.facts,
        live=live.everything,
        pods=live.pods,
        placement=lambda: found.placement,
        secret_values=lambda: [fact.value for fact in found.facts.secrets.values()],
    )


def _leaving(found: Gathered, live: Live, steps: Plan, columns: dict[str, Any], now: datetime) -> Look:
    left = objects_left(found.kind, live)
    message = f"deleting; {len(left)} objects remain: {', '.join(left[:5])}" if left else "deleted"
    observation = Observation(phase="deleting", ready=False, in_transition=bool(left), message=message)
    # What was deleted in this very pass is confirmed gone by the next one, which lists again.
    gone = not left and steps.empty
    again = None if gone else _patience(found.resource.deleting_at, now)
    return Look(observation, columns=columns, again_seconds=again, gone=gone)


def _since(leaving: Iterable[KubernetesObject]) -> datetime:
    return min(datetime.fromisoformat(body["metadata"]["deletionTimestamp"]) for body in leaving)


def _patience(since: datetime | None, now: datetime) -> float:
    stuck = since is not None and now - since > STUCK_AFTER
    return settings.SMARTER.poll_slow_seconds if stuck else settings.SMARTER.poll_fast_seconds


def failed(held: Claim, state: ResourceState, error: TemporaryError | PermanentError, delay_seconds: float) -> Look:
    """The status of the last good look stays; a condition and the message say why there is no newer one."""
    phase = _phase(state, error)
    taken = {"conditions", "observedGeneration", "message"}
    fields = {key: value for key, value in state.status.items() if key not in taken}
    observation = Observation(
        phase=phase,
        ready=state.ready,
        in_transition=state.in_transition,
        message=error.message,
        status={**fields, **phase_fields(KINDS.get(state.resource.kind_key), phase)},
    )
    condition = Condition("Reconciled", "False", error.reason, error.message)
    columns = {"fail_count": held.fail_count + 1, "last_error": f"{error.reason}: {error.message}"[:1024]}
    return Look(observation, (condition,), columns, again_seconds=delay_seconds, judged=False)


def _phase(state: ResourceState, error: TemporaryError | PermanentError) -> str:
    """What could not be removed is neither gone nor stopped, whatever was asked for."""
    resource = state.resource
    if error.reason in PASSING:
        return state.phase
    if resource.deleting_at:
        return "deleting"
    if resource.deployed:
        return state.phase if state.ready else "error"
    return "error" if isinstance(error, PermanentError) and state.touched else state.phase
