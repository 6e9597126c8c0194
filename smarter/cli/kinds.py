"""Finds the kind that somebody means: `llmhost`, `LLMHosts`, `llm_host`, `models.neuronetes.io`. Used by the commands.

The server says which kinds there are, so that this command line needs no release for a new one.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smarter.cli.client import segment
from smarter.cli.failures import bad_usage


@dataclass(frozen=True)
class KindInfo:
    """`address`, `path` and `label` (how it is written before a name) are unambiguous."""

    api_version: str
    name: str
    plural: str
    summary: str = ""
    deployable: bool = False
    columns: tuple[tuple[str, str], ...] = ()
    is_unique: bool = True

    @property
    def group(self) -> str:
        return self.api_version.partition("/")[0]

    @property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def address(self) -> str:
        """The plural, with the group only where several kinds share it."""
        return self.plural if self.is_unique else self.qualified

    @property
    def path(self) -> str:
        return f"/api/v1/{segment(self.address)}"

    @property
    def label(self) -> str:
        return self.name.lower() if self.is_unique else f"{self.name.lower()}.{self.group}"

    def item_path(self, name: str) -> str:
        return f"{self.path}/{segment(name)}"


def kinds_from(answer: Mapping[str, Any]) -> list[KindInfo]:
    items = answer["items"]
    names = [_folded(item["kind"]) for item in items]
    return [
        KindInfo(
            api_version=item["apiVersion"],
            name=item["kind"],
            plural=item["plural"],
            summary=item.get("summary", ""),
            deployable=bool(item.get("deployable")),
            columns=tuple((column["title"], column["path"]) for column in item.get("columns", ())),
            is_unique=names.count(_folded(item["kind"])) == 1,
        )
        for item in items
    ]


def resolve(kinds: Sequence[KindInfo], text: str) -> KindInfo:
    word, _, group = text.partition(".")
    wanted = _folded(word)
    found = [
        kind
        for kind in kinds
        if wanted in (_folded(kind.name), _folded(kind.plural)) and group.lower() in ("", kind.group)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise bad_usage(f"{text} is ambiguous: {' or '.join(sorted(kind.qualified for kind in found))}.")
    close = difflib.get_close_matches(wanted, [_folded(kind.plural) for kind in kinds], n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise bad_usage(f"There is no kind {text!r}; the server has: {', '.join(kind.address for kind in kinds)}.{hint}")


def find(kinds: Sequence[KindInfo], api_version: object, name: object) -> KindInfo | None:
    """The kind of a document, by exactly what it says."""
    return next((kind for kind in kinds if (kind.api_version, kind.name) == (api_version, name)), None)


def _folded(text: str) -> str:
    return text.lower().replace("_", "").replace("-", "")
