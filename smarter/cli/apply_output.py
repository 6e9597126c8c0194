"""What an apply did, or a dry run would do, for people. The server's answer comes in, lines go out. Used by `apply`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from smarter.cli import output
from smarter.cli.faults import fault_line
from smarter.cli.inputs import Body
from smarter.cli.session import Session
from smarter.cli.text import money, one_line

Json = Mapping[str, Any]
_LONGEST_VALUE = 200


def show_results(session: Session, answer: Json, body: Body) -> None:
    for result in answer["results"]:
        label = f"{result['kind']}/{result['name']}"
        action = _would(result["action"]) if answer.get("dryRun") else result["action"]
        price = _price(result)
        output.out(f"{label} {action}{'  ' + price if price else ''}", output.STYLES.get(result["action"], ""))
        for warning in result.get("warnings") or ():
            session.note(f"  warning: {fault_line(warning, body)}", "yellow")
        for name, value in (result.get("reveal") or {}).items():
            output.out(f"  {one_line(name)}: {value}")
            session.note("  Shown this once; keep it now.", "yellow")
        if result.get("plan"):
            _show_plan(result)


def _would(action: str) -> str:
    words = {"created": "would be created", "changed": "would be changed", "unchanged": "would stay as it is"}
    return words.get(action, f"would be {action}")


def _price(result: Json) -> str:
    """Nothing for what takes no machine."""
    if not result.get("compute"):
        return ""
    if result.get("pricePerHour") is None:
        return f"no price is known for {one_line(result['compute'])}"
    running = "" if result.get("deployed") else " when deployed"
    return f"{money(result['pricePerHour'], result.get('currency') or 'USD')} per hour{running}"


def _show_plan(result: Json) -> None:
    plan = result["plan"]
    _section("fields", [_field(change) for change in plan.get("fields") or ()])
    _section("objects", _objects(plan.get("objects") or {}))
    rows = [*_node(result), *_memory(plan.get("memory"))]
    if rows:
        output.out_fields(rows, indent=2)


def _section(title: str, lines: Sequence[tuple[str, str]]) -> None:
    if lines:
        output.out(f"  {title}")
    for line, style in lines:
        output.out(f"    {line}", style)


def _field(change: Json) -> tuple[str, str]:
    path, before, after = one_line(change["path"]), change.get("before"), change.get("after")
    if before is None:
        return f"+ {path}: {_value(after)}", "green"
    if after is None:
        return f"- {path}: {_value(before)}", "red"
    return f"~ {path}: {_value(before)} -> {_value(after)}", "yellow"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = one_line(text)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _objects(objects: Json) -> list[tuple[str, str]]:
    """An object that is changed and restarted is said once."""
    restarts = [_object(ref) for ref in objects.get("restarts") or ()]
    lines = [(f"+ {_object(ref)}", "green") for ref in objects.get("created") or ()]
    for ref in objects.get("changed") or ():
        name = _object(ref)
        lines.append((f"~ {name}{' (its pods are replaced)' if name in restarts else ''}", "yellow"))
    return lines + [(f"- {_object(ref)}", "red") for ref in objects.get("deleted") or ()]


def _object(ref: Json) -> str:
    return one_line("/".join(part for part in (ref.get("kind"), ref.get("namespace"), ref.get("name")) if part))


def _node(result: Json) -> list[tuple[str, str]]:
    if not result.get("compute"):
        return []
    currency = result.get("currency") or "USD"
    share = result.get("nodeShare")
    size = f", {result.get('replicas')} x {share} of a node" if share else ""
    rows = [("node", f"{result['compute']} ({result.get('instanceType') or 'unknown type'}){size}")]
    if result.get("pricePerHour") is not None:
        hour, month = (money(result.get(name), currency, 2 if name.endswith("Month") else 4) for name in _PRICES)
        rows.append(("price", f"{hour} per hour, {month} per month"))
    return rows


_PRICES = ("pricePerHour", "pricePerMonth")


def _memory(memory: Json | None) -> list[tuple[str, str]]:
    if not memory:
        return []
    return [("memory", f"{str(memory.get('verdict', '')).replace('_', ' ')}: {one_line(memory.get('message', ''))}")]
