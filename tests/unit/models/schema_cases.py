"""Documents and bounds read off the JSON Schemas, for the tests of the models beside this file."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from smarter.models.sam.schemas import schemas

MODULES = {
    "Account": "account",
    "Cluster": "cluster",
    "LLMHost": "llm_host",
    "LLMHostCompute": "llm_host_compute",
    "Secret": "secret",
    "SmarterAuthToken": "smarter_auth_token",
    "User": "user",
}
# A text that fits each pattern, because the schema does not tell one.
FITTING = {
    r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$": "1.0.0-rc.1+build.5",
    r"^[A-Z]{3}$": "EUR",
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$": "2026-01-31",
    r"^[0-9]{4}-[0-9]{4}-[0-9]{4}$": "1234-5678-9012",
}

Node = dict[str, Any]
Path = tuple[str | int, ...]
Rule = tuple[str, Any, Any, str, Path]


@dataclass(frozen=True)
class Bound:
    """One rule of one field, with a value on each side of it. `place` is where a fault must be reported."""

    kind: str
    path: Path
    rule: str
    passing: Any
    failing: Any
    code: str
    place: Path

    def __str__(self) -> str:
        return f"{self.kind}:{'.'.join(map(str, self.path))}:{self.rule}"


def model_of(kind: str) -> type[BaseModel]:
    model: type[BaseModel] = getattr(import_module(f"smarter.models.sam.{MODULES[kind]}"), f"SAM{kind}")
    return model


def resolve(kind: str, node: Node) -> Node:
    """The schema without its reference and without the branch for null."""
    if "$ref" in node:
        return resolve(kind, schemas()[kind]["$defs"][node["$ref"].rpartition("/")[2]])
    branches = [branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]
    return resolve(kind, branches[0]) if branches else node


def type_of(node: Node) -> str | None:
    declared = node.get("type")
    return next((name for name in declared if name != "null"), None) if isinstance(declared, list) else declared


def fields(kind: str, node: Node | None = None, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Every node that a user may write, with its path; the entry of a list is at 0, that of a map at "entry"."""
    node = resolve(kind, schemas()[kind] if node is None else node)
    yield path, node
    for name, below in node.get("properties", {}).items():
        if (*path, name) != ("status",):
            yield from fields(kind, below, (*path, name))
    if "items" in node:
        yield from fields(kind, node["items"], (*path, 0))
    if isinstance(node.get("additionalProperties"), dict):
        yield from fields(kind, node["additionalProperties"], (*path, "entry"))


def minimal(kind: str, node: Node | None = None) -> Any:
    """The smallest value that fits."""
    node = resolve(kind, schemas()[kind] if node is None else node)
    if "enum" in node:
        return node["enum"][0]
    match type_of(node):
        case "object" if "properties" in node:
            return {name: minimal(kind, node["properties"][name]) for name in node.get("required", ())}
        case "object":
            return {f"entry{index}": _entry(kind, node) for index in range(node.get("minProperties", 0))}
        case "array":
            return []
        case "string":
            if node.get("format") == "date-time":
                return "2030-01-31T00:00:00Z"
            return FITTING[node["pattern"]] if "pattern" in node else "x" * node.get("minLength", 0)
        case "boolean":
            return True
        case _:
            return node.get("minimum", node.get("maximum", 0))


def _entry(kind: str, node: Node) -> Any:
    below = node.get("additionalProperties")
    return minimal(kind, below) if isinstance(below, dict) else "anything"


def with_value(kind: str, path: Path, value: Any) -> dict[str, Any]:
    """The minimal document with one value in it; blocks on the way to it are minimal as well."""
    document: dict[str, Any] = minimal(kind)
    nodes = dict(fields(kind))
    holder: Any = document
    for index, part in enumerate(path):
        last = index == len(path) - 1
        below = value if last else minimal(kind, nodes[path[: index + 1]])
        if isinstance(holder, list):
            holder.append(below)
        elif last or part not in holder:
            holder[part] = below
        holder = holder[part]
    return document


def bounds(kind: str) -> Iterator[Bound]:
    for path, node in fields(kind):
        for rule, passing, failing, code, place in _rules(kind, node):
            yield Bound(kind, path, rule, passing, failing, code, (*path, *place))


def _rules(kind: str, node: Node) -> Iterator[Rule]:
    yield from _scalar_rules(node)
    yield from _text_rules(node)
    yield from _container_rules(kind, node)


def _scalar_rules(node: Node) -> Iterator[Rule]:
    if "enum" in node:
        yield from (("enum", member, "no such member", "enum", ()) for member in node["enum"])
    if "minimum" in node:
        yield "minimum", node["minimum"], node["minimum"] - 1, "too_small", ()
    if "maximum" in node:
        yield "maximum", node["maximum"], node["maximum"] + 1, "too_large", ()
    if "exclusiveMinimum" in node:
        yield "exclusiveMinimum", node["exclusiveMinimum"] + 0.01, node["exclusiveMinimum"], "too_small", ()


def _text_rules(node: Node) -> Iterator[Rule]:
    if "pattern" in node:
        yield "pattern", FITTING[node["pattern"]], "!", "pattern", ()
    if node.get("minLength"):
        yield "minLength", "x" * node["minLength"], "x" * (node["minLength"] - 1), "too_small", ()
    if "maxLength" in node and "pattern" not in node:
        yield "maxLength", "x" * node["maxLength"], "x" * (node["maxLength"] + 1), "too_long", ()


def _container_rules(kind: str, node: Node) -> Iterator[Rule]:
    if "maxItems" in node:
        entry = minimal(kind, node["items"])
        yield "maxItems", [entry] * node["maxItems"], [entry] * (node["maxItems"] + 1), "too_long", ()
    if "maxProperties" in node:
        full = {f"k{index}": _entry(kind, node) for index in range(node["maxProperties"] + 1)}
        fitting = dict(list(full.items())[:-1])
        yield "maxProperties", fitting, full, "too_long", ()
    if node.get("minProperties"):
        yield "minProperties", {"k": _entry(kind, node)}, {}, "too_small", ()
    if "maxLength" in node.get("propertyNames", {}):
        most = node["propertyNames"]["maxLength"]
        long = "k" * (most + 1)
        yield "propertyNames", {"k" * most: _entry(kind, node)}, {long: _entry(kind, node)}, "too_long", (long,)
