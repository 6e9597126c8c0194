"""`smarter render`: the Kubernetes objects of manifests, offline. Registered by main.py.

Uses the pure layers only: it needs no server, no login and no cluster, so that pipelines can compare and check what a
worker would apply.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
import yaml

from smarter.cli import exit_codes, inputs, output
from smarter.cli.failures import CommandFailed, bad_usage
from smarter.cli.faults import fault_line, with_places
from smarter.cli.options import formats
from smarter.cli.rendering import DEFAULT_ACCOUNT, FEATURES, Settings, computes_of, render_body
from smarter.core.facts import ComputeFact, Environment
from smarter.core.manifest import read_manifests
from smarter.core.objects import KubernetesObject
from smarter.core.problems import Problem, errors_of
from smarter.kinds import KINDS

_ACCOUNT = re.compile(r"[0-9]{4}-[0-9]{4}-[0-9]{4}", re.ASCII)
_DOMAIN = re.compile(r"(?=.{1,200}\Z)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
FilesOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="FILE|FOLDER|-", show_default=False, help="May be given several times."),
]
ComputeOption = Annotated[
    list[str],
    typer.Option("--compute", metavar="FILE", help="LLMHostCompute manifests to choose from, beside the built-in."),
]
FeaturesOption = Annotated[
    str, typer.Option("--features", metavar="NAMES", help=f"What the cluster has, by commas: {', '.join(FEATURES)}.")
]


def register(app: typer.Typer) -> None:
    app.command(name="render")(render_command)


def render_command(
    files: FilesOption,
    account: Annotated[str, typer.Option("--account", metavar="N", help="Account number.")] = DEFAULT_ACCOUNT,
    domain: Annotated[str, typer.Option("--domain", metavar="D", help="Domain of public host names.")] = "",
    compute: ComputeOption = [],  # noqa: B006 - Typer reads the default and never changes it
    features: FeaturesOption = "",
    output_format: Annotated[str, formats("yaml", "json")] = "yaml",
) -> None:
    """Print the Kubernetes objects of manifests, offline.

    For every document these are the objects that a worker would apply, after those of the account's namespace. Secret
    documents in the input supply the values that others refer to. A refused manifest ends with exit code 2.
    """
    settings = _settings(account, domain, features)
    body = inputs.read(files)
    rendered = render_body(body.data, settings, _computes(compute))
    for problem in rendered.warnings:
        output.note(f"warning: {fault_line(problem.as_dict(), body)}", "yellow")
    if rendered.errors:
        raise with_places(_refusal(rendered.errors), body)
    typer.echo(as_json(rendered.objects) if output_format == "json" else as_yaml(rendered.objects), nl=False)


def _settings(account: str, domain: str, features: str) -> Settings:
    if not _ACCOUNT.fullmatch(account):
        raise bad_usage("--account: a number is written as 1234-5678-9012.")
    if domain and not _DOMAIN.fullmatch(domain):
        raise bad_usage("--domain: this is not a domain such as models.example.com.")
    named = frozenset(name.strip() for name in features.split(",") if name.strip())
    unknown = sorted(named - set(FEATURES))
    if unknown:
        raise bad_usage(f"--features: {', '.join(unknown)} is not known; there are {', '.join(FEATURES)}.")
    environment = Environment(api_domain=domain) if domain else Environment()
    return Settings(account, environment, named)


def _computes(files: Sequence[str]) -> list[ComputeFact]:
    if not files:
        return []
    body = inputs.read(files)
    manifests, problems = read_manifests(body.data, KINDS)
    for parsed in manifests:
        problems = [*problems, *parsed.located(parsed.kind.admit(parsed.model, None))]
    if errors_of(problems):
        raise with_places(_refusal(errors_of(problems)), body)
    return computes_of(manifests)


def _refusal(problems: Sequence[Problem]) -> CommandFailed:
    detail = "The manifest is not accepted."
    document = {
        "type": "urn:smarter:problem:invalid",
        "title": "Unprocessable Content",
        "status": 422,
        "code": "invalid",
        "detail": detail,
        "errors": [problem.as_dict() for problem in problems],
    }
    return CommandFailed(exit_codes.REFUSED, detail, document)


def as_json(objects: Iterable[KubernetesObject]) -> str:
    """One List, which `kubectl apply -f -` takes as it is."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=2) + "\n"


def as_yaml(objects: Iterable[KubernetesObject]) -> str:
    return yaml.dump_all(objects, Dumper=_PlainDumper, sort_keys=False, explicit_start=True, allow_unicode=True)


class _PlainDumper(yaml.SafeDumper):
    """Writes out what stands in several places, instead of a mark that refers to the first."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
