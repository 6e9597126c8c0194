"""`smarter login`, `context`, `whoami` and `version`: to which server, and as whom. Registered by main.py."""

import os
import sys
from dataclasses import replace
from typing import Annotated

import typer

from smarter.cli import config, output
from smarter.cli.client import version as client_version
from smarter.cli.config import Connection, Context
from smarter.cli.failures import CommandFailed, bad_usage
from smarter.cli.options import chosen, formats
from smarter.cli.session import client_for, open_session

DEFAULT_NAME = "default"


def register(app: typer.Typer) -> None:
    for command in (login, context, whoami, version):
        app.command()(command)


def login(
    ctx: typer.Context,
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read the token from standard input.")] = False,
) -> None:
    """Keep the address and the token of a server for the next commands.

    The token is asked for, or comes from standard input or SMARTER_TOKEN; never from an argument, which everybody on
    the machine could read. It is tried before it is kept. --context gives the login a name; the last one is used.
    """
    options = chosen(ctx)
    known = config.load_own()
    name = options.context or DEFAULT_NAME
    given = options.server or os.environ.get("SMARTER_SERVER", "") or getattr(known.contexts.get(name), "server", "")
    if not given:
        raise bad_usage("Say which server: smarter login --server URL")
    server = config.checked_server(given)
    if server.startswith("http://") and not config.is_this_machine(server):
        output.note(f"warning: {server} is not encrypted; everybody on the way can read the token.", "yellow")
    token = _token(token_stdin)
    who = client_for(ctx, Connection(server, token, name)).get("/api/v1/whoami")
    file = config.save(replace(known, current=name, contexts={**known.contexts, name: Context(server, token)}))
    output.out(f"Logged in to {server} as {who.get('username')}, account {_account(who)}.")
    output.out(f"Kept as context {name} in {file}.")


def _token(from_stdin: bool) -> str:
    if from_stdin:
        token = sys.stdin.readline().strip()
    elif os.environ.get("SMARTER_TOKEN"):
        token = os.environ["SMARTER_TOKEN"].strip()
    elif sys.stdin.isatty():
        token = typer.prompt("Token", hide_input=True, err=True).strip()
    else:
        raise bad_usage("There is no terminal to ask for the token on. Set SMARTER_TOKEN, or use --token-stdin.")
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise bad_usage("That is no token: it is empty, or holds characters that no token has.")
    return token


def _account(who: dict[str, object]) -> str:
    account = who.get("account")
    return str(account.get("number", "")) if isinstance(account, dict) else str(account or "")


def context(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME]", show_default=False, help="Use this one from now on.")] = "",
    forget: Annotated[bool, typer.Option("--forget", help="Remove it, and its token, instead.")] = False,
) -> None:
    """List the logins, or choose one."""
    if not name:
        _list_contexts()
        return
    own = config.load_own()
    if name not in own.contexts:
        raise bad_usage(f"There is no context {name!r}; known: {', '.join(sorted(own.contexts)) or 'none'}.")
    if forget:
        left = {other: entry for other, entry in own.contexts.items() if other != name}
        config.save(replace(own, current="" if own.current == name else own.current, contexts=left))
        output.out(f"{name} is forgotten. Its token stays valid until it is revoked.")
        return
    config.save(replace(own, current=name))
    output.out(f"{name} is used from now on.")


def _list_contexts() -> None:
    found = config.load()
    rows = [["*" if name == found.current else "", name, one.server] for name, one in sorted(found.contexts.items())]
    output.out_table(["", "NAME", "SERVER"], rows)


def whoami(ctx: typer.Context, output_format: Annotated[str, formats("table", "yaml", "json")] = "table") -> None:
    """Show whom the token belongs to, and what it may do."""
    session = open_session(ctx)
    who = session.client.get("/api/v1/whoami")
    if output_format == "json":
        output.out_json(who)
    elif output_format == "yaml":
        output.out_yaml([who])
    else:
        shown = {
            "server": session.client.connection.server,
            "user": who.get("username", ""),
            "account": _account(who),
            "role": who.get("role", ""),
            "scopes": ", ".join(who.get("scopes") or ()),
        }
        output.out_fields(shown)


def version(ctx: typer.Context, output_format: Annotated[str, formats("table", "yaml", "json")] = "table") -> None:
    """Show the versions of this command and of the server."""
    server, failure = None, None
    try:
        session = open_session(ctx)
        server = session.client.get("/api/v1/version")
    except CommandFailed as caught:
        failure = caught
    versions = {"client": client_version(), "server": (server or {}).get("version")}
    if output_format == "json":
        output.out_json(versions)
    elif output_format == "yaml":
        output.out_yaml([versions])
    else:
        output.out_fields({"client": versions["client"], "server": versions["server"] or f"unknown: {failure}"})
