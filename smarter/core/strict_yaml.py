"""Bytes that a stranger sent, to plain data with places, or to a list of every fault in them.

Called by the API for each request body and by the command line for each file. YAML's ways to say one thing and mean
another (aliases, tags, merge keys, duplicate keys, words that turn into numbers) are refused, and every size has a
limit. Nothing raises, whatever the bytes; no message repeats a value, since a value may be a secret.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from smarter.core.problems import Problem
from smarter.core.scalars import ScalarFault, resolve_plain
from smarter.core.syntax import Event, Op, SyntaxFault, json_events, looks_like_json, yaml_events
from smarter.core.text_policy import LineIndex, dotted, faults_in, first_fault, masked

Path = tuple[str | int, ...]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """`stream_nodes` bounds the work for a body of many documents: 20,000 nodes take about a tenth of a second."""

    body_bytes: int = 256 * 1024
    depth: int = 20
    document_nodes: int = 5_000
    stream_nodes: int = 20_000
    scalar_bytes: int = 64 * 1024
    documents: int = 50
    problems: int = 50


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest as sent. `index` counts documents with content from 0. `sound` is false when a fault was found in
    it: the data is then incomplete and only good for looking for more faults."""

    index: int
    data: dict[str, Any]
    positions: dict[Path, Place]
    key_positions: dict[Path, Place]
    sound: bool = True

    def locate(self, path: Path) -> Place:
        """Line and column of a value, or of the nearest parent's key when there is none (a missing field)."""
        return self.positions.get(path) or self.locate_key(path)

    def locate_key(self, path: Path) -> Place:
        """Line and column of the key of a value (an unknown field), or of the nearest parent's key."""
        for length in range(len(path), 0, -1):
            place = self.key_positions.get(path[:length])
            if place:
                return place
        return self.positions.get((), (1, 1))

    def problem(self, code: str, path: Path, message: str, *, at_key: bool = False) -> Problem:
        line, column = self.locate_key(path) if at_key else self.locate(path)
        return Problem(code, dotted(path), message, line=line, column=column, document=self.index)


DEFAULT_LIMITS = Limits()


def load_documents(body: bytes, *, limits: Limits = DEFAULT_LIMITS) -> tuple[list[Document], list[Problem]]:
    """Every document with content, and every fault, in the order of the text."""
    if len(body) > limits.body_bytes:
        return [], [Problem("too_large", "", f"the body is larger than {limits.body_bytes // 1024} KiB")]
    text = _decoded(body)
    if isinstance(text, Problem):
        return [], [text]
    problems = _text_problems(text)
    if problems:
        documents, found = _read(masked(text), limits)
        documents = [replace(document, sound=False) for document in documents]
        problems += found
    else:
        documents, problems = _read(text, limits)
    if not documents and not problems:
        problems = [Problem("empty", "", "there is no document in the body", line=1, column=1)]
    problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    return documents, problems


def _decoded(body: bytes) -> str | Problem:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Problem("encoding", "", "the body is UTF-16 or UTF-32; only UTF-8 is read", line=1, column=1)
    try:
        # Windows editors put one byte order mark before UTF-8; it has no meaning and goes.
        return body.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = body[: error.start].decode("utf-8")
        line, column = LineIndex.of(before).place(len(before))
        return Problem("encoding", "", "the body is not UTF-8 from here on", line=line, column=column)


def _text_problems(text: str) -> list[Problem]:
    faults = faults_in(text)
    if not faults:
        return []
    lines = LineIndex.of(text)
    problems = []
    for fault in faults:
        line, column = lines.place(fault.offset)
        problems.append(Problem("forbidden_character", "", fault.message, line=line, column=column))
    return problems


def _read(text: str, limits: Limits) -> tuple[list[Document], list[Problem]]:
    """JSON first where the text begins like it. A flow mapping of YAML begins so too, hence the second try; if both
    fail, the fault of the one that came further is the useful one."""
    if not looks_like_json(text):
        return _build(yaml_events(text), limits)[:2]
    documents, problems, json_fault = _build(json_events(text), limits)
    if json_fault is None:
        return documents, problems
    from_yaml = _build(yaml_events(text), limits)
    yaml_fault = from_yaml[2]
    if yaml_fault and (yaml_fault.line, yaml_fault.column) < (json_fault.line, json_fault.column):
        return documents, problems
    return from_yaml[:2]


