"""Server-side apply: merging what one manager wants into what is there, by field ownership.

Pure functions over plain values; `api.py` calls `merge_managed`. A field is named by a path of elements: a name, or in
a list that merges by key, what `shape.element_of` says. A manager owns the paths of the leaves that it sent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smarter.cluster.simulation.shape import Anything, Map, Scalar, Shape, Struct, element_of
from smarter.cluster.simulation.shape import Sequence as SequenceShape

Path = tuple[str, ...]
Owned = dict[str, set[Path]]

_SEPARATOR = "\x1f"
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Merged:
    body: dict[str, Any]
    owned: Owned
    conflicts: dict[str, list[Path]]
    """By manager. Empty after a forced merge."""


def merge_managed(
    shape: Struct, live: Mapping[str, Any], wanted: Mapping[str, Any], owned: Owned, *, manager: str, force: bool
) -> Merged:
    leaves = set(leaves_of(shape, wanted))
    others = {name: set(paths) for name, paths in owned.items() if name != manager}
    conflicts = _conflicts(shape, live, wanted, leaves, others)
    if conflicts and not force:
        return Merged(dict(live), owned, conflicts)
    for name, paths in conflicts.items():
        others[name] -= set(paths)
    body = merge(shape, live, wanted)
    dropped = owned.get(manager, set()) - leaves
    kept = leaves.union(*others.values()) if others else leaves
    # An item of a list goes before what is inside it, because it is found by the keys inside it.
    for path in sorted(dropped, key=len):
        if not _held(path, kept):
            remove(shape, body, path)
    after = {**{name: paths for name, paths in others.items() if paths}, manager: leaves}
    return Merged(body, after, {})


def leaves_of(shape: Shape, value: Any, path: Path = ()) -> Iterator[Path]:
    """Every leaf, and every item of a keyed list by itself, since owning an item is owning its presence."""
    if _is_leaf(shape, value):
        yield path
    elif isinstance(shape, Struct):
        for name, child in value.items():
            yield from leaves_of(shape.fields[name], child, (*path, name))
    elif isinstance(shape, Map):
        for name, child in value.items():
            yield from leaves_of(shape.value, child, (*path, name))
    elif isinstance(shape, SequenceShape):
        for item in value:
            element = (*path, element_of(shape, item))
            yield element
            if not shape.unique:
                yield from leaves_of(shape.item, item, element)


def merge(shape: Shape, live: Any, wanted: Any) -> Any:
    if live is None or live is _MISSING or _is_whole(shape):
        return wanted
    if isinstance(shape, Struct | Map):
        result = dict(live)
        for name, child in wanted.items():
            result[name] = merge(_child_shape(shape, name), live.get(name, _MISSING), child)
        return result
    assert isinstance(shape, SequenceShape)
    return _merge_items(shape, live, wanted)


def find(shape: Shape, value: Any, path: Path) -> Any:
    """_MISSING where nothing is."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(shape, SequenceShape):
        for item in value or ():
            if element_of(shape, item) == head:
                return find(shape.item, item, rest)
        return _MISSING
    if not isinstance(value, Mapping) or head not in value or not isinstance(shape, Struct | Map):
        return _MISSING
    return find(_child_shape(shape, head), value[head], rest)


def remove(shape: Shape, value: Any, path: Path) -> None:
    """Takes the field out, and what becomes empty above it. Works in place."""
    head, rest = path[0], path[1:]
    if isinstance(shape, SequenceShape):
        _remove_item(shape, value, head, rest)
        return
    if not isinstance(value, dict) or head not in value or not isinstance(shape, Struct | Map):
        return
    if rest:
        remove(_child_shape(shape, head), value[head], rest)
    if not rest or value[head] in ({}, []):
        del value[head]


def dump_owned(owned: Owned) -> dict[str, list[str]]:
    return {name: sorted(_SEPARATOR.join(path) for path in paths) for name, paths in owned.items()}


def load_owned(stored: Mapping[str, Sequence[str]]) -> Owned:
    return {name: {tuple(path.split(_SEPARATOR)) for path in paths} for name, paths in stored.items()}


def dotted(path: Path) -> str:
    return "".join(f"[{part}]" if "=" in part else f".{part}" for part in path)


def _is_whole(shape: Shape) -> bool:
    """Replaced as one value."""
    if isinstance(shape, Scalar | Anything):
        return True
    if isinstance(shape, Struct | Map):
        return shape.atomic
    return not shape.keys and not shape.unique


def _is_leaf(shape: Shape, value: Any) -> bool:
    return _is_whole(shape) or not value


def _child_shape(shape: Struct | Map, name: str) -> Shape:
    return shape.fields[name] if isinstance(shape, Struct) else shape.value


def _conflicts(
    shape: Struct, live: Mapping[str, Any], wanted: Mapping[str, Any], leaves: set[Path], others: Owned
) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for name, paths in others.items():
        for path in sorted(leaves & paths):
            parent_is_list = "=" in path[-1]
            if not parent_is_list and find(shape, live, path) != find(shape, wanted, path):
                found.setdefault(name, []).append(path)
    return found


def _held(path: Path, kept: set[Path]) -> bool:
    """Whether somebody still owns the path or something inside it."""
    return any(other[: len(path)] == path for other in kept)


def _merge_items(shape: SequenceShape, live: list[Any], wanted: list[Any]) -> list[Any]:
    """In the order of `wanted`; what only `live` has keeps its place before what it stood before."""
    present = {element_of(shape, item): item for item in live}
    names = {element_of(shape, item) for item in wanted}
    result: list[Any] = []
    done: set[str] = set()
    waiting = list(present)
    for item in wanted:
        while waiting and (waiting[0] not in names or waiting[0] in done):
            element = waiting.pop(0)
            if element not in done:
                result.append(present[element])
        element = element_of(shape, item)
        result.append(item if shape.unique else merge(shape.item, present.get(element), item))
        done.add(element)
    return result + [present[element] for element in waiting if element not in names]


def _remove_item(shape: SequenceShape, items: Any, element: str, rest: Path) -> None:
    for index, item in enumerate(items or ()):
        if element_of(shape, item) == element:
            if rest:
                remove(shape.item, item, rest)
            else:
                del items[index]
            return
