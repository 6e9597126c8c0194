"""Which revision of a manifest runs: the one that is declared, or the last good one while the declared one has failed.

The manifest itself is never changed by that. A new generation (an edit, or an undeploy and a deploy) is tried anew.
The reconciler decides; whoever renders or compares asks here.
"""

from collections.abc import Mapping

from django.db import connection, transaction

from smarter.apps.resources.audit import Entry, record
from smarter.apps.resources.events import event_for, write_events
from smarter.apps.resources.locks import lock_account
from smarter.apps.resources.models import Resource, ResourceState
from smarter.core.conditions import Condition, truth
from smarter.core.kind import Manifest
from smarter.core.manifest import model_of
from smarter.kinds import KINDS


def is_restored(resource: Resource) -> bool:
    """Whether the last good revision runs in place of the declared one."""
    restored = resource.state.restored
    return bool(restored.get("from")) and restored.get("generation") == resource.generation


def declared_manifest(resource: Resource) -> Manifest:
    """ValueError where what is stored no longer fits its schema."""
    return model_of(KINDS[resource.kind_key], resource.metadata, resource.spec)


def running_manifest(resource: Resource) -> Manifest:
    """ValueError as above; the declared one where the good one cannot be read any more or cannot be put back."""
    declared = declared_manifest(resource)
    return (_put_back(resource, declared) if is_restored(resource) else None) or declared


def _put_back(resource: Resource, declared: Manifest) -> Manifest | None:
    good, kind = resource.state.last_good, KINDS[resource.kind_key]
    if good.get("apiVersion") != resource.api_version:
        return None
    try:
        manifest = model_of(kind, good["metadata"], good["spec"])
    except ValueError:
        return None
    return kind.restored(manifest, declared)


def pins_of(resource: Resource) -> Mapping[str, str]:
    """What platform defaults gave at the launch of what runs."""
    if is_restored(resource):
        found: dict[str, str] = resource.state.last_good.get("pins") or {}
        return found
    return pins_of_launch(resource)


def pins_of_launch(resource: Resource) -> Mapping[str, str]:
    """None for a launch that nobody has rendered yet."""
    pins = resource.state.pins
    return pins.get("values") or {} if pins.get("launch") == launch_of(resource) else {}


def launch_of(resource: Resource) -> str:
    return resource.deployed_at.isoformat() if resource.deployed and resource.deployed_at else ""


def place_of(resource: Resource) -> str:
    return str(resource.state.last_good.get("placedOn") or "") if is_restored(resource) else resource.placed_on


def may_restore(resource: Resource) -> bool:
    """Once for a generation, where another one was ready before and differs from it."""
    state = resource.state
    good = state.last_good
    if not resource.deployed or resource.deleting_at or state.restored.get("generation") == resource.generation:
        return False
    if not good or good["generation"] == resource.generation:
        return False
    return (good["spec"], good.get("pins") or {}) != (resource.spec, dict(pins_of(resource)))


def begin_restore(resource: Resource, lease_token: int, reason: str, message: str) -> bool:
    """Notes that this generation has failed and what is put back. False: the lease was lost, nothing is changed."""
    good = resource.state.last_good["generation"]
    back = good if _put_back(resource, declared_manifest(resource)) is not None else 0
    words = f"Generation {resource.generation} did not start: {message}".strip()
    words += f" Generation {good} was put back." if back else f" Generation {good} cannot be put back."
    restored = {"generation": resource.generation, "from": back, "reason": reason, "message": words}
    with transaction.atomic():
        quota = lock_account(resource.account)
        rows = ResourceState.objects.filter(
            pk=resource.pk, lease_token=lease_token, resource__generation=resource.generation
        )
        if not rows.update(restored=restored):
            return False
        record(quota, None, [_entry(resource, "restored" if back else "impossible")])
        write_events([event_for(resource, "Restored" if back else "RestoreImpossible", words, warning=True)])
    resource.state.restored = restored
    return True


def _entry(resource: Resource, outcome: str) -> Entry:
    return Entry("restore", resource.kind, resource.name, str(resource.uid), outcome, before_hash=resource.spec_hash)


# The row is read again by the statement itself: what has been applied since the observation is not called good.
_GOOD = """
UPDATE resources_resourcestate AS state
   SET last_good = jsonb_build_object(
         'generation', resource.generation, 'apiVersion', resource.api_version, 'metadata', resource.metadata,
         'spec', resource.spec, 'placedOn', resource.placed_on,
         'pins', coalesce(state.pins -> 'values', '{}'::jsonb))
  FROM resources_resource AS resource
 WHERE resource.id = state.resource_id AND resource.id = ANY(%s) AND resource.deployed
   AND state.ready AND state.observed_generation = resource.generation
   AND (state.last_good ->> 'generation') IS DISTINCT FROM resource.generation::text
"""


def remember_good(states: list[ResourceState]) -> None:
    """Of resources that have just been found ready; those whose revision is known to be good cost nothing."""
    fresh = [one.pk for one in states if one.last_good.get("generation") != one.resource.generation]
    if fresh:
        with connection.cursor() as cursor:
            cursor.execute(_GOOD, [fresh])


def own_conditions(state: ResourceState) -> list[Condition]:
    """What the reconciler itself did to pods, and why."""
    found = []
    if state.rollout.get("reason"):
        found.append(Condition("Rollout", "True", state.rollout["reason"], state.rollout["message"]))
    if state.restored.get("generation") == state.resource.generation:
        restored = state.restored
        found.append(Condition("Restored", truth(bool(restored["from"])), restored["reason"], restored["message"]))
    return found
