"""Any bytes at all: the intake answers, and what it accepts survives a JSON round trip and Postgres' text rules."""

import json
import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smarter.core.strict_yaml import load_documents
from smarter.core.text_policy import FORBIDDEN

# 300 keeps the suite quick. FUZZ_CASES=20000 is the number that a change of the parser should be tried with.
CASES = int(os.environ.get("FUZZ_CASES", "300"))

_FRAGMENTS = st.sampled_from(
    [
        *("a: ", "b:\n  ", "- ", "? ", ": ", "[", "]", "{", "}", ",", '"', "'", "\\", "\n", "\r\n", "\r", " ", "\t"),
        *(
            "|",
            ">",
            "|2-\n",
            "&a ",
            "*a",
            "!!int ",
            "!",
            "!<x>",
            "<<: ",
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "#",
            "@",
            "`",
        ),
        *("null", "~", "true", "yes", "010", "0x1F", "1e400", ".nan", "9" * 30, "\\ud83d", "\\ude00", "\\0", "\\x41"),
        *("\x00", "\x85", "\u2028", "\u202e", "\ufeff", "é", "😀", "apiVersion", "kind", '"k": ', "1:30", "2026-01-01"),
    ]
)
_STRUCTURED = st.lists(_FRAGMENTS, max_size=60).map("".join).map(str.encode)
_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
_QUICK = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def _judge(body: bytes) -> None:
    documents, problems = load_documents(body)
    assert documents or problems
    for problem in problems:
        assert not FORBIDDEN.search(str(problem))
    for document in documents:
        if not document.sound:
            assert problems
            continue
        text = json.dumps(document.data, allow_nan=False, ensure_ascii=False)
        assert json.loads(text) == document.data
        text.encode()
        for string in _strings(document.data):
            assert not FORBIDDEN.search(string)
        for path in document.positions:
            line, column = document.locate(path)
            assert line >= 1
            assert column >= 1


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [string for pair in value.items() for part in pair for string in _strings(part)]
    if isinstance(value, list):
        return [string for part in value for string in _strings(part)]
    return []


@_QUICK
@given(st.binary(max_size=300))
def test_any_bytes(body: bytes) -> None:
    _judge(body)


@_QUICK
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    _judge(text.encode("utf-8", "surrogatepass"))


@_QUICK
@given(_STRUCTURED)
def test_pieces_of_yaml_and_json(body: bytes) -> None:
    _judge(body)


@_QUICK
@given(st.dictionaries(st.text(max_size=4), _JSON_VALUES, min_size=1, max_size=4), st.booleans())
def test_json_that_is_accepted_means_what_json_means(tree: dict, ascii_only: bool) -> None:
    body = json.dumps(tree, ensure_ascii=ascii_only)
    documents, problems = load_documents(body.encode("utf-8", "surrogatepass"))
    if not problems:
        assert [document.data for document in documents] == [json.loads(body)]
