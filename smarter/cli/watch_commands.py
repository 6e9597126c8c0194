"""`smarter logs`, `events` and `wait`: what happens to a manifest. Registered by main.py."""

from typing import Annotated, Any

import typer

from smarter.cli import clock, exit_codes, output, waiting
from smarter.cli.describe import show_events
from smarter.cli.durations import seconds_of
from smarter.cli.failures import CommandFailed, bad_usage
from smarter.cli.options import formats
from smarter.cli.session import Session, open_session
from smarter.cli.targets import TargetArgument, kind_and_name
from smarter.cli.text import one_line, safe
from smarter.cli.waiting import ACTIVE, DELETED, INACTIVE, Awaited, Goal

FOLLOW_SECONDS = 2.0
FOLLOW_LINES = 1000
"""Read with each look. More new lines than that between two looks are lost."""


def register(app: typer.Typer) -> None:
    for command in (logs, events, wait):
        app.command()(command)


def logs(
    ctx: typer.Context,
    target: TargetArgument,
    tail: Annotated[int, typer.Option("--tail", min=1, max=5000, help="So many of the last lines.")] = 200,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Of the run before the last restart.")] = False,
    container: Annotated[str, typer.Option("--container", "-c", metavar="NAME", help="If it has several.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-F", help="Go on with new lines until interrupted.")] = False,
) -> None:
    """Print what the server of a model wrote."""
    if follow and previous:
        raise bad_usage("--follow and --previous contradict each other: a run that has ended writes nothing more.")
    word, name = kind_and_name(target)
    session = open_session(ctx)
    path = f"{session.kind(word).item_path(name)}/logs"
    params = {"container": container or None, "previous": "true" if previous else None}
    window = max(tail, FOLLOW_LINES) if follow else tail
    answer = session.client.get(path, tailLines=window, **params)
    session.note(f"pod {one_line(answer['pod'])}, container {one_line(answer['container'])}", "dim")
    lines = answer["logs"].splitlines()
    _print_lines(lines[-tail:])
    if follow:
        _follow(session, path, {**params, "pod": answer["pod"], "tailLines": window}, lines)


def _follow(session: Session, path: str, params: dict[str, Any], seen: list[str]) -> None:
    """The log of a pod that is replaced ends; the next look takes the pod that has come in its place."""
    while True:
        clock.sleep(FOLLOW_SECONDS)
        try:
            answer = session.client.get(path, **params)
        except CommandFailed as failure:
            if failure.exit_code not in (exit_codes.NOT_FOUND, exit_codes.CONFLICT):
                raise
            params, seen = {**params, "pod": None}, []
            continue
        if params["pod"] is None:
            session.note(f"pod {one_line(answer['pod'])}", "dim")
        params["pod"] = answer["pod"]
        lines = answer["logs"].splitlines()
        _print_lines(new_lines(seen, lines))
        seen = lines


def new_lines(seen: list[str], lines: list[str]) -> list[str]:
    """What `lines` have after `seen`. Both are the last lines of one log, up to the same number, so the older ones
    begin with what the newer ones still have of them."""
    for start in range(len(seen)):
        kept = seen[start:]
        if lines[: len(kept)] == kept:
            return lines[len(kept) :]
    return lines


def _print_lines(lines: list[str]) -> None:
    if lines:
        output.print_exactly("".join(f"{safe(line)}\n" for line in lines))


def events(
    ctx: typer.Context,
    target: TargetArgument,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="So many of the last ones.")] = 50,
    output_format: Annotated[str, formats("table", "yaml", "json")] = "table",
) -> None:
    """Show what happened to a manifest, also after it was deleted. The last event is at the bottom."""
    word, name = kind_and_name(target)
    session = open_session(ctx)
    items = session.client.get(f"{session.kind(word).item_path(name)}/events", limit=limit)["items"]
    if output_format == "json":
        output.out_json({"items": items})
    elif output_format == "yaml":
        output.out_yaml([{"items": items}])
    elif items:
        show_events(list(reversed(items)))
    else:
        session.note("Nothing has happened to it yet.")


def wait(
    ctx: typer.Context,
    target: TargetArgument,
    goal: Annotated[
        str, typer.Option("--for", metavar="STATE", help="active, inactive, deleted, or condition=NAME[=STATUS].")
    ] = "active",
    timeout: Annotated[str, typer.Option("--timeout", metavar="TIME", help="At most so long.")] = "10m",
) -> None:
    """Wait until a manifest is in a state. Exit code 0: it is; 6: time ran out; 7: it has failed."""
    wanted, timeout_seconds = goal_of(goal), seconds_of(timeout)
    word, name = kind_and_name(target)
    session = open_session(ctx)
    one = Awaited(session.kind(word), name)
    waiting.wait_for(session, [one], wanted, timeout_seconds)
    output.out(f"{one.label} is {'at ' if wanted.value else ''}{wanted}")


def goal_of(text: str) -> Goal:
    known = {"active": ACTIVE, "inactive": INACTIVE, "deleted": DELETED, "delete": DELETED}
    if text.lower() in known:
        return known[text.lower()]
    word, _, rest = text.partition("=")
    name, _, value = rest.partition("=")
    if word.lower() != "condition" or not name:
        raise bad_usage(f"--for {text}: it is one of active, inactive, deleted, condition=NAME, condition=NAME=STATUS.")
    return Goal(name.lower(), (value or "True").lower())
