"""Finds the one-file-each things: engines, sources, kinds.

A module of the package that defines the attribute registers itself by existing. A broken module is a loud import
error, a doubled name is refused with both places.
"""

import importlib
import pkgutil
from collections.abc import Callable, Hashable
from types import ModuleType
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)


def collect(package: ModuleType, attribute: str, key: Callable[[Any], Key]) -> dict[Key, Any]:
    """Every `attribute` of the modules below `package`, by key, in the order of module names. A folder that defines
    the attribute in its `__init__` is one entry; its other modules are its own business."""
    found: dict[Key, Any] = {}
    places: dict[Key, str] = {}
    for name, entry in _entries(package, attribute):
        entry_key = key(entry)
        if entry_key in found:
            raise RuntimeError(f"{attribute} {entry_key!r} is defined in {places[entry_key]} and in {name}")
        found[entry_key] = entry
        places[entry_key] = name
    return found


def _entries(package: ModuleType, attribute: str) -> list[tuple[str, Any]]:
    entries: list[tuple[str, Any]] = []
    for info in sorted(pkgutil.iter_modules(package.__path__, f"{package.__name__}."), key=lambda info: info.name):
        module = importlib.import_module(info.name)
        if hasattr(module, attribute):
            entries.append((info.name, getattr(module, attribute)))
        elif info.ispkg:
            entries.extend(_entries(module, attribute))
    return entries
