"""`smarter apply`: the command of pipelines. Registered by main.py."""

from typing import Annotated, Any

import typer

from smarter.cli import answers, inputs, output, waiting
from smarter.cli.apply_output import show_results
from smarter.cli.client import json_of
from smarter.cli.durations import seconds_of
from smarter.cli.failures import CommandFailed, bad_usage
from smarter.cli.faults import with_places
from smarter.cli.kinds import find
from smarter.cli.options import OutputOption
from smarter.cli.session import Session, open_session
from smarter.cli.waiting import ACTIVE, Awaited

FilesOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="FILE|FOLDER|-", show_default=False, help="May be given several times."),
]
WaitOption = Annotated[
    str,
    typer.Option("--wait", metavar="TIME", help="Wait until all of it is active, at most so long: 90s, 10m, 1h30m."),
]


def register(app: typer.Typer) -> None:
    app.command()(apply)


def apply(
    ctx: typer.Context,
    files: FilesOption,
    deploy: Annotated[bool, typer.Option("--deploy", help="Run it on a cluster, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen; store nothing.")] = False,
    wait: WaitOption = "",
    output_format: OutputOption = "table",
) -> None:
    """Create or change what the manifests declare.

    All documents of all files are stored together, or none of them is. The faults of a refused manifest are printed as
    file:line:column. With --wait the exit code tells whether it works: 0, 6 for a timeout, 7 for a failure.
    """
    timeout_seconds = seconds_of(wait) if wait else None
    if dry_run and timeout_seconds is not None:
        raise bad_usage("--wait makes no sense with --dry-run: nothing is stored that could become active.")
    body = inputs.read(files)
    session = open_session(ctx)
    answer = _send(session, body, deploy=deploy, dry_run=dry_run)
    # Programs get one document, so theirs comes at the end; people see at once what was stored.
    if output_format == "table":
        show_results(session, answer, body)
    if timeout_seconds is not None:
        _wait(session, answer, timeout_seconds)
    if output_format != "table":
        _print(session, answer, output_format)


def _send(session: Session, body: inputs.Body, *, deploy: bool, dry_run: bool) -> dict[str, Any]:
    params = {"deploy": "true" if deploy else None, "dryRun": "true" if dry_run else None}
    try:
        answer: dict[str, Any] = json_of(session.client.send("POST", "/api/v1/apply", body=body.data, **params))
    except CommandFailed as failure:
        raise with_places(failure, body) from None
    return answer


def _wait(session: Session, answer: dict[str, Any], timeout_seconds: float) -> None:
    """Adds the state to each result that was waited for, and the results to the failure."""
    results = answer["results"]
    awaited: list[tuple[dict[str, Any], Awaited]] = []
    for result in results:
        kind = find(session.kinds, result["apiVersion"], result["kind"])
        if kind is None or not kind.deployable:
            continue
        if not result.get("deployed"):
            message = f"{result['kind']} {result['name']} is not deployed, so it cannot become active. Add --deploy."
            raise bad_usage(message)
        awaited.append((result, Awaited(kind, result["name"], int(result.get("generation") or 0))))
    try:
        waiting.wait_for(session, [one for _, one in awaited], ACTIVE, timeout_seconds)
    except CommandFailed as failure:
        failure.problem["results"] = results
        raise
    finally:
        for result, one in awaited:
            result["status"] = answers.status_of(one.manifest)
    for _, one in awaited:
        _say_where(session, one)


def _say_where(session: Session, one: Awaited) -> None:
    status = answers.status_of(one.manifest)
    where = status.get("publicUrl") or status.get("endpoint")
    if where:
        session.note(f"{one.label} answers at {where}", "green")


def _print(session: Session, answer: dict[str, Any], output_format: str) -> None:
    if output_format == "json":
        output.out_json(answer)
    elif output_format == "yaml":
        output.out_yaml([answer])
    else:
        for result in answer["results"]:
            kind = find(session.kinds, result["apiVersion"], result["kind"])
            output.out(f"{kind.label if kind else result['kind'].lower()}/{result['name']}")
