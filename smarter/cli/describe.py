"""Lays out one manifest for people. The server's answers come in, text goes out. Used by `smarter describe`."""

from collections.abc import Mapping, Sequence
from typing import Any

from smarter.cli import answers, output
from smarter.cli.kinds import KindInfo
from smarter.cli.text import one_line

Json = Mapping[str, Any]
_CONDITION_FIELDS = ("type", "status", "reason", "message", "lastTransitionTime")
_SHOWN_APART = frozenset({"conditions", "dependencies", "warnings"})
_WARNING_FIELDS = ("path", "code", "message")


def show_manifest(kind: KindInfo, manifest: Json, objects: Json, events: Sequence[Json]) -> None:
    output.out(f"{kind.name} {answers.name_of(manifest)}", "bold")
    metadata = {key: value for key, value in manifest.get("metadata", {}).items() if key != "name"}
    _section("Metadata", _rows(metadata))
    _section("Status", _rows({k: v for k, v in answers.status_of(manifest).items() if k not in _SHOWN_APART}))
    _conditions(answers.status_of(manifest).get("conditions") or ())
    _warnings(answers.status_of(manifest).get("warnings") or ())
    _section("Used by", _used_by(answers.status_of(manifest).get("dependencies") or ()))
    _objects(objects)
    _events(events)
    output.out("\nSpec", "bold")
    output.out(output.yaml_text(manifest.get("spec") or {}).rstrip())


def _section(title: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        output.out(f"\n{title}", "bold")
        output.out_fields(rows, indent=2)


def _rows(values: Json) -> list[tuple[str, str]]:
    return [(one_line(key), _text(value)) for key, value in values.items() if value not in (None, "", [], {})]


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return output.yaml_text(value).rstrip()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _conditions(conditions: Sequence[Json]) -> None:
    if not conditions:
        return
    output.out("\nConditions", "bold")
    rows = [[*(entry.get(name) or "-" for name in _CONDITION_FIELDS)] for entry in conditions]
    output.out_table(["TYPE", "STATUS", "REASON", "MESSAGE", "SINCE"], rows, indent=2)


def _warnings(warnings: Sequence[Json]) -> None:
    if not warnings:
        return
    output.out("\nWarnings", "bold")
    rows = [[*(entry.get(name) or "-" for name in _WARNING_FIELDS)] for entry in warnings]
    output.out_table(["FIELD", "CODE", "MESSAGE"], rows, indent=2)


def _used_by(dependencies: Sequence[Json]) -> list[tuple[str, str]]:
    return [(one_line(entry.get("kind", "")), str(entry.get("name", ""))) for entry in dependencies]


def _objects(objects: Json) -> None:
    cluster = objects.get("cluster") or {}
    live = objects.get("live") or ()
    if not live and not cluster.get("message"):
        return
    rows = [(one_line(body.get("kind", "")), _object_name(body)) for body in live]
    _section("Objects", rows or [("none", str(cluster["message"]))])


def _object_name(body: Json) -> str:
    metadata = body.get("metadata") or {}
    return "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))


def _events(events: Sequence[Json]) -> None:
    """They come with the newest first and are read from the top."""
    if events:
        output.out("\nEvents", "bold")
        show_events(list(reversed(events)), indent=2)


def show_events(events: Sequence[Json], indent: int = 0) -> None:
    rows = [[_short(one.get("at")), one.get("type"), one.get("reason"), one.get("message") or "-"] for one in events]
    output.out_table(["TIME", "TYPE", "REASON", "MESSAGE"], rows, indent)


def _short(moment: object) -> str:
    """To the second: 2026-11-30T20:59:50."""
    return str(moment or "-")[:19]
