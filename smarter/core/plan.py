"""Desired and live objects to a plan: what to create, change and delete, and why. Data only; the reconciler carries it
out, a dry run prints it.

A live object is left alone when its desired state is the one applied last (by hash) and every field that Smarter wrote
still holds. Fields of others (injected sidecars, defaults of the server, counts of an autoscaler) are not looked at.
"""

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from smarter.core.objects import (
    AFTER_ANNOTATION,
    DEPLOYMENT,
    DESIRED_HASH_ANNOTATION,
    GENERATION_ANNOTATION,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    KubernetesObject,
    ObjectRef,
    is_complete,
    ref_of,
)
from smarter.core.quantities import parse_bytes, parse_cpu_millis

Action = Literal["create", "update", "delete"]
_OWN_NUMBERS = ({"maxSurge": 0, "maxUnavailable": 1}, {"maxSurge": 1, "maxUnavailable": 0})
"""Of a rolling update, as Smarter writes them; the first puts an old pod out before a new one starts."""


@dataclass(frozen=True, slots=True)
class Change:
    """`body` is what to apply, None for a delete; `uid` is the live object's, as precondition of a delete."""

    action: Action
    ref: ObjectRef
    reason: str
    body: KubernetesObject | None = None
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Creates and updates in the order of the desired objects, then deletes in the reverse order of creation. What
    cannot become what is desired is deleted right before it is created again."""

    changes: tuple[Change, ...]
    unchanged: int
    kept_volumes: tuple[ObjectRef, ...] = ()
    """Volumes that are no longer desired and were not deleted, because nobody asked for that in so many words."""
    held: tuple[Change, ...] = ()
    """What is to be done once a Job is complete. Until then those objects stay as they are, or are not there."""

    @property
    def empty(self) -> bool:
        return not self.changes


def plan(
    desired: Sequence[KubernetesObject],
    live: Sequence[KubernetesObject],
    *,
    generation: int,
    delete_volumes: bool = False,
) -> Plan:
    """`live` are all objects that carry the owner's label, pods excepted."""
    alive = {ref_of(body): body for body in live if not body["metadata"].get("deletionTimestamp")}
    leaving = {ref_of(body) for body in live} - set(alive)
    changes: list[Change] = []
    held: list[Change] = []
    unchanged = 0
    wanted = set()
    for body in desired:
        ref = ref_of(body)
        wanted.add(ref)
        if ref in leaving:
            continue  # Its predecessor is still going; the next pass creates it.
        if ref.kind == PERSISTENT_VOLUME_CLAIM and ref in alive:
            body, reason = _claim_change(body, alive[ref])
        else:
            reason = _difference(body, alive.get(ref))
        if reason is None:
            unchanged += 1
            continue
        action: Action = "update" if ref in alive else "create"
        if ref in alive and _has_another_selector(body, alive[ref]):
            changes.append(Change("delete", ref, "its selector cannot change", uid=alive[ref]["metadata"].get("uid")))
            action = "create"
        target = held if _waits(body, alive) else changes
        target.extend(_steps(Change(action, ref, reason, body=stamped(body, generation)), alive.get(ref)))
    surplus = [body for ref, body in alive.items() if ref not in wanted]
    kept = [ref_of(body) for body in surplus if ref_of(body).kind == PERSISTENT_VOLUME_CLAIM and not delete_volumes]
    doomed = [body for body in surplus if ref_of(body) not in kept]
    changes.extend(
        Change("delete", ref_of(body), "no longer desired", uid=body["metadata"].get("uid"))
        for body in reversed(doomed)
    )
    return Plan(tuple(changes), unchanged, tuple(kept), tuple(held))


def _has_another_selector(body: KubernetesObject, live: KubernetesObject) -> bool:
    """As after an upgrade from a release that chose pods by other labels. Kubernetes refuses such a change for ever."""
    if body["kind"] != DEPLOYMENT.kind:
        return False
    wanted, found = (one.get("spec", {}).get("selector") for one in (body, live))
    return wanted is not None and found is not None and wanted != found


def _steps(change: Change, live: KubernetesObject | None) -> list[Change]:
    """Kubernetes refuses to recreate pods while there are numbers for a rolling update, and does not let go of numbers
    that somebody else gave or that it filled in itself. So they are taken over first, and left out after that."""
    body = change.body
    if live is None or body is None or body["kind"] != DEPLOYMENT.kind:
        return [change]
    wanted, found = (one.get("spec", {}).get("strategy") or {} for one in (body, live))
    if wanted.get("type") != "Recreate" or found.get("rollingUpdate") in (None, *_OWN_NUMBERS):
        return [change]
    numbers = {"type": "RollingUpdate", "rollingUpdate": dict(_OWN_NUMBERS[0])}
    first = {**body, "spec": {**body["spec"], "strategy": numbers}}
    return [replace(change, body=first, reason="takes over the numbers of its strategy"), change]


