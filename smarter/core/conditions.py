"""Conditions of a resource's status, in the Kubernetes form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Truth = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Condition:
    """`type` and `reason` are CamelCase words, `message` says why and what to do."""

    type: str
    status: Truth
    reason: str
    message: str = ""


def truth(value: bool) -> Truth:
    return "True" if value else "False"


def merge(
    previous: Iterable[Mapping[str, Any]], conditions: Iterable[Condition], *, generation: int, now: datetime
) -> list[dict[str, Any]]:
    """The conditions to store. The time of the last transition is kept while the status of a condition stays."""
    before = {condition.get("type"): condition for condition in previous}
    merged = []
    for condition in conditions:
        old = before.get(condition.type)
        unchanged = old is not None and old.get("status") == condition.status
        merged.append(
            {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "observedGeneration": generation,
                "lastTransitionTime": old["lastTransitionTime"] if old and unchanged else now.isoformat(),
            }
        )
    return merged
