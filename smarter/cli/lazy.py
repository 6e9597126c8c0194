"""A group of commands whose modules are imported when one of them runs, so that `smarter --help` is quick.

main.py lists the commands. A listing of help sees stand-ins with a name and one line; the command that is called, or
asked for its own help or completion, is the real one.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from smarter.cli import options
from smarter.cli.failures import CommandFailed
from smarter.cli.output import print_failure


@dataclass(frozen=True)
class LazyCommand:
    """`module` has a function `register(app)` that adds the command, maybe among others."""

    name: str
    module: str
    panel: str
    summary: str


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

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandFailed as failure:
            print_failure(failure, as_json=options.chosen(ctx).output == "json")
            raise typer.Exit(failure.exit_code) from None


def load(entry: LazyCommand) -> Any:
    app = typer.Typer()
    importlib.import_module(entry.module).register(app)
    command = get_group(app).commands[entry.name]
    command.params += options.shared_parameters()
    return command
