"""How pods are replaced when their template changes, chosen by the room that the cluster has at that moment.

With room for one more pod a new one starts before an old one stops, and nobody notices; without it, as with the last
free GPU, a new pod would wait for ever beside the old one. The choice is made once for each template and remembered,
so that later renders give the same bytes. The loop calls it before it plans.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from smarter.apps.reconcile.claim import Claim
from smarter.apps.reconcile.gather import Gathered
from smarter.apps.reconcile.work import Live
from smarter.apps.resources.models import ResourceState
from smarter.apps.resources.revision import is_restored
from smarter.core import naming
from smarter.core.capacity import over_quota, room_for
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import (
    DEPLOYMENT,
    DESIRED_HASH_ANNOTATION,
    NODE,
    POD,
    RESOURCE_QUOTA,
    KubernetesObject,
    kind_of,
    ref_of,
)
from smarter.core.plan import desired_hash, plan

_EXCLUSIVE = "only one node at a time can hold their volume"


@dataclass(frozen=True, slots=True)
class Choice:
    surge: bool
    reason: str
    message: str


def settled(lease: Claim, state: ResourceState, found: Gathered, live: Live) -> list[KubernetesObject]:
    """What should exist, rendered for the way of replacing pods that holds now."""
    desired = found.kind.render(found.manifest, found.facts)
    workloads = _workloads(desired)
    template = _hash([body["spec"]["template"] for body in workloads]) if workloads else ""
    if template == state.rollout.get("template", ""):
        return desired
    held = {change.ref for change in plan(desired, live.owned, generation=0).held}
    if any(ref_of(body) in held for body in workloads):
        return desired  # Chosen when the time has come, by the room of then.
    present = [body for body in workloads if _is_present(body, live)]
    rollout: dict[str, Any] = {"template": template} if template else {}
    if present and is_restored(state.resource):
        # The way back is the way by which the failed revision came: pods of the good one may still run.
        rollout = {**state.rollout, **rollout}
    elif present and not _is_same(present, live):
        choice = _choose(found, present)
        rollout |= {"surge": choice.surge, "reason": choice.reason, "message": choice.message}
    _remember(lease, state, rollout)
    return _render(found, rollout.get("surge"))


def _workloads(desired: list[KubernetesObject]) -> list[KubernetesObject]:
    return [body for body in desired if kind_of(body) == DEPLOYMENT]


def _hash(templates: list[Any]) -> str:
    return hashlib.sha256(json.dumps(templates, sort_keys=True).encode()).hexdigest()[:16]


def _is_present(body: KubernetesObject, live: Live) -> bool:
    found = live.objects.get(ref_of(body))
    return found is not None and not found["metadata"].get("deletionTimestamp")


def _is_same(workloads: list[KubernetesObject], live: Live) -> bool:
    """Whether they were applied just so, by a release that did not remember templates."""
    return all(
        (live.objects[ref_of(body)]["metadata"].get("annotations") or {}).get(DESIRED_HASH_ANNOTATION)
        == desired_hash(body)
        for body in workloads
    )


def _render(found: Gathered, surge: bool | None) -> list[KubernetesObject]:
    return found.kind.render(found.manifest, replace(found.facts, surge=surge))


def _choose(found: Gathered, present: list[KubernetesObject]) -> Choice:
    refs = {ref_of(body) for body in present}
    surging = [body for body in _workloads(_render(found, True)) if ref_of(body) in refs]
    if not all(_surges(body) for body in surging):
        return _recreate(_EXCLUSIVE)
    try:
        return _by_room(found, [body["spec"]["template"]["spec"] for body in surging])
    except PermanentError as error:
        return _recreate(f"the free room of the cluster cannot be read ({error.message})")


def _surges(body: KubernetesObject) -> bool:
    return bool((body["spec"]["strategy"].get("rollingUpdate") or {}).get("maxSurge"))


def _by_room(found: Gathered, pod_specs: list[dict[str, Any]]) -> Choice:
    """Three lists, and only when pods are about to be replaced."""
    namespace = naming.namespace(found.resource.account.number)
    nodes, pods = found.port.list(NODE), found.port.list(POD)
    quotas = found.port.list(RESOURCE_QUOTA, namespace=namespace)
    names = []
    for pod_spec in pod_specs:
        exceeded = over_quota(pod_spec, quotas)
        if exceeded:
            return _recreate(f"the account's quota leaves no {exceeded} for one more")
        room = room_for(pod_spec, nodes, pods)
        if room.node is None:
            return _recreate(room.why)
        names.append(room.node)
    message = f"A new replica starts before an old one stops: {', '.join(names)} has room for it."
    return Choice(True, "Surge", message)


def _recreate(why: str) -> Choice:
    return Choice(False, "Recreate", f"An old replica stops before a new one starts: {why}.")


def _remember(lease: Claim, state: ResourceState, rollout: dict[str, Any]) -> None:
    """Before anything is written to the cluster, so that a pass that is cut off is repeated with the same choice."""
    if rollout == state.rollout:
        return
    if not ResourceState.objects.filter(pk=lease.resource_id, lease_token=lease.token).update(rollout=rollout):
        raise TemporaryError("another worker has taken over", reason="LeaseLost", delay_seconds=0)
    state.rollout = rollout
