"""YAML and JSON text as one flat stream of events, so that one set of rules judges both.

libyaml reads YAML. It would read most JSON too, but not surrogate pairs (`"\\ud83d\\ude00"`), keys of more than 1,024
characters or tabs as indentation, so JSON has a scanner of its own. Both are lazy: the builder in `strict_yaml`
stops at its limits before the rest of a hostile text is read.
"""

import json
import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple

import yaml

from smarter.core.text_policy import LineIndex


class Op(IntEnum):
    DOCUMENT_START = 0
    DOCUMENT_END = 1
    MAPPING = 2
    SEQUENCE = 3
    END = 4
    SCALAR = 5
    ALIAS = 6


class Event(NamedTuple):
    """`plain` is true for an unquoted scalar. `marks` holds the names of constructs that the rules refuse."""

    op: Op
    line: int
    column: int
    text: str = ""
    plain: bool = False
    marks: tuple[str, ...] = ()


class SyntaxFault(Exception):
    """The text cannot be read on from here. The message is fixed wording of the parser, without any of the text."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def looks_like_json(text: str) -> bool:
    return text.lstrip(" \t\r\n")[:1] in ("{", "[")


def yaml_events(text: str) -> Iterator[Event]:
    """Raises SyntaxFault. Needs text that passed `text_policy.masked`."""
    loader = yaml.CSafeLoader(text)
    try:
        while True:
            found = loader.get_event()
            if found is None or isinstance(found, yaml.StreamEndEvent):
                return
            event = _from_libyaml(found)
            if event is not None:
                yield event
    except yaml.MarkedYAMLError as error:
        words = " ".join(part for part in (error.context, error.problem) if part)
        raise SyntaxFault(words, *_place(error.problem_mark, error.context_mark)) from None
    except yaml.YAMLError:
        raise SyntaxFault("this is not YAML", 1, 1) from None
    finally:
        loader.dispose()


def _place(*marks: Any) -> tuple[int, int]:
    """Line and column of the first mark that is there, from 1. libyaml's marks count from 0."""
    for mark in marks:
        if mark is not None:
            return mark.line + 1, mark.column + 1
    return 1, 1


def _from_libyaml(found: yaml.Event) -> Event | None:
    line, column = _place(found.start_mark)
    if isinstance(found, yaml.ScalarEvent):
        return Event(Op.SCALAR, line, column, found.value, not found.style, _marks(found))
    if isinstance(found, yaml.MappingStartEvent):
        return Event(Op.MAPPING, line, column, marks=_marks(found))
    if isinstance(found, yaml.SequenceStartEvent):
        return Event(Op.SEQUENCE, line, column, marks=_marks(found))
    if isinstance(found, yaml.CollectionEndEvent):
        return Event(Op.END, line, column)
    if isinstance(found, yaml.AliasEvent):
        return Event(Op.ALIAS, line, column)
    if isinstance(found, yaml.DocumentStartEvent):
        marks = ("directive",) if found.version or found.tags else ()
        return Event(Op.DOCUMENT_START, line, column, marks=marks)
    if isinstance(found, yaml.DocumentEndEvent):
        return Event(Op.DOCUMENT_END, line, column)
    return None


def _marks(found: yaml.ScalarEvent | yaml.CollectionStartEvent) -> tuple[str, ...]:
    if found.anchor is None and found.tag is None:
        return ()
    return tuple(name for name, value in (("anchor", found.anchor), ("tag", found.tag)) if value is not None)


_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\n\r\t]*+(?:\\.[^"\\\n\r\t]*+)*+"')
_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null", re.ASCII)


def json_events(text: str) -> Iterator[Event]:
    """One JSON value, or several with only blanks between them. Raises SyntaxFault."""
    scanner = _JsonScanner(text)
    while scanner.peek():
        yield scanner.event(Op.DOCUMENT_START)
        yield from scanner.value()
        yield scanner.event(Op.DOCUMENT_END)


class _JsonScanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = LineIndex.of(text)
        self.offset = 0

    def peek(self) -> str:
        match = _BLANK.match(self.text, self.offset)
        self.offset = match.end() if match else self.offset
        return self.text[self.offset : self.offset + 1]

    def event(self, op: Op, text: str = "", plain: bool = False) -> Event:
        line, column = self.lines.place(self.offset)
        return Event(op, line, column, text, plain)

    def fault(self, message: str) -> SyntaxFault:
        return SyntaxFault(message, *self.lines.place(self.offset))

    def value(self) -> Iterator[Event]:
        """Not recursive: `open_ends` holds the closing characters that are still to come."""
        open_ends: list[str] = []
        yield from self._one(open_ends)
        while open_ends:
            end = open_ends[-1]
            mark = self.peek()
            if mark == end:
                yield self.event(Op.END)
                self.offset += 1
                open_ends.pop()
                continue
            if mark != ",":
                raise self.fault(f"expected ',' or '{end}'")
            self.offset += 1
            if end == "}":
                yield self._key()
            yield from self._one(open_ends)

    def _one(self, open_ends: list[str]) -> Iterator[Event]:
        """A scalar, or the opening of a collection together with what stands before its first comma."""
        while True:
            mark = self.peek()
            if mark not in ("{", "["):
                yield self._scalar(mark)
                return
            yield self.event(Op.MAPPING if mark == "{" else Op.SEQUENCE)
            self.offset += 1
            open_ends.append("}" if mark == "{" else "]")
            if self.peek() == open_ends[-1]:
                return
            if mark == "{":
                yield self._key()

    def _key(self) -> Event:
        if self.peek() != '"':
            raise self.fault("expected a key in double quotation marks")
        event = self._string()
        if self.peek() != ":":
            raise self.fault("expected ':' after a key")
        self.offset += 1
        return event

    def _scalar(self, mark: str) -> Event:
        if mark == '"':
            return self._string()
        match = _LITERAL.match(self.text, self.offset)
        if not match:
            raise self.fault("expected a value")
        event = self.event(Op.SCALAR, match.group(), plain=True)
        self.offset = match.end()
        return event

    def _string(self) -> Event:
        match = _STRING.match(self.text, self.offset)
        if not match:
            raise self.fault("a text in quotation marks does not end on its line")
        quoted = match.group()
        try:
            value = json.loads(quoted) if "\\" in quoted else quoted[1:-1]
        except ValueError:
            raise self.fault("a text in quotation marks holds a wrong escape") from None
        event = self.event(Op.SCALAR, value)
        self.offset = match.end()
        return event
