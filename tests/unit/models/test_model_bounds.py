"""Every bound of every schema holds on both sides, in the model and in the schema alike."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from smarter.models.sam.base import validate
from smarter.models.sam.schemas import schemas
from tests.unit.models.schema_cases import MODULES, Bound, bounds, fields, model_of, type_of, with_value

ALL_BOUNDS = [bound for kind in MODULES for bound in bounds(kind)]


@pytest.mark.parametrize("bound", ALL_BOUNDS, ids=str)
def test_bound(bound: Bound) -> None:
    model, schema = model_of(bound.kind), Draft202012Validator(schemas()[bound.kind])

    fitting = with_value(bound.kind, bound.path, bound.passing)
    instance, faults = validate(model, fitting)
    assert faults == []
    assert instance is not None
    assert schema.is_valid(fitting)

    broken = with_value(bound.kind, bound.path, bound.failing)
    instance, faults = validate(model, broken)
    assert instance is None
    assert [(fault.path, fault.code) for fault in faults] == [(bound.place, bound.code)]
    assert not schema.is_valid(broken)


def test_the_bounds_are_many() -> None:
    """Guards the tests above against a reader of schemas that finds nothing."""
    assert len(ALL_BOUNDS) > 200
    assert {bound.rule for bound in ALL_BOUNDS} == {
        *("enum", "minimum", "maximum", "exclusiveMinimum", "pattern", "minLength", "maxLength"),
        *("maxItems", "maxProperties", "minProperties", "propertyNames"),
    }


@pytest.mark.parametrize("kind", MODULES)
def test_whatever_a_user_can_write_has_an_upper_bound(kind: str) -> None:
    assert list(_open_ended(kind)) == []


def _open_ended(kind: str) -> Iterator[str]:
    for path, node in fields(kind):
        # The length of a name is judged together with its form, where a better name can be suggested.
        if path == ("metadata", "name"):
            continue
        if not _is_closed(node):
            yield ".".join(map(str, path))


def _is_closed(node: dict[str, Any]) -> bool:
    if "enum" in node:
        return True
    match type_of(node):
        case "string":
            return "maxLength" in node or "pattern" in node or node.get("format") == "date-time"
        case "integer":
            return "minimum" in node and node.get("maximum", 2**53) <= 2**53 - 1
        case "number":
            return "maximum" in node
        case "array":
            return "maxItems" in node
        case "object":
            return node.get("additionalProperties") is False or "maxProperties" in node
        case kind:
            return kind == "boolean"
