"""The JSON Schemas that the models are generated from, and the rules that the generated models cannot carry.

Called by `smarter.models.sam.base`, and by whatever shows a schema or an example to a user.
"""

import json
import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from smarter.models.sam.faults import Fault, Path, characters, type_name

MAX_DEPTH = 32
# The largest whole number that every JSON reader keeps exact.
MAX_INTEGER = 2**53 - 1


@cache
def schemas(package: str = "smarter.models.sam") -> dict[str, dict[str, Any]]:
    """All schemas of one vocabulary by kind. Callers must not change them."""
    folder = files(package) / "schema"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json"))
    return {name.removesuffix(".json"): json.loads((folder / name).read_text("utf-8")) for name in found}


def plain(data: Any) -> tuple[Any, list[Fault]]:
    """A copy of the data with only what JSON can say, and a fault for each thing that it cannot."""
    faults: list[Fault] = []
    return _plain(data, (), faults), faults


def _plain(value: Any, path: Path, faults: list[Fault]) -> Any:
    if len(path) > MAX_DEPTH:
        faults.append(Fault(path, "invalid", f"is nested more than {MAX_DEPTH} levels deep"))
        return None
    if isinstance(value, dict):
        return {
            key: _plain(item, (*path, key), faults) for key, item in value.items() if _is_plain_key(key, path, faults)
        }
    if isinstance(value, list):
        return [_plain(item, (*path, index), faults) for index, item in enumerate(value)]
    return _plain_scalar(value, path, faults)


def _is_plain_key(key: Any, path: Path, faults: list[Fault]) -> bool:
    if isinstance(key, str) and _is_unicode(key):
        return True
    faults.append(Fault(path, "type", f"the name of every entry must be text, not {type_name(key)}"))
    return False


def _plain_scalar(value: Any, path: Path, faults: list[Fault]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if _is_unicode(value):
            return value
        faults.append(Fault(path, "invalid", "holds characters that are not valid Unicode"))
        return None
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            faults.append(Fault(path, "too_large", f"must be between -{MAX_INTEGER} and {MAX_INTEGER}"))
            # Python refuses to write numbers of thousands of digits. This one is out of every bound as well.
            return max(min(value, 2**80), -(2**80))
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            faults.append(Fault(path, "type", "must be a finite number"))
        return value
    faults.append(Fault(path, "type", "must be text, a number, true or false, a list or a map"))
    return None


def _is_unicode(text: str) -> bool:
    """False for halves of surrogate pairs, which neither JSON nor Postgres can hold."""
    if text.isascii():
        return True
    return not any("\ud800" <= character <= "\udfff" for character in text)


def size_faults(model: type[BaseModel], data: Any) -> Iterator[Fault]:
    """Bounds that the generator leaves out of the models: the number of entries of a map that may also be null or
    that stands in a list, and the length of a secret text."""
    found = _node_of(model.__module__.rpartition(".")[0], model.__name__)
    if found:
        document, node = found
        yield from _sizes(document, node, data, ())


@cache
def _node_of(package: str, class_name: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    try:
        documents = schemas(package).values()
    except (ModuleNotFoundError, FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        # A model that was not generated from a schema has no bounds of this sort.
        return None
    for document in documents:
        if document["title"] == class_name:
            return document, document
        if class_name in document["$defs"]:
            return document, document["$defs"][class_name]
    return None


def _sizes(document: dict[str, Any], node: dict[str, Any], value: Any, path: Path) -> Iterator[Fault]:
    if "$ref" in node:
        node = document["$defs"][node["$ref"].rpartition("/")[2]]
    for branch in node.get("anyOf", ()):
        yield from _sizes(document, branch, value, path)
    if isinstance(value, dict):
        yield from _entry_count(node, value, path)
        others = node.get("additionalProperties")
        for key, item in value.items():
            below = node.get("properties", {}).get(key, others)
            if isinstance(below, dict):
                yield from _sizes(document, below, item, (*path, key))
    elif isinstance(value, list) and "items" in node:
        for index, item in enumerate(value):
            yield from _sizes(document, node["items"], item, (*path, index))
    elif isinstance(value, str) and node.get("format") == "password":
        yield from _secret_length(node, value, path)


def _entry_count(node: dict[str, Any], value: dict[str, Any], path: Path) -> Iterator[Fault]:
    least, most = node.get("minProperties", 0), node.get("maxProperties", math.inf)
    if least == most != len(value):
        yield Fault(
            path, "too_long" if value else "too_small", f"must have exactly {least} entry, a name and its value"
        )
    elif len(value) > most:
        yield Fault(path, "too_long", f"must have at most {most} entries")


def _secret_length(node: dict[str, Any], value: str, path: Path) -> Iterator[Fault]:
    if len(value) < node.get("minLength", 0):
        yield Fault(path, "too_small", f"must have at least {characters(node['minLength'])}")
    elif len(value) > node.get("maxLength", math.inf):
        yield Fault(path, "too_long", f"must have at most {characters(node['maxLength'])}")
