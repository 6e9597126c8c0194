"""Which characters text may hold, decided once for everything that comes in.

Postgres refuses U+0000 and lone surrogates, terminals and logs obey control characters, and reordering characters
show a reviewer another text than the one that runs. `strict_yaml` asks here, once for the text as sent and once for
values after unescaping; the API asks for names in addresses.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

# A carriage return is a line end only before a line feed; alone it would hide a line from `cat` and from logs.
# U+0085, U+2028 and U+2029 end a line for some parsers and not for others. U+FEFF is removed at the very start of a
# stream by the caller and has no meaning elsewhere.
FORBIDDEN = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
    "|\r(?!\n)"
)
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MAX_SHOWN_KEY = 64


@dataclass(frozen=True, slots=True)
class TextFault:
    """A forbidden character: offset in characters from 0, and words for people that name the character only."""

    offset: int
    message: str


def describe(character: str) -> str:
    code = ord(character)
    name = f"U+{code:04X}"
    if code == 0:
        return f"the NUL character ({name}) is not allowed"
    if character == "\r":
        return "a carriage return without a line feed is not allowed"
    if 0xD800 <= code <= 0xDFFF:
        return f"half of a surrogate pair ({name}) is not allowed"
    if character in _REORDERING:
        return f"the character {name} changes the order in which text is shown and is not allowed"
    if code in (0x2028, 0x2029, 0x85):
        return f"the line separator {name} is not allowed; use a line feed"
    if code in (0xFEFF, 0xFFFE, 0xFFFF):
        return f"the character {name} is not allowed inside a text"
    return f"the control character {name} is not allowed"


def faults_in(text: str, *, limit: int = 20) -> list[TextFault]:
    """The first `limit` forbidden characters, in order."""
    faults: list[TextFault] = []
    for match in FORBIDDEN.finditer(text):
        if len(faults) == limit:
            break
        faults.append(TextFault(match.start(), describe(match.group())))
    return faults


def first_fault(text: str) -> str | None:
    match = FORBIDDEN.search(text)
    return describe(match.group()) if match else None


def masked(text: str) -> str:
    """The same text, same length, with U+FFFD for what is forbidden, so that a parser can look for further faults."""
    return FORBIDDEN.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class LineIndex:
    """Turns offsets into lines and columns, both counted from 1. Only a line feed ends a line."""

    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "LineIndex":
        return cls((0, *(match.end() for match in re.finditer("\n", text))))

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


def shown_key(key: str) -> str:
    """A key as it may stand in a message: one line, printable, at most 64 characters."""
    short = key if len(key) <= _MAX_SHOWN_KEY else key[: _MAX_SHOWN_KEY - 1] + "…"
    return "".join(
        character if character.isprintable() and not FORBIDDEN.match(character) else f"\\u{ord(character):04x}"
        for character in short
    )


_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def dotted(path: tuple[str | int, ...]) -> str:
    """`spec.engine.args[2]`, or `metadata.labels["a.b/c"]` for a key with other characters than letters, digits,
    `_` and `-`."""
    parts: list[str] = []
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif _PLAIN_KEY.match(part):
            parts.append(f".{part}" if parts else part)
        else:
            escaped = shown_key(part).replace('"', '\\"')
            parts.append(f'["{escaped}"]')
    return "".join(parts)
