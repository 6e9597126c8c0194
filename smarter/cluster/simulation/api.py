"""The simulated API server: what a request does to the world. `simulated.py` calls it inside a transaction."""

import base64
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson

from smarter.cluster.simulation import admission, apply, defaults, refusals, rules, selectors
from smarter.cluster.simulation.deletion import delete_object, release
from smarter.cluster.simulation.schemas import Served, served_kind
from smarter.cluster.simulation.shape import missing_fields, read
from smarter.cluster.simulation.world import World, is_leaving
from smarter.core.objects import KubernetesObject, ObjectKind, ObjectRef

_SERVER_FIELDS = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
_COUNTS_GENERATIONS = frozenset({"Deployment", "Job", "Ingress", "NetworkPolicy", "Certificate", "Pod"})


def apply_object(world: World, body: KubernetesObject, *, manager: str, force: bool, dry_run: bool) -> KubernetesObject:
    what = _describe(body)
    served = served_kind(str(body.get("apiVersion", "")), str(body.get("kind", "")), world.features)
    if served is None:
        raise refusals.kind_missing(what)
    quiet = served.kind.kind == "Secret"
    wanted = _read(served, body, what, quiet)
    namespace, name = wanted["metadata"].get("namespace", ""), wanted["metadata"]["name"]
    key = (served.kind.kind, namespace, name)
    live = world.get(*key)
    if live is None:
        _check_namespace(world, served.kind, namespace, what)
    owned = apply.load_owned(world.managers(key)) if live is not None else {}
    merged = apply.merge_managed(served.shape, _mergeable(live), wanted, owned, manager=manager, force=force)
    if merged.conflicts:
        fields = [apply.dotted(path) for paths in merged.conflicts.values() for path in paths]
        raise refusals.conflict(what, list(merged.conflicts), fields)
    if live is not None and "status" in live:
        merged.body["status"] = live["status"]
    result = _completed(world, served, live, merged.body)
    _check(world, served, live, result, what)
    same = live is not None and result == live
    if dry_run or (same and merged.owned == owned):
        return result
    result["metadata"].pop("resourceVersion", None) if live is None else None
    world.put(result, apply.dump_owned(merged.owned))
    if live is not None and live["metadata"].get("finalizers"):
        release(world, result)
    return _copied(result)


def get_object(world: World, ref: ObjectRef) -> KubernetesObject | None:
    _serve(world, ref.kind)
    return world.get(ref.kind.kind, ref.namespace, ref.name)


def list_objects(world: World, kind: ObjectKind, label_selector: str, namespace: str | None) -> list[KubernetesObject]:
    _serve(world, kind)
    requirements = selectors.parse(label_selector)
    where, values = ("", [kind.kind]) if namespace is None else (" AND namespace = ?", [kind.kind, namespace])
    order = " ORDER BY namespace, name"
    rows = world.connection.execute(f"SELECT labels, body FROM objects WHERE kind = ?{where}{order}", values)  # noqa: S608 - fixed text
    if not requirements:
        return [orjson.loads(body) for _, body in rows]
    return [orjson.loads(body) for labels, body in rows if selectors.meets(requirements, orjson.loads(labels))]


def delete(world: World, ref: ObjectRef, uid: str | None) -> bool:
    _serve(world, ref.kind)
    body = world.get(ref.kind.kind, ref.namespace, ref.name)
    if body is None or (uid is not None and body["metadata"]["uid"] != uid):
        return False
    delete_object(world, body)
    return True


def _serve(world: World, kind: ObjectKind) -> Served:
    served = served_kind(kind.api_version, kind.kind, world.features)
    if served is None:
        raise refusals.kind_missing(f"{kind.kind} ({kind.api_version})")
    return served


def _describe(body: Mapping[str, Any]) -> str:
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    place = f"{metadata.get('namespace')}/" if metadata.get("namespace") else ""
    return f"{body.get('kind')} {place}{metadata.get('name', '')}"


def _read(served: Served, body: KubernetesObject, what: str, quiet: bool) -> dict[str, Any]:
    faults: list[str] = []
    wanted: dict[str, Any] = read(served.shape, body, "", faults)
    if faults:
        raise refusals.malformed(what, faults, quiet=quiet)
    metadata = wanted.setdefault("metadata", {})
    if not rules.is_name(served.kind.kind, metadata.get("name", "")):
        raise refusals.invalid(what, [f'.metadata.name: Invalid value: "{metadata.get("name", "")}"'], quiet=quiet)
    for name in _SERVER_FIELDS:
        metadata.pop(name, None)
    if served.kind.kind != "Node":
        wanted.pop("status", None)
    if "stringData" in wanted:
        texts = wanted.pop("stringData")
        wanted.setdefault("data", {}).update({key: _encoded(value) for key, value in texts.items()})
    return wanted


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _check_namespace(world: World, kind: ObjectKind, namespace: str, what: str) -> None:
    if not kind.namespaced:
        return
    if not namespace:
        raise refusals.bad_request(what, "an empty namespace may not be set when a resource name is provided")
    holder = world.get("Namespace", "", namespace)
    if holder is None:
        raise refusals.namespace_missing(what, namespace)
    if is_leaving(holder):
        raise refusals.namespace_leaving(what, namespace)


def _mergeable(live: KubernetesObject | None) -> KubernetesObject:
    return _copied(live) if live is not None else {}


def _completed(
    world: World, served: Served, live: KubernetesObject | None, merged: KubernetesObject
) -> KubernetesObject:
    """With what the server adds: identity, defaults and the generation."""
    metadata = merged["metadata"]
    if live is None:
        metadata["uid"] = str(uuid4())
        metadata["creationTimestamp"] = world.timestamp()
    faults: list[str] = []
    missing_fields(served.shape, merged, "", faults)
    if faults:
        raise refusals.invalid(_describe(merged), faults, quiet=served.kind.kind == "Secret")
    defaults.fill(merged)
    if served.kind.kind in _COUNTS_GENERATIONS:
        before = live["metadata"].get("generation", 1) if live is not None else 0
        changed = live is None or live.get("spec") != merged.get("spec")
        metadata["generation"] = before + 1 if changed else before
    return merged


def _check(world: World, served: Served, live: KubernetesObject | None, result: KubernetesObject, what: str) -> None:
    faults = rules.faults_of(result)
    if live is not None and not faults:
        faults = rules.changed_faults(live, result)
    if faults:
        raise refusals.invalid(what, faults, quiet=served.kind.kind == "Secret")
    if live is None:
        admission.admit(world, result)


def _copied(body: KubernetesObject) -> KubernetesObject:
    copy: KubernetesObject = orjson.loads(orjson.dumps(body))
    return copy
