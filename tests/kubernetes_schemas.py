"""The strict schemas of Kubernetes releases, each read once. The package that brings them reads megabytes anew for each
object."""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

VERSIONS = ("1.34", "1.35", "1.36", "1.37")
_SCHEMAS = files("kubernetes_validate") / "kubernetes-json-schema"


def schema_faults(body: dict[str, Any], version: str) -> list[str]:
    """`path: message` for each fault. KeyError for a kind that Kubernetes itself does not have."""
    validator = _validator(version, body["apiVersion"], body["kind"])
    return [f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in validator.iter_errors(body)]


@cache
def _validator(version: str, api_version: str, kind: str) -> Draft202012Validator:
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version)
    file = _folder(version) / f"{kind.lower()}-{group}.json"
    if not file.is_file():
        raise KeyError(f"{api_version} {kind}")
    schema = json.loads(file.read_text())
    registry: Registry[Any] = _definitions(version) @ Registry()
    return Draft202012Validator(schema, registry=Resource.from_contents(schema) @ registry)


@cache
def _definitions(version: str) -> Resource[Any]:
    return Resource.from_contents(json.loads((_folder(version) / "_definitions.json").read_text()))


def _folder(version: str) -> Any:
    names = [entry.name for entry in _SCHEMAS.iterdir() if entry.name.startswith(f"v{version}")]
    return _SCHEMAS / next(name for name in sorted(names) if name.endswith("-local-strict"))
