"""What a plain YAML scalar or a JSON number means: the YAML 1.2 core schema, and less where readers would disagree.

`yes`, `on`, `1:30`, `2026-01-01`, `1_000` and `010` are text here. YAML 1.1 makes true, 5400, a date, 1000 and 8 of
them, YAML 1.2 makes 10 of the last one; text is what nobody can misread, and a field that wants a number refuses it.
Used by `strict_yaml`.
"""

import math
import re
from dataclasses import dataclass

# Postgres keeps integers in 64 bits.
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1
# The longest sensible number is far shorter; beyond this length Python's own conversion becomes slow or fails.
_MAX_NUMBER_LENGTH = 64

_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMBER_START = frozenset("+-.0123456789")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z", re.ASCII)
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class ScalarFault:
    code: str
    message: str


_OUT_OF_RANGE = ScalarFault(
    "number_out_of_range", "this number does not fit into 64 bits; put it in quotation marks if it is meant as text"
)
_NOT_A_NUMBER = ScalarFault(
    "number_not_finite", "infinity and not-a-number are not allowed; put it in quotation marks if it is meant as text"
)

Scalar = str | int | float | bool | None


def resolve_plain(text: str) -> Scalar | ScalarFault:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _NOT_FINITE.match(text):
        return _NOT_A_NUMBER
    if _DECIMAL.match(text):
        return _integer(text, 10)
    if _BASED.match(text):
        return _integer(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.match(text):
        return _float(text)
    return text


def _integer(digits: str, base: int) -> int | ScalarFault:
    if len(digits) > _MAX_NUMBER_LENGTH:
        return _OUT_OF_RANGE
    value = int(digits, base)
    return value if MIN_INTEGER <= value <= MAX_INTEGER else _OUT_OF_RANGE


def _float(text: str) -> float | ScalarFault:
    if len(text) > _MAX_NUMBER_LENGTH:
        return _OUT_OF_RANGE
    value = float(text)
    return value if math.isfinite(value) else _OUT_OF_RANGE
