"""Finds a kind by what a URL calls it, and describes kinds to clients."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from smarter.apps.accounts.store import not_found
from smarter.core.errors import Refused
from smarter.core.kind import Kind
from smarter.kinds import KINDS
from smarter.models.sam.schemas import schemas

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)


def kind_for_plural(text: str) -> Kind:
    """`llmhosts`, or `models.neuronetes.io` where the group must be said. 404 for none, 400 for several."""
    plural, _, group = text.lower().partition(".")
    found = [kind for kind in KINDS.values() if kind.plural == plural and group in ("", kind.group)]
    return _only(found, text, (kind.plural for kind in KINDS.values()))


def kind_for_manifest(plural: str, name: str) -> Kind:
    """As `kind_for_plural`; 404 as well for what cannot be a name, which no query needs to see."""
    kind = kind_for_plural(plural)
    if not _NAME.fullmatch(name):
        raise not_found(kind, name[:63])
    return kind


def kind_for_name(text: str) -> Kind:
    """As `kind_for_plural`, and by the kind's own name in any case: `LLMHost`, `llmhost`, `Model.neuronetes.io`."""
    name, _, group = text.lower().partition(".")
    found = [kind for kind in KINDS.values() if name in (kind.plural, kind.name.lower()) and group in ("", kind.group)]
    return _only(found, text, (kind.name for kind in KINDS.values()))


def _only(found: list[Kind], text: str, names: Iterable[str]) -> Kind:
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(sorted(f"{kind.plural}.{kind.group}" for kind in found))
        raise Refused(400, "ambiguous_kind", f"Several kinds have this name. Say which: {choices}.")
    close = difflib.get_close_matches(text.lower()[:100], sorted({name.lower() for name in names}), n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise Refused(404, "unknown_kind", f"There is no such kind.{hint}")


def described(kind: Kind) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "plural": kind.plural,
        "group": kind.group,
        "summary": kind.summary,
        "writer": kind.writer,
        "shared": kind.shared,
        "deployable": kind.deployable,
        "columns": columns_of(kind),
    }


def columns_of(kind: Kind) -> list[dict[str, str]]:
    return [{"title": column.title, "path": column.path} for column in kind.columns]


def schema_of(kind: Kind) -> dict[str, Any]:
    """The schema that the model was generated from, or else the one that the model tells."""
    try:
        known = schemas(kind.model.__module__.rpartition(".")[0])
    except (ModuleNotFoundError, FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        known = {}
    schema = known.get(kind.name)
    return schema if schema and schema.get("title") == kind.model.__name__ else kind.model.model_json_schema()
