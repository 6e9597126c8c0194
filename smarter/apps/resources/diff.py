"""What an apply changes, field by field and object by object. Pure: rows and clusters are not looked at.

A dry run answers with it. Values at a kind's secret paths, and the data of Kubernetes Secrets, are never shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smarter.core.objects import DEPLOYMENT, SECRET, KubernetesObject, ObjectRef, kind_of, ref_of

MASK = "***"
_SECRET_DATA = ("data", "stringData")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """`before` or `after` is None where the field was not, or will not be, set."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ObjectChanges:
    """`restarts` are workloads whose pods are replaced."""

    created: tuple[ObjectRef, ...] = ()
    changed: tuple[ObjectRef, ...] = ()
    deleted: tuple[ObjectRef, ...] = ()
    restarts: tuple[ObjectRef, ...] = ()


def field_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], secret_fields: Iterable[str] = ()
) -> list[FieldChange]:
    """Both are documents with `metadata` and `spec`. Lists are compared by place."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    secret = tuple(secret_fields)
    changes = []
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) == new.get(path) and type(old.get(path)) is type(new.get(path)):
            continue
        hide = any(path == field or path.startswith((f"{field}.", f"{field}[")) for field in secret)
        changes.append(
            FieldChange(path, MASK if hide and path in old else old.get(path), MASK if hide else new.get(path))
        )
    return changes


def _leaves(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif value is not None and value != {}:
        yield path, value


def object_changes(before: Sequence[KubernetesObject], after: Sequence[KubernetesObject]) -> ObjectChanges:
    old = {ref_of(body): body for body in before}
    new = {ref_of(body): body for body in after}
    changed = [ref for ref in new if ref in old and old[ref] != new[ref]]
    return ObjectChanges(
        created=tuple(ref for ref in new if ref not in old),
        changed=tuple(changed),
        deleted=tuple(ref for ref in old if ref not in new),
        restarts=tuple(ref for ref in changed if ref.kind == DEPLOYMENT and _template(old[ref]) != _template(new[ref])),
    )


def _template(body: KubernetesObject) -> Any:
    return body.get("spec", {}).get("template")


def masked(body: KubernetesObject) -> KubernetesObject:
    """A copy that may be shown."""
    if kind_of(body) != SECRET:
        return body
    return {
        key: dict.fromkeys(value, MASK) if key in _SECRET_DATA and isinstance(value, dict) else value
        for key, value in body.items()
    }
