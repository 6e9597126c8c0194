"""A body of bytes to manifests: strict documents, the envelope, the model of each kind, every fault with its place.

The API calls this for each apply, `smarter render` for each file. What it answers is complete as far as one document
alone can tell; rules that need other manifests or a cluster come later.
"""

import difflib
import hashlib
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from smarter.core.kind import Kind
from smarter.core.problems import Problem
from smarter.core.strict_yaml import Document, load_documents
from smarter.core.text_policy import dotted
from smarter.models.sam.base import validate

Kinds = Mapping[tuple[str, str], Kind]
_PATH_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_DOCUMENT_MARK = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ParsedManifest:
    """One valid manifest. `metadata` and `spec` are as sent (JSON values, nothing filled in); `text` is its part of the
    body with comments, None where another document shares that part."""

    kind: Kind
    model: BaseModel
    document: Document
    metadata: dict[str, Any]
    spec: dict[str, Any]
    text: str | None

    @property
    def name(self) -> str:
        name: str = self.metadata["name"]
        return name

    def located(self, problems: Iterable[Problem]) -> list[Problem]:
        """The same problems with line, column and document, found by their dotted paths."""
        return [locate(problem, self.document) for problem in problems]


def locate(problem: Problem, document: Document) -> Problem:
    line, column = document.locate(path_of(problem.path))
    return replace(problem, line=line, column=column, document=document.index)


def path_of(text: str) -> tuple[str | int, ...]:
    """`spec.engine.args[2]` to its parts. A key that holds dots falls apart; places are then those of its parent."""
    return tuple(int(index) if index else key for index, key in _PATH_PART.findall(text))


def spec_hash(spec: Mapping[str, Any]) -> str:
    """Changes exactly when a new generation is due: not with the order of keys, not with names or descriptions."""
    canonical = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def model_of(kind: Kind, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> BaseModel:
    """A stored manifest as its model. ValueError where it no longer fits the schema, without its values."""
    data = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": dict(metadata), "spec": dict(spec)}
    model, faults = validate(kind.model, data)
    if model is None:
        places = ", ".join(sorted({dotted(fault.path) for fault in faults}))
        raise ValueError(f"the stored {kind.name} no longer fits its schema at {places}")
    return model


def read_manifests(body: bytes, kinds: Kinds) -> tuple[list[ParsedManifest], list[Problem]]:
    """The valid manifests and every fault, in the order of the text. Whoever stores anything does so only when there
    are no problems of level error."""
    documents, problems = load_documents(body)
    texts = _texts(body, documents)
    manifests: list[ParsedManifest] = []
    for document in documents:
        manifest, faults = _read(document, kinds, texts[document.index])
        problems.extend(faults)
        if manifest is not None:
            manifests.append(manifest)
    problems.extend(_doubled(manifests))
    problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    return manifests, problems


def _read(document: Document, kinds: Kinds, text: str | None) -> tuple[ParsedManifest | None, list[Problem]]:
    kind, problems = _kind_of(document, kinds)
    if kind is None:
        return None, problems
    data = {key: value for key, value in document.data.items() if key != "status"}
    model, faults = validate(kind.model, data)
    problems += [
        document.problem(fault.code, fault.path, fault.message, at_key=fault.code == "unknown_field")
        for fault in faults
    ]
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
        fault = kind.name_rule.problem(metadata["name"])
        problems += [locate(fault, document)] if fault else []
    if model is None or problems or not document.sound:
        return None, problems
    spec = data.get("spec") or {}
    return ParsedManifest(kind, model, document, data["metadata"], spec, text), []


def _kind_of(document: Document, kinds: Kinds) -> tuple[Kind | None, list[Problem]]:
    problems = []
    for field in ("apiVersion", "kind"):
        if field not in document.data:
            problems.append(document.problem("missing", (field,), f"{field} is required"))
        elif not isinstance(document.data[field], str):
            problems.append(document.problem("type", (field,), f"{field} must be text"))
    if problems:
        return None, problems
    api_version, name = document.data["apiVersion"], document.data["kind"]
    kind = kinds.get((api_version, name))
    if kind is not None:
        return kind, []
    versions = sorted({version for version, _ in kinds})
    if api_version not in versions:
        return None, [
            document.problem("unknown_kind", ("apiVersion",), f"apiVersion must be one of: {', '.join(versions)}")
        ]
    names = sorted(known for version, known in kinds if version == api_version)
    close = difflib.get_close_matches(name[:100], names, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    message = f"{api_version} has no such kind; it has: {', '.join(names)}.{hint}"
    return None, [document.problem("unknown_kind", ("kind",), message)]


def _doubled(manifests: list[ParsedManifest]) -> list[Problem]:
    seen: set[tuple[str, str, str]] = set()
    problems = []
    for manifest in manifests:
        identity = (*manifest.kind.key, manifest.name)
        if identity in seen:
            message = f"this {manifest.kind.name} stands twice in the same body"
            problems.append(manifest.document.problem("duplicate", ("metadata", "name"), message))
        seen.add(identity)
    return problems


def _chunks(body: bytes) -> list[tuple[int, str]]:
    """The text between document marks, each with the number of its first line."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    chunks, line, start = [], 1, 0
    for mark in _DOCUMENT_MARK.finditer(text):
        chunks.append((line, text[start : mark.start()]))
        line += text.count("\n", start, mark.end())
        start = mark.end()
    chunks.append((line, text[start:]))
    return chunks


def _texts(body: bytes, documents: Sequence[Document]) -> dict[int, str | None]:
    """The part of the body that each document stands in. None where another one stands in it too, as in a stream of
    JSON: the text of one must never be kept with the other, which may be a secret."""
    chunks = _chunks(body)
    first_lines = [line for line, _ in chunks]
    places = {one.index: max(bisect_right(first_lines, one.locate(())[0]) - 1, 0) for one in documents}
    shared = Counter(places.values())
    texts: dict[int, str | None] = {}
    for index, place in places.items():
        text = chunks[place][1].lstrip("\n").rstrip()
        texts[index] = f"{text}\n" if text and shared[place] == 1 else None
    return texts
