"""Prints results and notes. Every command goes through here; lazy.py prints failures.

Results go to standard output and everything else to standard error, so that a pipe carries only what was asked for.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from smarter.cli.text import json_text, one_line, safe
from smarter.core.scalars import resolve_plain
from smarter.core.text_policy import FORBIDDEN

STYLES = {
    "active": "green",
    "created": "green",
    "changed": "yellow",
    "degraded": "yellow",
    "error": "red",
    "warning": "yellow",
    "inactive": "dim",
    "unchanged": "dim",
}
"""Colours of single words in tables; only on a terminal, and not where NO_COLOR is set."""


def out(text: str, style: str = "") -> None:
    Console(soft_wrap=True, highlight=False, markup=False, emoji=False).print(Text(safe(text), style=style))


def note(text: str, style: str = "") -> None:
    """Warnings, progress, hints."""
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False).print(
        Text(safe(text), style=style)
    )


def is_terminal() -> bool:
    """Whether somebody watches the progress."""
    return sys.stderr.isatty()


def out_json(data: Any) -> None:
    print_exactly(json_text(data))


def out_yaml(documents: Sequence[Any]) -> None:
    print_exactly("---\n".join(yaml_text(document) for document in documents))


def yaml_text(data: Any) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    if FORBIDDEN.search(text):
        text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=False, width=10_000)
    return text


def print_exactly(text: str) -> None:
    """Without colours or wrapping: for text that programs read."""
    sys.stdout.write(text)
    sys.stdout.flush()


class _Dumper(yaml.SafeDumper):
    """Text of several lines as a block; quotation marks where our own reader of YAML would see something else."""

    def ignore_aliases(self, data: Any) -> bool:
        # The reader of manifests refuses aliases.
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text and not FORBIDDEN.search(text):
        style = "|"
    elif resolve_plain(text) != text:
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def out_table(titles: Sequence[str], rows: Iterable[Sequence[object]], indent: int = 0) -> None:
    """Columns by width. The last one is not padded, so that no line ends in blanks."""
    lines = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[index]) for row in [list(titles), *lines]) for index in range(len(titles))]
    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    console.print(_row(titles, widths, indent, "bold"))
    for line in lines:
        console.print(_row(line, widths, indent))


def _row(cells: Sequence[str], widths: Sequence[int], indent: int, style: str = "") -> Text:
    line = Text(" " * indent)
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        last = index == len(cells) - 1
        line.append(cell, style=style or STYLES.get(cell, ""))
        line.append("" if last else " " * (width - cell_len(cell) + 3))
    line.rstrip()
    return line


def out_fields(fields: Mapping[str, object] | Iterable[tuple[str, object]], indent: int = 0) -> None:
    """Name and value in two columns. Values of several lines keep their lines."""
    pairs = list(fields.items() if isinstance(fields, Mapping) else fields)
    width = max((cell_len(name) for name, _ in pairs), default=0) + 3
    for name, value in pairs:
        first, *rest = safe(value).splitlines() or [""]
        out(f"{' ' * indent}{name}{' ' * (width - cell_len(name))}{first}".rstrip(), STYLES.get(first, ""))
        for line in rest:
            out(f"{' ' * (indent + width)}{line}")
