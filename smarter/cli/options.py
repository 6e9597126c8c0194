"""The options that every command has, before or after its name: which server, and how much to say.

They are not parameters of the commands: lazy.py adds them, and a command asks `chosen(ctx)`.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.main import get_command

PANEL = "Options of every command"
_KEY = "smarter."


@dataclass(frozen=True)
class Chosen:
    """`output_format` is that of the command that runs: a failure is printed in the same one."""

    context: str = ""
    server: str = ""
    verbose: bool = False
    quiet: bool = False
    output_format: str = ""


def chosen(ctx: typer.Context) -> Chosen:
    found = {key.removeprefix(_KEY): value for key, value in ctx.meta.items() if key.startswith(_KEY)}
    return Chosen(**found)


def _remember(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    # Given before and after the name of the command, the later one counts; absent, it changes nothing.
    if value:
        ctx.meta[f"{_KEY}{param.name}"] = value
    return value


def _text(names: str, metavar: str, text: str) -> Any:
    return typer.Option(
        names, metavar=metavar, help=text, callback=_remember, rich_help_panel=PANEL, show_default=False
    )


def _flag(long: str, short: str, text: str) -> Any:
    return typer.Option(long, short, help=text, callback=_remember, rich_help_panel=PANEL, show_default=False)


def _shared(
    context: Annotated[str, _text("--context", "NAME", "The login to use, or to make (SMARTER_CONTEXT).")] = "",
    server: Annotated[str, _text("--server", "URL", "Address of the Smarter server (SMARTER_SERVER).")] = "",
    verbose: Annotated[bool, _flag("--verbose", "-v", "Print each request to standard error.")] = False,
    quiet: Annotated[bool, _flag("--quiet", "-q", "No progress and no hints, only results and faults.")] = False,
) -> None:
    """Only its parameters are used."""


def shared_parameters() -> list[Any]:
    app = typer.Typer(add_completion=False)
    app.command()(_shared)
    parameters = list(get_command(app).params)
    for parameter in parameters:
        # The command's own function does not take them; `chosen` gives them to who asks.
        parameter.expose_value = False
    return parameters


def formats(*names: str) -> Any:
    """The option -o of a command that knows these formats."""

    def check(ctx: typer.Context, param: typer.CallbackParam, value: str) -> str:
        if value not in names:
            raise typer.BadParameter(f"{value} is not one of: {', '.join(names)}.")
        ctx.meta[f"{_KEY}output_format"] = value
        return value

    return typer.Option("--output", "-o", metavar="FORMAT", callback=check, help=f"One of: {', '.join(names)}.")


OutputOption = Annotated[str, formats("table", "yaml", "json", "name")]
