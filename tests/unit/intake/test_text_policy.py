"""Which characters pass, and how keys and paths are shown."""

import unicodedata

import pytest

from smarter.core.text_policy import LineIndex, dotted, faults_in, first_fault, masked, shown_key


@pytest.mark.parametrize("text", ["", "plain", "tab\tand\nline\r\nend", "é ü 漢字 😀", "👩\u200d👩", "a\u00a0b"])
def test_ordinary_text_passes(text: str) -> None:
    assert first_fault(text) is None
    assert masked(text) == text


def test_every_control_and_reordering_character_is_refused() -> None:
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        reorders = unicodedata.bidirectional(character) in {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }
        if (category in {"Cc", "Cs", "Zl", "Zp"} and character not in "\n\t") or reorders:
            assert first_fault(character), hex(code)
        elif category in {"Lu", "Ll", "Lo", "Nd", "Po", "Sm", "So", "Mn"}:
            assert first_fault(character) is None, hex(code)


def test_faults_have_offsets_and_an_end() -> None:
    assert [fault.offset for fault in faults_in("a\0b\r\nc\rd")] == [1, 6]
    assert len(faults_in("\0" * 1000, limit=20)) == 20
    assert len(masked("a\0\r")) == 3


def test_line_index() -> None:
    lines = LineIndex.of("ab\n\ncd")
    assert [lines.place(offset) for offset in (0, 2, 3, 4, 6)] == [(1, 1), (1, 3), (2, 1), (3, 1), (3, 3)]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ((), ""),
        (("spec", "engine", "args", 2), "spec.engine.args[2]"),
        (("metadata", "labels", "a.b/c"), 'metadata.labels["a.b/c"]'),
        (("", "x"), '[""].x'),
        (("a\nb",), '["a\\u000ab"]'),
        (('a"b',), '["a\\"b"]'),
    ],
)
def test_paths(path: tuple, shown: str) -> None:
    assert dotted(path) == shown


def test_keys_are_cut() -> None:
    assert len(shown_key("k" * 100)) == 64
