"""A group of commands whose modules are imported when one of them runs, so that `smarter --help` is quick.

main.py lists the commands. A listing of help sees stand-ins with a name and one line; the command that is called, or
asked for its own help or completion, is the real one.
"""

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from smarter.cli import options
from smarter.cli.failures import CommandFailed
from smarter.cli.text import json_text, safe


@dataclass(frozen=True)
class LazyCommand:
    """`module` has a function `register(app)` that adds the command, maybe among others. One that speaks to no server
    has no use for the options of the others."""

    name: str
    module: str
    panel: str
    summary: str
    is_client: bool = True


class LazyGroup(TyperGroup):
    """Also the one place where a failure of a command becomes text and an exit code."""

    table: tuple[LazyCommand, ...] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.params += options.shared_parameters()
        for entry in self.table:
            stand_in = TyperCommand(
                entry.name, help=entry.summary, short_help=entry.summary, rich_help_panel=entry.panel
            )
            self.commands[entry.name] = stand_in

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        entry = next((entry for entry in self.table if entry.name == name), None)
        return name, load(entry) if entry else command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """By panel, in the order of the table."""
        for panel in dict.fromkeys(entry.panel for entry in self.table):
            with formatter.section(panel):
                formatter.write_dl([(entry.name, entry.summary) for entry in self.table if entry.panel == panel])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandFailed as failure:
            _print_failure(failure, as_json=options.chosen(ctx).output_format == "json")
            raise typer.Exit(failure.exit_code) from None


def load(entry: LazyCommand) -> Any:
    app = typer.Typer(rich_markup_mode=None)
    importlib.import_module(entry.module).register(app)
    command = get_group(app).commands[entry.name]
    if entry.is_client:
        command.params += options.shared_parameters()
    return command


def _print_failure(failure: CommandFailed, *, as_json: bool) -> None:
    """For people on standard error, and for programs on standard output."""
    text = f"error: {safe(failure.message)}"
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    typer.echo(typer.style(text, fg=typer.colors.RED) if coloured else text, err=True)
    if as_json:
        typer.echo(json_text(failure.problem), nl=False)


def prepare_streams() -> None:
    """A character that the terminal's encoding lacks is shown as an escape instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
