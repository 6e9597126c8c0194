"""The notation that the schemas of the simulated cluster are written in, and the strict check of an object against it.

A shape also says how server-side apply treats a value: which structs and lists are replaced as one, and which lists are
maps by key. `apply.py` reads that; `schemas_*.py` write shapes.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from smarter.cluster import quantity

Faults = list[str]


@dataclass(frozen=True, slots=True)
class Scalar:
    """`read` returns the value as the server stores it, or None for a value of another type."""

    name: str
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Struct:
    fields: Mapping[str, "Shape"]
    required: tuple[str, ...] = ()
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    value: "Shape"
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Replaced as one, unless `keys` (a list of structs that merge by key) or `unique` (a set of scalars) says other.
    `keys` maps each key to the value that stands for its absence, None where the key is required."""

    item: "Shape"
    keys: Mapping[str, Any] = field(default_factory=dict)
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Anything:
    """Passed through unread."""


Shape = Scalar | Struct | Map | Sequence | Anything


def _read_text(value: Any) -> Any:
    return value if isinstance(value, str) else None


def _read_whole(value: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_flag(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _read_whole_or_text(value: Any) -> Any:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _read_bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode()
    except (binascii.Error, ValueError):
        return None


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def _read_time(value: Any) -> Any:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else None


TEXT = Scalar("string", _read_text)
WHOLE = Scalar("integer", _read_whole)
FLAG = Scalar("boolean", _read_flag)
WHOLE_OR_TEXT = Scalar("integer or string", _read_whole_or_text)
QUANTITY = Scalar("quantity (quantities look like 500m or 16Gi)", quantity.canonical)
BYTES = Scalar("base64", _read_bytes)
TIME = Scalar("time", _read_time)
ANYTHING = Anything()
TEXTS = Sequence(TEXT)
TEXT_MAP = Map(TEXT)
ATOMIC_TEXT_MAP = Map(TEXT, atomic=True)


def struct(required: str = "", atomic: bool = False, /, **fields: Shape) -> Struct:
    """`required` names fields, separated by spaces."""
    return Struct(fields, tuple(required.split()), atomic)


def keyed(item: Struct, **keys: Any) -> Sequence:
    return Sequence(item, keys=keys)


def read(shape: Shape, value: Any, path: str, faults: Faults) -> Any:
    """The value in the form in which it is stored. Nulls vanish, as they do on a real server."""
    if isinstance(shape, Anything):
        return value
    if isinstance(shape, Scalar):
        return _read_scalar(shape, value, path, faults)
    if isinstance(shape, Struct):
        return _read_struct(shape, value, path, faults)
    if isinstance(shape, Map):
        return _read_map(shape, value, path, faults)
    return _read_sequence(shape, value, path, faults)


def _read_scalar(shape: Scalar, value: Any, path: str, faults: Faults) -> Any:
    result = shape.read(value)
    if result is None:
        faults.append(f"{path}: expected {shape.name}")
    return result


def _read_struct(shape: Struct, value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, Mapping):
        faults.append(f"{path}: expected map")
        return {}
    result = {}
    for name, child in value.items():
        inner = shape.fields.get(name)
        if inner is None:
            faults.append(f"{path}.{name}: field not declared in schema")
        elif child is not None:
            result[name] = read(inner, child, f"{path}.{name}", faults)
    return result


def _read_map(shape: Map, value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, Mapping):
        faults.append(f"{path}: expected map")
        return {}
    result = {}
    for name, child in value.items():
        if not isinstance(name, str):
            faults.append(f"{path}: expected string keys")
        elif child is not None:
            result[name] = read(shape.value, child, f"{path}.{name}", faults)
    return result


def _read_sequence(shape: Sequence, value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        faults.append(f"{path}: expected list")
        return []
    result = [read(shape.item, child, f"{path}[{index}]", faults) for index, child in enumerate(value)]
    if shape.keys or shape.unique:
        _check_keys(shape, result, path, faults)
    return result


def _check_keys(shape: Sequence, items: list[Any], path: str, faults: Faults) -> None:
    seen = set()
    for index, item in enumerate(items):
        missing = [key for key, absent in shape.keys.items() if absent is None and item.get(key) is None]
        if missing:
            faults.append(f"{path}[{index}]: element has no key {missing[0]}")
            continue
        element = element_of(shape, item)
        if element in seen:
            faults.append(f"{path}[{index}]: duplicate entries for key [{element}]")
        seen.add(element)


def element_of(shape: Sequence, item: Any) -> str:
    """Names one item of a list by its keys, or by its value in a set."""
    if shape.unique:
        return f"={item!r}"
    return ",".join(f"{key}={item.get(key, absent)!r}" for key, absent in shape.keys.items())


def missing_fields(shape: Shape, value: Any, path: str, faults: Faults) -> None:
    """Required fields, looked for in the merged object and not in what one manager sent."""
    if isinstance(shape, Struct) and isinstance(value, Mapping):
        for name in shape.required:
            if value.get(name) in (None, "", [], {}):
                faults.append(f"{path}.{name}: Required value")
        for name, child in value.items():
            if name in shape.fields:
                missing_fields(shape.fields[name], child, f"{path}.{name}", faults)
    elif isinstance(shape, Map) and isinstance(value, Mapping):
        for name, child in value.items():
            missing_fields(shape.value, child, f"{path}[{name}]", faults)
    elif isinstance(shape, Sequence) and isinstance(value, list):
        for index, child in enumerate(value):
            missing_fields(shape.item, child, f"{path}[{index}]", faults)
