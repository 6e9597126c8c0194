"""`smarter delete`, `deploy` and `undeploy`. Registered by main.py."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from smarter.cli import answers, exit_codes, inputs, output, waiting
from smarter.cli.durations import seconds_of
from smarter.cli.failures import CommandFailed, bad_usage
from smarter.cli.faults import fault_line
from smarter.cli.kinds import KindInfo, find
from smarter.cli.session import Session, open_session
from smarter.cli.targets import TargetArgument, kind_and_name
from smarter.cli.text import one_line
from smarter.cli.waiting import ACTIVE, DELETED, INACTIVE, Awaited, Goal
from smarter.core.problems import errors_of
from smarter.core.strict_yaml import load_documents

Target = tuple[KindInfo, str]
MaybeTargetArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[KIND NAME]", show_default=False, help="For example: llmhost my_host")
]
MaybeFilesOption = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="FILE|FOLDER|-", show_default=False, help="Delete what these declare."),
]
WaitOption = Annotated[str, typer.Option("--wait", metavar="TIME", help="Wait until it is done, at most so long: 5m.")]


def register(app: typer.Typer) -> None:
    for command in (delete, deploy, undeploy):
        app.command()(command)


def delete(
    ctx: typer.Context,
    target: MaybeTargetArgument = None,
    files: MaybeFilesOption = None,
    wait: WaitOption = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where nobody can answer.")] = False,
) -> None:
    """Delete manifests, and what runs of them.

    With -f, what is not there any more counts as deleted, and what others still use is deleted after them.
    """
    if bool(target) == bool(files):
        raise bad_usage("Say what to delete: either KIND NAME, or -f FILE.")
    timeout_seconds = seconds_of(wait) if wait else None
    session = open_session(ctx)
    if target:
        word, name = kind_and_name(target)
        targets = [(session.kind(word), name)]
    else:
        targets = _declared(session, inputs.read(files or ()))
    if not yes:
        _confirm(targets)
    if files:
        _delete_all(session, targets, timeout_seconds)
        return
    _delete_one(session, targets[0])
    _wait(session, [Awaited(*targets[0])], DELETED, timeout_seconds)


def _declared(session: Session, body: inputs.Body) -> list[Target]:
    """The manifests of a body, the last one first: what refers to others usually comes after them."""
    documents, problems = load_documents(body.data)
    faults = [fault_line(problem.as_dict(), body) for problem in errors_of(problems)]
    targets = []
    for document in documents:
        kind = find(session.kinds, document.data.get("apiVersion"), document.data.get("kind"))
        metadata = document.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        place = body.place(*document.locate(()))
        if kind is None:
            faults.append(f"{place}: apiVersion and kind name nothing that the server knows")
        elif not isinstance(name, str) or not name:
            faults.append(f"{place}: metadata.name is missing")
        else:
            targets.append((kind, name))
    if faults:
        raise bad_usage("\n  ".join(["Nothing was deleted.", *faults]))
    return list(reversed(targets))


def _confirm(targets: Sequence[Target]) -> None:
    labels = ", ".join(f"{kind.label}/{name}" for kind, name in targets)
    if not sys.stdin.isatty():
        raise bad_usage(f"Say --yes to delete {one_line(labels)}; nobody can be asked here.")
    if not typer.confirm(f"Delete {one_line(labels)}?", err=True):
        raise bad_usage("Nothing was deleted.")


def _delete_one(session: Session, target: Target) -> None:
    kind, name = target
    answer = session.client.send("DELETE", kind.item_path(name))
    state = answer.json().get("state", "deleted") if answer.content else "deleted"
    output.out(f"{kind.label}/{name} {one_line(state)}")


def _delete_all(session: Session, targets: Sequence[Target], timeout_seconds: float | None) -> None:
    """What is in use is tried again after the others, as long as that helps."""
    remaining = list(targets)
    while remaining:
        refused: list[tuple[Target, CommandFailed]] = []
        accepted: list[Target] = []
        for target in remaining:
            try:
                _delete_one(session, target)
                accepted.append(target)
            except CommandFailed as failure:
                if failure.exit_code == exit_codes.NOT_FOUND:
                    output.out(f"{target[0].label}/{target[1]} is not there")
                elif failure.exit_code == exit_codes.CONFLICT:
                    refused.append((target, failure))
                else:
                    raise
        _wait(session, [Awaited(*target) for target in accepted], DELETED, timeout_seconds)
        if refused and not accepted:
            raise refused[0][1]
        remaining = [target for target, _ in refused]


def deploy(ctx: typer.Context, target: TargetArgument, wait: WaitOption = "") -> None:
    """Run a manifest that is stored. With --wait: until it is active."""
    _switch(ctx, target, "deploy", ACTIVE, wait)


def undeploy(ctx: typer.Context, target: TargetArgument, wait: WaitOption = "") -> None:
    """Take a manifest off its cluster. The manifest and its volumes stay. With --wait: until it is inactive."""
    _switch(ctx, target, "undeploy", INACTIVE, wait)


def _switch(ctx: typer.Context, target: list[str], verb: str, goal: Goal, wait: str) -> None:
    word, name = kind_and_name(target)
    timeout_seconds = seconds_of(wait) if wait else None
    session = open_session(ctx)
    kind = session.kind(word)
    answer = session.client.send("POST", f"{kind.item_path(name)}/{verb}")
    output.out(f"{kind.label}/{name} {verb}ed")
    _wait(session, [Awaited(kind, name, answers.generation_in(answer.headers))], goal, timeout_seconds)


def _wait(session: Session, awaited: Sequence[Awaited], goal: Goal, timeout_seconds: float | None) -> None:
    if timeout_seconds is not None and awaited:
        waiting.wait_for(session, awaited, goal, timeout_seconds)
