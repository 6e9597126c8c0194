"""Reads what the server answers: the one place that knows where things are in its JSON. Used by the commands.

Everything here takes an answer that lacks a field: an older server may not have it yet.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]
GENERATION_HEADER = "Smarter-Generation"
"""Of what is declared, beside the manifest, which carries only what somebody declared."""


def name_of(manifest: Json) -> str:
    return str(manifest.get("metadata", {}).get("name", ""))


def status_of(manifest: Json) -> Json:
    return manifest.get("status") or {}


def state_of(manifest: Json) -> str:
    return str(status_of(manifest).get("hostStatus") or "")


def message_of(manifest: Json) -> str:
    return str(status_of(manifest).get("message") or "")


def observed_generation_of(manifest: Json) -> int:
    return int(status_of(manifest).get("observedGeneration") or 0)


def condition(manifest: Json, name: str) -> Json:
    """Empty where there is no such condition."""
    conditions: Sequence[Json] = status_of(manifest).get("conditions") or ()
    return next((entry for entry in conditions if str(entry.get("type", "")).lower() == name.lower()), {})


def at_path(manifest: Json, path: str) -> Any:
    """The value at a dotted path, None where it is not."""
    value: Any = manifest
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def generation_in(headers: Mapping[str, str]) -> int:
    """0 where the server does not tell."""
    text = headers.get(GENERATION_HEADER, "")
    return int(text) if text.isdigit() else 0
