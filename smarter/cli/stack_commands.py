"""`smarter up`, `down` and `status`: Smarter as a whole on this machine. Registered by main.py.

They start and stop programs and speak HTTP; they import nothing of the server.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from smarter.cli import exit_codes
from smarter.cli.embedded import control_plane, stack, state
from smarter.cli.failures import CommandFailed
from smarter.core.errors import PermanentError


def register(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(down)
    app.command()(status)


class Progress:
    """Lines on standard error with the seconds since the begin."""

    def __init__(self, began: float | None = None) -> None:
        self.began = began or time.time()

    def __call__(self, text: str) -> None:
        typer.echo(f"[{time.time() - self.began:6.1f} s] {text}", err=True)


def checkout() -> Path:
    """The folder that manage.py lies in; an installed package alone has none."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / "manage.py").exists():
        raise PermanentError("This command works from a checkout of Smarter.", reason="NoCheckout")
    return folder


@contextmanager
def failures_shown() -> Iterator[None]:
    """A failure that a person can do something about is a sentence, not a stack trace."""
    try:
        yield
    except PermanentError as fault:
        raise CommandFailed(exit_codes.FAULT, fault.message) from None


def up(port: Annotated[int, typer.Option(help="Port of the API; by default 8000, or a free one.")] = 0) -> None:
    """Start Smarter on this machine: database, queue, web, worker and beat.

    DATABASE_URL and BROKER_URL are used where they are set, and nothing is started in their place. Running it again
    starts what has stopped and replaces what is out of date.
    """
    with failures_shown():
        folder = checkout()
        progress = Progress()
        running = stack.up(folder, state.default_state_dir(folder), progress, port)
        progress("Ready")
    typer.echo(f"API            {running.url}/api/v1/")
    typer.echo("Stop           smarter down")


def down() -> None:
    """Stop everything that `up` or the quickstart has started here. The data stay."""
    with failures_shown():
        folder = checkout()
        state_dir = state.default_state_dir(folder)
        stack.down(state_dir)
        control_plane.down(folder, state_dir)
    typer.echo("Stopped.")


def status() -> None:
    """Show which processes run. Exit code 8 if not all of them do."""
    with failures_shown():
        found = stack.status(state.default_state_dir(checkout()))
    for process in found:
        typer.echo(f"{process.name:<10}{f'pid {process.pid}' if process.pid else '-':<14}{process.address}".rstrip())
    if not all(process.pid for process in found):
        raise typer.Exit(exit_codes.UNREACHABLE)