def _waits(body: KubernetesObject, alive: Mapping[ObjectRef, KubernetesObject]) -> bool:
    name = (body["metadata"].get("annotations") or {}).get(AFTER_ANNOTATION)
    if name is None:
        return False
    job = alive.get(ObjectRef(JOB, body["metadata"].get("namespace", ""), name))
    return job is None or not is_complete(job)


def desired_hash(body: KubernetesObject) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def stamped(body: KubernetesObject, generation: int) -> KubernetesObject:
    """What is sent: the desired object with its hash and the generation that it came from. The hash leaves the
    generation out, so that an edit elsewhere in the manifest does not touch this object."""
    sent = copy.deepcopy(body)
    annotations = sent["metadata"].setdefault("annotations", {})
    annotations[DESIRED_HASH_ANNOTATION] = desired_hash(body)
    annotations[GENERATION_ANNOTATION] = str(generation)
    return sent


def _difference(body: KubernetesObject, live: KubernetesObject | None) -> str | None:
    if live is None:
        return "missing"
    annotations = live["metadata"].get("annotations") or {}
    if annotations.get(DESIRED_HASH_ANNOTATION) != desired_hash(body):
        return "changed"
    path = first_drift(body, live)
    return f"drifted at {path}" if path else None


def _claim_change(body: KubernetesObject, live: KubernetesObject) -> tuple[KubernetesObject, str | None]:
    """A claim that exists keeps what it is, whatever defaults are today: only its size can grow. What is sent names the
    class and the mode that it has, because to leave out what was once sent means to take it away."""
    has, asks = live.get("spec") or {}, body["spec"]
    wanted, size = asks["resources"]["requests"]["storage"], _size_of(has)
    grows = size is not None and parse_bytes(wanted) > size
    kept = {name: has[name] for name in ("accessModes", "storageClassName") if has.get(name)}
    requests = {"storage": wanted if grows else has.get("resources", {}).get("requests", {}).get("storage", wanted)}
    effective = {**body, "spec": {**asks, **kept, "resources": {"requests": requests}}}
    if grows:
        return effective, "grows"
    path = first_drift(effective["metadata"], live["metadata"], "metadata")
    return effective, f"drifted at {path}" if path else None


def _size_of(claim_spec: Any) -> int | None:
    try:
        return parse_bytes(str(claim_spec["resources"]["requests"]["storage"]))
    except (KeyError, TypeError, ValueError):
        return None


def first_drift(desired: Any, live: Any, path: str = "") -> str | None:
    """The path of the first field that is desired and does not hold, None where all hold."""
    if isinstance(desired, dict):
        if not isinstance(live, dict):
            # The server leaves out what is empty.
            return None if not desired and live is None else path or "."
        return _first(
            first_drift(value, live.get(key), f"{path}.{key}" if path else key) for key, value in desired.items()
        )
    if isinstance(desired, list):
        if not desired and live is None:
            return None
        return _drift_of_list(desired, live, path)
    return None if _same(desired, live) else path


def _drift_of_list(desired: list[Any], live: Any, path: str) -> str | None:
    """Lists of named things (containers, ports, variables) may hold more than was asked for, such as an injected
    sidecar; they are matched by name. All others must be the same element for element."""
    if not isinstance(live, list):
        return path
    if all(isinstance(element, dict) and "name" in element for element in (*desired, *live)):
        named = {element["name"]: element for element in live}
        pairs = [(wanted, named.get(wanted["name"])) for wanted in desired]
    elif len(live) != len(desired):
        return path
    else:
        pairs = list(zip(desired, live, strict=True))
    return _first(first_drift(wanted, found, f"{path}[{index}]") for index, (wanted, found) in enumerate(pairs))


def _first(paths: Iterable[str | None]) -> str | None:
    return next((path for path in paths if path is not None), None)


def _same(desired: Any, live: Any) -> bool:
    if desired == live and type(desired) is type(live):
        return True
    if live is None:
        return desired in (None, False, 0, "")  # The server leaves zero values out.
    if isinstance(desired, (str, int)) and isinstance(live, (str, int)):
        return _same_quantity(str(desired), str(live))
    return False


def _same_quantity(desired: str, live: str) -> bool:
    for parse in (parse_cpu_millis, parse_bytes):
        try:
            if parse(desired) == parse(live):
                return True
        except ValueError:
            continue
    return False
