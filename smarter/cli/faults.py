"""The faults of a refused body as lines that editors understand: `file:line:column: path: message`. Used by `apply`."""

from collections.abc import Mapping, Sequence
from typing import Any

from smarter.cli.failures import CommandFailed
from smarter.cli.inputs import Body
from smarter.cli.text import one_line


def with_places(failure: CommandFailed, body: Body) -> CommandFailed:
    """The same failure with every fault in its message, and with the files' own lines for programs too."""
    errors = failure.problem.get("errors") or []
    if not errors:
        return failure
    lines = [fault_line(error, body) for error in errors]
    message = "\n".join([failure.message, *(f"  {line}" for line in lines)])
    return CommandFailed(failure.exit_code, message, {**failure.problem, "errors": _placed(errors, body)})


def fault_line(fault: Mapping[str, Any], body: Body) -> str:
    place = body.place(fault.get("line"), fault.get("column"))
    parts = [place, fault.get("path") or "", fault.get("message") or fault.get("code") or ""]
    return ": ".join(one_line(part) for part in parts if part)


def _placed(errors: Sequence[Mapping[str, Any]], body: Body) -> list[dict[str, Any]]:
    """Line and column of the file instead of the body, and the file."""
    placed = []
    for error in errors:
        line = error.get("line")
        place = body.place(line, error.get("column"))
        if line is None:
            placed.append({**error, "file": place or None})
            continue
        file, in_file, _ = place.rsplit(":", 2)
        placed.append({**error, "file": file, "line": int(in_file)})
    return placed