def _build(events: Iterator[Event], limits: Limits) -> tuple[list[Document], list[Problem], SyntaxFault | None]:
    builder = _Builder(limits)
    fault = None
    try:
        for event in events:
            builder.take(event)
    except SyntaxFault as caught:
        fault = caught
        builder.problems.append(
            Problem("syntax", "", fault.message, line=fault.line, column=fault.column, document=builder.index)
        )
    except _LimitReachedError:
        pass
    return builder.documents, builder.problems, fault


class _LimitReachedError(Exception):
    """The rest of the text is not worth reading; the problem has been noted."""


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is still open. For a mapping whose key has been read, `value_path` is where the value
    goes; `key` is None when it goes nowhere, because the key was refused."""

    container: dict[str, Any] | list[Any] | None
    path: Path
    is_mapping: bool
    key: str | None = None
    value_path: Path | None = None
    first_places: dict[str, Place] = field(default_factory=dict)


_REFUSED_KEY = "?"
_REFUSED = {
    "anchor": ("yaml_anchor", "anchors are not allowed; write the value where it is needed"),
    "tag": ("yaml_tag", "tags are not allowed; a value's type follows from how it is written"),
    "directive": ("yaml_directive", "directives (lines that begin with %) are not allowed"),
}


class _Builder:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.documents: list[Document] = []
        self.problems: list[Problem] = []
        self.index = 0
        self.stream_nodes = 0
        self._begin()

    def _begin(self) -> None:
        self.frames: list[_Frame] = []
        self.skipped_depth = 0
        self.nodes = 0
        self.root: Any = None
        self.blank = True
        self.problems_before = len(self.problems)
        self.positions: dict[Path, Place] = {}
        self.key_positions: dict[Path, Place] = {}

    def take(self, event: Event) -> None:
        if event.op is Op.DOCUMENT_START:
            # A separator costs work too, even with nothing after it.
            self.stream_nodes += 1
            self._begin()
            self._refuse_marks(event)
        elif event.op is Op.DOCUMENT_END:
            self._finish(event)
        elif event.op is Op.END:
            self._close()
        else:
            self._count(event)
            self._node(event)

    def _node(self, event: Event) -> None:
        if self.skipped_depth:
            self.skipped_depth += event.op in (Op.MAPPING, Op.SEQUENCE)
            return
        self._refuse_marks(event)
        frame = self.frames[-1] if self.frames else None
        if frame is not None and frame.is_mapping and frame.value_path is None:
            self._take_key(frame, event)
        else:
            self._take_value(frame, event)

    def _count(self, event: Event) -> None:
        self.nodes += 1
        self.stream_nodes += 1
        if self.nodes > self.limits.document_nodes:
            self._stop("too_many_nodes", f"a document may have {self.limits.document_nodes} values and keys", event)
        if self.stream_nodes > self.limits.stream_nodes:
            self._stop("too_many_nodes", f"one body may have {self.limits.stream_nodes} values and keys", event)

    def _take_key(self, frame: _Frame, event: Event) -> None:
        place = (event.line, event.column)
        key = self._key_text(frame, event)
        frame.key = None
        frame.value_path = (*frame.path, _REFUSED_KEY if key is None else key)
        if event.op in (Op.MAPPING, Op.SEQUENCE):
            self._open(None, frame.value_path, event)
        if key is None:
            return
        first = frame.first_places.setdefault(key, place)
        if first is not place:
            where = f"line {first[0]}, column {first[1]}"
            self._note("duplicate_key", f"this key stands here twice; the first is at {where}", event, frame.value_path)
            return
        frame.key = key
        self.key_positions.setdefault(frame.value_path, place)

    def _key_text(self, frame: _Frame, event: Event) -> str | None:
        """The key, or None for one that is refused."""
        if event.op is not Op.SCALAR:
            words = "an alias" if event.op is Op.ALIAS else "a mapping or list"
            self._note("key_not_text", f"{words} cannot be a key", event, frame.path)
            return None
        if event.plain and event.text == "<<":
            self._note("yaml_merge_key", "merge keys (<<) are not allowed; write the fields out", event, frame.path)
            return None
        if event.plain and not isinstance(resolve_plain(event.text), str):
            self._note("key_not_text", "a key must be text; put it in quotation marks", event, frame.path)
            return None
        return event.text if self._text_is_good(event, frame.path) else None

    def _take_value(self, frame: _Frame | None, event: Event) -> None:
        path = self._path(frame)
        self.positions.setdefault(path, (event.line, event.column))
        value = self._value(event, path)
        if frame is None:
            self.root = value
            self.blank = event.op is Op.SCALAR and event.plain and event.text == "" and not event.marks
        elif isinstance(frame.container, list):
            frame.container.append(value)
        elif isinstance(frame.container, dict) and frame.key is not None:
            frame.container[frame.key] = value
        if frame is not None:
            frame.value_path = None
        if event.op in (Op.MAPPING, Op.SEQUENCE):
            self._open(value, path, event)

    def _value(self, event: Event, path: Path) -> Any:
        if event.op is Op.MAPPING:
            return {}
        if event.op is Op.SEQUENCE:
            return []
        if event.op is Op.ALIAS:
            self._note("yaml_alias", "aliases are not allowed; write the value where it is needed", event, path)
            return None
        if not event.plain:
            return event.text if self._text_is_good(event, path) else None
        value = resolve_plain(event.text)
        if isinstance(value, ScalarFault):
            self._note(value.code, value.message, event, path)
            return None
        if isinstance(value, str) and not self._text_is_good(event, path):
            return None
        return value

    def _text_is_good(self, event: Event, path: Path) -> bool:
        text, limit = event.text, self.limits.scalar_bytes
        if len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit:
            self._note("scalar_too_long", f"one value may have {limit // 1024} KiB", event, path)
            return False
        fault = None if event.plain else first_fault(text)
        if fault:
            self._note("forbidden_character", fault, event, path)
        return fault is None

    def _open(self, container: Any, path: Path, event: Event) -> None:
        if len(self.frames) >= self.limits.depth:
            self._note("too_deep", f"nesting is deeper than {self.limits.depth} levels", event, path)
            self.skipped_depth = 1
            return
        self.frames.append(_Frame(container, path, event.op is Op.MAPPING))

    def _close(self) -> None:
        if self.skipped_depth:
            self.skipped_depth -= 1
        else:
            self.frames.pop()

    def _path(self, frame: _Frame | None) -> Path:
        """Where the next node of this frame goes, or the frame itself while a key is expected."""
        if frame is None:
            return ()
        if isinstance(frame.container, list):
            return (*frame.path, len(frame.container))
        return frame.value_path or frame.path

    def _finish(self, event: Event) -> None:
        if self.blank and len(self.problems) == self.problems_before:
            return
        if self.index >= self.limits.documents:
            self._stop("too_many_documents", f"one body may hold {self.limits.documents} documents", event)
        if isinstance(self.root, dict):
            sound = len(self.problems) == self.problems_before
            self.documents.append(Document(self.index, self.root, self.positions, self.key_positions, sound))
        elif not self.blank:
            place = self.positions.get((), (event.line, event.column))
            self._add("not_a_mapping", "a document must be a mapping with apiVersion, kind and spec", (), place)
        self.index += 1

    def _refuse_marks(self, event: Event) -> None:
        for mark in event.marks:
            code, message = _REFUSED[mark]
            self._note(code, message, event)

    def _note(self, code: str, message: str, event: Event, path: Path | None = None) -> None:
        if path is None:
            path = self._path(self.frames[-1] if self.frames else None)
        self._add(code, message, path, (event.line, event.column))

    def _add(self, code: str, message: str, path: Path, place: Place) -> None:
        if len(self.problems) >= self.limits.problems:
            self.problems.append(
                Problem(
                    "too_many_problems",
                    "",
                    "there are more faults than are listed here",
                    line=place[0],
                    column=place[1],
                )
            )
            raise _LimitReachedError
        line, column = place
        self.problems.append(Problem(code, dotted(path), message, line=line, column=column, document=self.index))

    def _stop(self, code: str, message: str, event: Event) -> None:
        self._note(code, message, event)
        raise _LimitReachedError
