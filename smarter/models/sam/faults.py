"""Faults of a manifest in words of our own, from what pydantic reports. Called by `smarter.models.sam.base`.

No message repeats the value that was sent. It names the type of the value at most.
"""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one place. `code` is one of missing, unknown_field, type, enum, too_small, too_large, too_long,
    pattern and invalid."""

    path: Path
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a fault is: the model that holds the field, the field if there is one, and the value that was sent."""

    model: type[BaseModel] | None
    field: FieldInfo | None
    value: Any
    context: Mapping[str, Any]


_EXPECTED_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}


def faults_of(model: type[BaseModel], data: Any, error: ValidationError) -> list[Fault]:
    return [_fault(model, data, detail) for detail in error.errors(include_url=False, include_input=False)]


def _fault(model: type[BaseModel], data: Any, detail: Any) -> Fault:
    location: Path = detail["loc"]
    # Pydantic marks a fault in the key of a map by a last part "[key]".
    in_key = location[-1:] == ("[key]",)
    path = _followed(data, location[:-1] if in_key else location)
    holder, field = _field_at(model, path)
    place = _Place(holder, field, _value_at(data, path), detail.get("ctx", {}))
    code, message = _describe(detail["type"], place, path)
    return Fault(path, code, f"the name of this entry {message}" if in_key else message)


def _describe(kind: str, place: _Place, path: Path) -> tuple[str, str]:
    if kind == "extra_forbidden":
        return "unknown_field", _unknown_field(place, path)
    if kind in _EXPECTED_TYPES:
        return "type", _wrong_type(_EXPECTED_TYPES[kind], place.value)
    if kind.startswith(("datetime", "timezone", "date_")):
        return "type", "must be a date and time, for example 2030-01-31T12:00:00Z"
    code, write = _WRITERS.get(kind, ("invalid", lambda _place: "is not valid"))
    return code, write(place)


def _enum(place: _Place) -> str:
    allowed = list(_enum_values(place.field.annotation if place.field else None))
    if not isinstance(place.value, str):
        return f"must be one of {', '.join(allowed)}, not {type_name(place.value)}"
    return f"must be one of {', '.join(allowed)}{_did_you_mean(place.value, allowed)}"


def _pattern(place: _Place) -> str:
    description = place.field.description if place.field and place.field.description else ""
    return f"does not have the right form. {description}".strip()


def _too_long(place: _Place) -> str:
    noun = "entries" if isinstance(place.value, dict) else "items"
    return f"must have at most {place.context['max_length']} {noun}"


_WRITERS: dict[str, tuple[str, Callable[[_Place], str]]] = {
    "missing": ("missing", lambda _place: "this field is required"),
    "enum": ("enum", _enum),
    "greater_than_equal": ("too_small", lambda place: f"must be at least {number(place.context['ge'])}"),
    "greater_than": ("too_small", lambda place: f"must be greater than {number(place.context['gt'])}"),
    "less_than_equal": ("too_large", lambda place: f"must be at most {number(place.context['le'])}"),
    "less_than": ("too_large", lambda place: f"must be less than {number(place.context['lt'])}"),
    "int_parsing_size": ("too_large", lambda _place: "is too large a number"),
    "string_too_short": ("too_small", lambda place: f"must have at least {characters(place.context['min_length'])}"),
    "string_too_long": ("too_long", lambda place: f"must have at most {characters(place.context['max_length'])}"),
    "too_long": ("too_long", _too_long),
    "string_pattern_mismatch": ("pattern", _pattern),
}


def characters(count: int) -> str:
    return "1 character" if count == 1 else f"{count} characters"


def number(value: float) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names: dict[type, str] = {str: "text", int: "a whole number", float: "a fraction", list: "a list", dict: "a map"}
    return names.get(type(value), "empty" if value is None else "a value of another type")


def _wrong_type(expected: str, value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be {expected}"
    message = f"must be {expected}, not {type_name(value)}"
    if expected == "text" and isinstance(value, bool | int | float):
        return f"{message}; put the value in quotes"
    if expected.endswith("number") and isinstance(value, str):
        return f"{message}; write it without quotes"
    return message


def _unknown_field(place: _Place, path: Path) -> str:
    known = list(place.model.model_fields) if place.model else []
    suggestion = _did_you_mean(str(path[-1]), known) if path else ""
    return "there is no such field" + (suggestion or f"; the fields here are {', '.join(known)}")


def _did_you_mean(written: str, allowed: list[str]) -> str:
    by_lower = {name.lower(): name for name in allowed}
    # Long input is no typing error, and comparing it would take time.
    close = difflib.get_close_matches(written.lower(), by_lower, n=1) if len(written) <= 64 else []
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


def _followed(data: Any, location: Path) -> Path:
    """The part of a location that exists in the document. Pydantic adds parts for the branches of a union."""
    path: list[str | int] = []
    for part in location:
        if not (isinstance(data, dict) or (isinstance(data, list) and isinstance(part, int))):
            break
        path.append(part)
        data = _value_at(data, (part,))
    return tuple(path)


def _value_at(data: Any, path: Path) -> Any:
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _field_at(model: type[BaseModel], path: Path) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The model that holds the last part of the path, and its field there, as far as models reach."""
    holder: type[BaseModel] | None = model
    field: FieldInfo | None = None
    for index, part in enumerate(path):
        if isinstance(part, int):
            continue
        if index and field is not None:
            holder = next(_models_in(field.annotation), None)
        if holder is None:
            return None, field
        field = holder.model_fields.get(part)
    return holder, field


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _enum_values(annotation: Any) -> Iterator[str]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (str(member.value) for member in annotation)
    for argument in get_args(annotation):
        yield from _enum_values(argument)
