"""What a client command works with: the server, the kinds it knows, and how much to say. Opened by each of them."""

from dataclasses import dataclass

import typer

from smarter.cli import config, output
from smarter.cli.client import Client, new_http
from smarter.cli.kinds import KindInfo, kinds_from, resolve
from smarter.cli.options import chosen


@dataclass
class Session:
    client: Client
    quiet: bool = False
    _kinds: list[KindInfo] | None = None

    @property
    def kinds(self) -> list[KindInfo]:
        if self._kinds is None:
            self._kinds = kinds_from(self.client.get("/api/v1/kinds"))
        return self._kinds

    def kind(self, text: str) -> KindInfo:
        return resolve(self.kinds, text)

    def note(self, text: str, style: str = "") -> None:
        """A hint or a warning, not a fault."""
        if not self.quiet:
            output.note(text, style)


def open_session(ctx: typer.Context) -> Session:
    options = chosen(ctx)
    connection = config.connection_for(options.context, options.server)
    session = Session(client_for(ctx, connection), options.quiet)
    file = config.path()
    if config.is_readable_by_others(file):
        session.note(f"warning: {file} holds a token and can be read by others; chmod 600 it.", "yellow")
    return session


def client_for(ctx: typer.Context, connection: config.Connection) -> Client:
    http = new_http(connection)
    ctx.call_on_close(http.close)
    report = output.note if chosen(ctx).verbose else _silent
    return Client(connection, http, report)


def _silent(_text: str) -> None:
    return None
