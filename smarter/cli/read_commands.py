"""`smarter get`, `describe`, `kinds`, `schema` and `example`: what is there. Registered by main.py."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from smarter.cli import answers, exit_codes, output
from smarter.cli.client import segment
from smarter.cli.describe import show_manifest
from smarter.cli.failures import CommandFailed
from smarter.cli.kinds import KindInfo
from smarter.cli.options import OutputOption, formats
from smarter.cli.session import Session, open_session
from smarter.cli.targets import OptionalTargetArgument, TargetArgument, kind_and_maybe_name, kind_and_name
from smarter.cli.text import safe

PAGE = 200
NAME_COLUMN = ("NAME", "metadata.name")
KindArgument = Annotated[str, typer.Argument(metavar="KIND", show_default=False, help="For example: llmhost")]


def register(app: typer.Typer) -> None:
    for command in (get, describe, kinds, schema, example):
        app.command()(command)


def get(
    ctx: typer.Context,
    target: OptionalTargetArgument,
    output_format: OutputOption = "table",
) -> None:
    """List the manifests of a kind, or show one.

    What -o yaml prints can be applied again.
    """
    word, name = kind_and_maybe_name(target)
    session = open_session(ctx)
    kind = session.kind(word)
    items = [session.client.get(kind.item_path(name))] if name else _all(session, kind)
    if output_format == "json":
        output.out_json(items[0] if name else {"items": items})
    elif output_format == "yaml":
        output.out_yaml(items)
    elif output_format == "name":
        for item in items:
            output.out(f"{kind.label}/{answers.name_of(item)}")
    elif items:
        columns = (NAME_COLUMN, *(column for column in kind.columns if column != NAME_COLUMN))
        output.out_table([title for title, _ in columns], [_cells(item, columns) for item in items])
    else:
        session.note(f"There are no {kind.plural}.")


def _all(session: Session, kind: KindInfo) -> list[dict[str, Any]]:
    """All pages. What is created or deleted meanwhile may show twice or not; names sort it out."""
    found: dict[str, dict[str, Any]] = {}
    offset = 0
    while True:
        page = session.client.get(kind.path, limit=PAGE, offset=offset)
        items = page["items"]
        found.update({answers.name_of(item): item for item in items})
        offset += len(items)
        if not items or offset >= page["total"]:
            return list(found.values())


def _cells(item: Mapping[str, Any], columns: tuple[tuple[str, str], ...]) -> list[str]:
    return [_cell(answers.at_path(item, path)) for _, path in columns]


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def describe(ctx: typer.Context, target: TargetArgument) -> None:
    """Show one manifest for people: state, conditions, cost, objects and the last events."""
    word, name = kind_and_name(target)
    session = open_session(ctx)
    kind = session.kind(word)
    manifest = session.client.get(kind.item_path(name))
    events = session.client.get(f"{kind.item_path(name)}/events", limit=15)["items"]
    show_manifest(kind, manifest, _objects(session, kind, name), events)


def _objects(session: Session, kind: KindInfo, name: str) -> Mapping[str, Any]:
    """Asks a cluster, which may not answer; the rest is worth showing all the same."""
    if not kind.deployable:
        return {}
    try:
        found: Mapping[str, Any] = session.client.get(f"{kind.item_path(name)}/objects")
    except CommandFailed as failure:
        if failure.exit_code == exit_codes.NOT_ALLOWED:
            raise
        return {"cluster": {"answered": False, "message": failure.message}}
    return found


def kinds(ctx: typer.Context, output_format: OutputOption = "table") -> None:
    """List the kinds of manifests that the server knows."""
    session = open_session(ctx)
    if output_format in ("json", "yaml"):
        answer = session.client.get("/api/v1/kinds")
        output.out_json(answer) if output_format == "json" else output.out_yaml([answer])
        return
    if output_format == "name":
        for kind in session.kinds:
            output.out(kind.address)
        return
    rows = [
        [kind.name, kind.plural, kind.api_version, "yes" if kind.deployable else "no", kind.summary]
        for kind in session.kinds
    ]
    output.out_table(["KIND", "PLURAL", "API VERSION", "DEPLOYABLE", "SUMMARY"], rows)


def schema(
    ctx: typer.Context, kind: KindArgument, output_format: Annotated[str, formats("json", "yaml")] = "json"
) -> None:
    """Print the JSON Schema of a kind."""
    answer = _about(ctx, kind, "schema").json()
    output.out_json(answer) if output_format == "json" else output.out_yaml([answer])


def example(ctx: typer.Context, kind: KindArgument) -> None:
    """Print a manifest of a kind that applies as it is."""
    text = safe(_about(ctx, kind, "example", accept="application/yaml").text)
    output.print_exactly(text if text.endswith("\n") else f"{text}\n")


def _about(ctx: typer.Context, kind: str, what: str, accept: str = "application/json") -> Any:
    session = open_session(ctx)
    found = session.kind(kind)
    name = found.name if found.is_unique else f"{found.name}.{found.group}"
    return session.client.fetch(f"/api/v1/kinds/{segment(name)}/{what}", accept=accept)
