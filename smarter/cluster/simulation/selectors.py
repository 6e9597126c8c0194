"""Label selectors: the text form of a list request, and the struct form inside objects. For API and scheduler."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from smarter.core.errors import PermanentError
from smarter.core.objects import KubernetesObject

Labels = Mapping[str, str]
Requirement = tuple[str, str, tuple[str, ...]]

_FIELDS = frozenset({"metadata.name", "metadata.namespace"})
_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^()]*)\)")
_COMPARE = re.compile(r"([^!=\s]+)\s*(==|=|!=)\s*([^!=\s]*)")
_BARE = re.compile(r"(!?)\s*([A-Za-z0-9./_-]+)")
_COMMA = re.compile(r",(?![^(]*\))")


def parse(text: str) -> list[Requirement]:
    """`a=b,c!=d,e in (f,g),h,!i`. Raises PermanentError Invalid for anything else."""
    if not text.strip():
        return []
    return [_parse_one(part.strip(), text) for part in _COMMA.split(text)]


def by_field(kind: str, text: str, found: list[KubernetesObject]) -> list[KubernetesObject]:
    """The fields that every kind has, and of Events what they are about, as in Kubernetes; others are refused."""
    for key, operator, values in parse(text):
        if key not in _FIELDS and not (kind == "Event" and key.startswith("involvedObject.")):
            raise PermanentError(f"list: field label not supported: {key} (invalid)", reason="Invalid")
        wanted = operator == "In"
        found = [body for body in found if (_field(body, key) in values) == wanted]
    return found


def _field(body: KubernetesObject, path: str) -> str:
    value: Any = body
    for part in path.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    return str(value)


def _parse_one(part: str, text: str) -> Requirement:
    if match := _SET.fullmatch(part):
        values = tuple(value.strip() for value in match[3].split(","))
        return match[1], "In" if match[2] == "in" else "NotIn", values
    if match := _COMPARE.fullmatch(part):
        return match[1], "NotIn" if match[2] == "!=" else "In", (match[3],)
    if match := _BARE.fullmatch(part):
        return match[2], "DoesNotExist" if match[1] else "Exists", ()
    raise PermanentError(f"unable to parse label selector {text!r}", reason="Invalid")


def meets(requirements: Sequence[Requirement], labels: Labels) -> bool:
    return all(_meets_one(requirement, labels) for requirement in requirements)


def _meets_one(requirement: Requirement, labels: Labels) -> bool:
    key, operator, values = requirement
    value = labels.get(key)
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    return _compares(operator, value, values)


def _compares(operator: str, value: str | None, values: Sequence[str]) -> bool:
    """Gt and Lt, which node affinity knows."""
    try:
        have, want = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return have > want if operator == "Gt" else have < want


def requirements_of(selector: Mapping[str, Any] | None) -> list[Requirement]:
    """Of a LabelSelector struct."""
    selector = selector or {}
    exact = [(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    return exact + expressions_of(selector.get("matchExpressions") or [])


def expressions_of(expressions: Sequence[Mapping[str, Any]]) -> list[Requirement]:
    return [(one["key"], one["operator"], tuple(one.get("values") or ())) for one in expressions]
