"""How what was found about a resource becomes the columns of its state.

The loop after a change and the observation of a whole cluster meet here, so both store the same status for the same
facts.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from smarter.apps.reconcile.work import VOLUME_NOT_GROWN
from smarter.apps.resources.events import event_for
from smarter.apps.resources.models import Event, Resource, ResourceState
from smarter.apps.resources.revision import is_restored, own_conditions
from smarter.core.conditions import Condition, merge, truth
from smarter.core.cost import rounded
from smarter.core.kind import Kind, Observation, Placement
from smarter.core.objects import JOB, PERSISTENT_VOLUME_CLAIM, KubernetesObject, is_complete, kind_of, ref_of
from smarter.core.problems import Problem, remarks

MAX_BACKOFF_SECONDS = 60.0
PERMANENT_RETRY_SECONDS = 60.0
"""A refusal of the cluster is tried again this rarely: quotas are raised and rights granted without us."""
QUARANTINE_AFTER = 10
"""Unexpected failures in a row, after which a resource is looked at once in a while instead of with back-off."""


def backoff_seconds(fail_count: int) -> float:
    return min(2.0 ** min(fail_count, 10), MAX_BACKOFF_SECONDS)


def fingerprint(objects: Iterable[KubernetesObject]) -> dict[str, str]:
    """Tells that somebody changed or removed an object: its uid, with the generation where the server keeps one for
    the spec, else the resource version."""
    marks = {}
    for body in objects:
        metadata = body["metadata"]
        # The version of a claim moves with its binding and its spec cannot change, so its identity is enough.
        is_claim = kind_of(body) == PERSISTENT_VOLUME_CLAIM
        version = "" if is_claim else metadata.get("generation") or metadata.get("resourceVersion")
        # What was held back until a Job is done is due when it is.
        if kind_of(body) == JOB and is_complete(body):
            version = f"{version}/complete"
        marks[str(ref_of(body))] = f"{metadata.get('uid')}/{version}"
    return marks


def digest(objects: Iterable[KubernetesObject]) -> str:
    """The same for the same versions of the same objects."""
    versions = sorted(f"{body['metadata'].get('uid')}/{body['metadata'].get('resourceVersion')}" for body in objects)
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()


def state_columns(
    state: ResourceState,
    observation: Observation,
    *,
    generation: int,
    conditions: Sequence[Condition] = (),
    now: datetime,
) -> dict[str, Any]:
    """Columns of ResourceState for an observation of `generation`. What an older generation was found to be is never
    reported as Ready."""
    current = state.resource.generation == generation
    refused = next((one for one in conditions if one.reason == VOLUME_NOT_GROWN), None)
    if refused:
        observation = replace(observation, ready=False, message=observation.message or refused.message)
    ready = observation.ready and current
    reason = "Ready" if ready else "NotReady" if current else "NewerGeneration"
    stored = [Condition("Ready", truth(ready), reason, observation.message)]
    beside = (*observation.conditions, *conditions, *own_conditions(state))
    stored += [condition for condition in beside if condition.type != "Ready"]
    return {
        "status": {
            **_with_remarks(observation.status, state.status),
            "message": observation.message,
            "observedGeneration": generation,
            "conditions": merge(state.status.get("conditions") or [], stored, generation=generation, now=now),
        },
        "phase": observation.phase,
        "ready": ready,
        "observed_generation": generation,
        "in_transition": observation.in_transition,
    }


def _with_remarks(found: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """An observation that did not judge the manifest leaves the warnings as they were."""
    kept = found.get("warnings", stored.get("warnings"))
    status = {key: value for key, value in found.items() if key != "warnings"}
    return {**status, "warnings": kept} if kept else status


def remarked(observation: Observation, problems: Iterable[Problem]) -> Observation:
    """With the warnings about the manifest, which its owner may never have seen in the answer to an apply."""
    return replace(observation, status={**observation.status, "warnings": remarks(problems)})


def priced(observation: Observation, placement: Placement | None) -> Observation:
    """With the price of an hour of all replicas, as text, so that no client rounds it."""
    price = placement.price_per_hour if placement else None
    if price is None:
        return observation
    return replace(observation, status={**observation.status, "pricePerHour": f"{rounded(price).normalize():f}"})


def of_restored(observation: Observation, kind: Kind, resource: Resource) -> Observation:
    """What is seen of a revision that was put back is not what was asked for: it serves, and it is not ready."""
    if not is_restored(resource):
        return observation
    phase = "degraded" if observation.phase == "active" else observation.phase
    message = f"{resource.state.restored['message']} {observation.message}".strip()
    status = {**observation.status, **phase_fields(kind, phase)}
    return replace(observation, phase=phase, ready=False, message=message, status=status, failed=False)


def phase_fields(kind: Kind | None, phase: str) -> dict[str, Any]:
    return {kind.phase_field: phase} if kind and kind.phase_field else {}


def phase_event(resource: Resource, before: str, after: str, message: str) -> Event | None:
    """The entry of the timeline for a change of phase, not yet saved; None where nothing changed."""
    if before == after:
        return None
    warning = after in {"error", "degraded"}
    return event_for(resource, "StatusChanged", f"{before} -> {after}. {message}".strip(), warning=warning)
