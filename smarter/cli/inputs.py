"""Reads the manifests that `-f` names and sends them as one body, so that all are stored or none.

A fault of the body is led back to its file: `place` knows which line of which file a line of the body was.
"""

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smarter.cli.failures import bad_usage

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "<stdin>"
_SEPARATOR = b"---\n"
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Body:
    """`starts` are the lines of the body, from 1, on which the files of `names` begin."""

    data: bytes
    names: tuple[str, ...]
    starts: tuple[int, ...]

    def place(self, line: int | None, column: int | None) -> str:
        """`host.yaml:12:5`, or only the file where there is no line."""
        if line is None:
            return self.names[0] if len(self.names) == 1 else ""
        index = max(0, bisect_right(self.starts, line) - 1)
        return f"{self.names[index]}:{line - self.starts[index] + 1}:{column or 1}"


def read(arguments: Sequence[str]) -> Body:
    """Files, folders (their manifests in the order of names, without sub-folders), and `-` for standard input."""
    sources = [source for argument in arguments for source in _sources(argument)]
    if not sources:
        raise bad_usage("Say what to apply: -f FILE, -f FOLDER, or -f - for standard input.")
    if len(sources) == 1:
        name, data = sources[0]
        return Body(data, (name,), (1,))
    return _joined(sources)


def _joined(sources: Sequence[tuple[str, bytes]]) -> Body:
    data, starts, line = b"", [], 1
    for _, content in sources:
        if data:
            data += _SEPARATOR
            line += 1
        starts.append(line)
        text = _as_part(content)
        data += text
        line += text.count(b"\n")
    return Body(data, tuple(name for name, _ in sources), tuple(starts))


def _as_part(content: bytes) -> bytes:
    """A file as a part of a stream of YAML. JSON is YAML but for tabs between tokens; a blank takes as much room."""
    text = content.removeprefix(_MARK)
    if text.lstrip()[:1] in (b"{", b"["):
        text = text.replace(b"\t", b" ")
    return text if text.endswith(b"\n") else text + b"\n"


def _sources(argument: str) -> list[tuple[str, bytes]]:
    if argument == "-":
        return [(STDIN, sys.stdin.buffer.read())]
    path = Path(argument)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
        if not files:
            raise bad_usage(f"{argument} has no manifests ({', '.join(SUFFIXES)}).")
        return [(str(file), _content(file)) for file in files]
    return [(argument, _content(path))]


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as fault:
        raise bad_usage(f"{file} cannot be read: {fault.strerror}.") from None
