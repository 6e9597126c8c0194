"""What the intake accepts, what it refuses, and where it says the fault is."""

import json

import pytest

from smarter.core.problems import Problem
from smarter.core.strict_yaml import Document, Limits, load_documents


def one(body: str | bytes) -> Document:
    documents, problems = load_documents(body.encode() if isinstance(body, str) else body)
    assert problems == []
    assert len(documents) == 1
    return documents[0]


def faults(body: str | bytes, limits: Limits | None = None) -> list[tuple[str, str, int | None, int | None]]:
    raw = body.encode() if isinstance(body, str) else body
    _, problems = load_documents(raw, limits=limits) if limits else load_documents(raw)
    return [(problem.code, problem.path, problem.line, problem.column) for problem in problems]


def test_values_have_the_types_of_the_core_schema() -> None:
    text = """
a: [null, ~, '', true, False, 1, -7, +3, 0x1F, 0o17, 1.5, -2e3, .5, 'true', "1"]
b: [yes, no, on, Off, 010, 1:30, 2026-01-01, 1_000, 0b11, 1.2.3, =, "<<", -, 0x, 1e]
c: |
  line one
  line two
d: >-
  folded
  text
"""
    data = one(text).data
    assert data["a"] == [None, None, "", True, False, 1, -7, 3, 31, 15, 1.5, -2000.0, 0.5, "true", "1"]
    assert data["b"] == [
        *("yes", "no", "on", "Off", "010", "1:30", "2026-01-01", "1_000", "0b11", "1.2.3", "=", "<<", "-", "0x", "1e")
    ]
    assert [type(value) for value in data["a"][5:12]] == [int, int, int, int, int, float, float]
    assert data["c"] == "line one\nline two\n"
    assert data["d"] == "folded text"


def test_the_same_data_comes_from_json_flow_yaml_and_block_yaml() -> None:
    tree = {"kind": "X", "spec": {"args": ["a", 'q"\\/\t', "é😀"], "n": 1, "f": 1.5, "none": None, "yes": True}}
    block = 'kind: X\nspec:\n  args: [a, "q\\"\\\\/\\t", é😀]\n  n: 1\n  f: 1.5\n  none:\n  "yes": true\n'
    for body in (json.dumps(tree), json.dumps(tree, ensure_ascii=False), json.dumps(tree, indent="\t"), block):
        assert one(body).data == tree


def test_json_escapes_that_yaml_does_not_read() -> None:
    assert one(r'{"a": "\ud83d\ude00", "b": "\/"}').data == {"a": "😀", "b": "/"}
    key = "k" * 3000
    assert one(json.dumps({key: 1})).data == {key: 1}


def test_a_flow_mapping_of_yaml_is_not_taken_for_json() -> None:
    assert one("{a: 1, b: [x, 'y'],}").data == {"a": 1, "b": ["x", "y"]}


def test_several_json_documents_in_a_row() -> None:
    documents, problems = load_documents(b'{"a":1}\n{"b":2}\n')
    assert problems == []
    assert [(document.index, document.data) for document in documents] == [(0, {"a": 1}), (1, {"b": 2})]


def test_documents_without_content_are_skipped_and_not_counted() -> None:
    documents, problems = load_documents(b"---\n# licence\n---\na: 1\n---\n---\nb: 2\n...\n---\n")
    assert problems == []
    assert [(document.index, document.data) for document in documents] == [(0, {"a": 1}), (1, {"b": 2})]


def test_a_byte_order_mark_and_windows_line_ends_are_harmless() -> None:
    document = one(b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: x\r\n")
    assert document.data == {"a": 1, "b": {"c": "x"}}
    assert document.locate(("b", "c")) == (3, 6)


@pytest.mark.parametrize(
    "body", ["a: 1\nb:\n  - x: 5\n    y: 2\n", '{"a": 1,\n"b":\n [{"x": 5,\n  "y": 2}]}'], ids=["yaml", "json"]
)
def test_places_of_values_keys_and_missing_fields(body: str) -> None:
    document = one(body)
    lines = body.split("\n")
    line, column = document.locate(("b", 0, "y"))
    assert lines[line - 1][column - 1] == "2"
    line, column = document.locate_key(("b", 0, "y"))
    assert lines[line - 1][column - 1 :].lstrip('"').startswith("y")
    missing_line, missing_column = document.locate(("b", 0, "zz"))
    assert lines[missing_line - 1][missing_column - 1 :].lstrip('"').startswith("b")
    assert document.locate(("nothing", "at", "all")) == (1, 1)
    problem = document.problem("unknown", ("b", 0, "y"), "words", at_key=True)
    assert (problem.path, problem.line, problem.column) == ("b[0].y", line, column)


def test_every_fault_is_listed_at_once_with_its_place() -> None:
    text = "a: &x 1\nb: *x\nc: !!int 3\n<<: {q: 1}\n? [1, 2]\n: 4\na: {z: 1}\n1: 2\nd: .nan\ne: {f: [0, 1e999]}\n"
    assert faults(text) == [
        ("yaml_anchor", "a", 1, 4),
        ("yaml_alias", "b", 2, 4),
        ("yaml_tag", "c", 3, 4),
        ("yaml_merge_key", "", 4, 1),
        ("key_not_text", "", 5, 3),
        ("duplicate_key", "a", 7, 1),
        ("key_not_text", "", 8, 1),
        ("number_not_finite", "d", 9, 4),
        ("number_out_of_range", "e.f[1]", 10, 12),
    ]


def test_forbidden_characters_do_not_hide_later_faults() -> None:
    text = "a: \x00\nb: '\u202e'\nc: 1\nc: 2\nd: \"\\u202e\"\n"
    assert faults(text) == [
        ("forbidden_character", "", 1, 4),
        ("forbidden_character", "", 2, 5),
        ("duplicate_key", "c", 4, 1),
        ("forbidden_character", "d", 5, 4),
    ]


def test_faults_in_one_document_leave_the_others_sound() -> None:
    documents, problems = load_documents(b"a: 1\n---\nb: 1\nb: 2\n---\nc: 1\n")
    assert [document.sound for document in documents] == [True, False, True]
    assert [(problem.code, problem.document, problem.line) for problem in problems] == [("duplicate_key", 1, 4)]
    assert "line 3, column 1" in problems[0].message


def test_documents_before_a_syntax_error_are_still_returned() -> None:
    documents, problems = load_documents(b"a: 1\n---\nb: [1\n")
    assert [document.data for document in documents] == [{"a": 1}]
    assert [(problem.code, problem.document, problem.line) for problem in problems] == [("syntax", 1, 4)]


def test_of_two_syntax_errors_the_one_further_on_is_told() -> None:
    assert faults('{"a": "\\ud83d\\ude00",\n "b": }') == [("syntax", "", 2, 7)]
    assert faults("{a: 1,\n b: ]}") == [("syntax", "", 2, 5)]


@pytest.mark.parametrize("text", ["1: {a: 1}\nb: 2\n", "? {x: {a: 1}}\n: {b: 1}\nc: 2\n", "<<: [{a: 1}]\nb: 2\n"])
def test_a_refused_key_takes_its_value_with_it(text: str) -> None:
    documents, problems = load_documents(text.encode())
    assert len(problems) == 1
    assert list(documents[0].data.values()) == [2]


def test_the_first_of_two_equal_keys_is_kept_and_keeps_its_places() -> None:
    documents, _ = load_documents(b"a:\n  x: 1\na:\n  x: 2\n  y: 3\n")
    assert documents[0].data == {"a": {"x": 1}}
    assert documents[0].locate(("a", "x")) == (2, 6)


def test_limits_are_exact() -> None:
    limits = Limits(body_bytes=2000, depth=3, document_nodes=10, stream_nodes=15, scalar_bytes=8, documents=2)

    def codes(text: str) -> list[str]:
        return [code for code, *_ in faults(text, limits)]

    assert codes("a: [[x]]") == []
    assert codes("a: [[[x]]]") == ["too_deep"]
    assert codes("a: [1,1,1,1,1,1,1]") == []
    assert codes("a: [1,1,1,1,1,1,1,1]") == ["too_many_nodes"]
    assert codes("---\n".join(["a: [1,1,1,1,1]\n"] * 2)) == ["too_many_nodes"]
    assert codes("a: 12345678") == []
    assert codes("a: 'abcdefgh'") == []
    assert codes("a: 'abcdefghi'") == ["scalar_too_long"]
    assert codes("a: 'äääää'") == ["scalar_too_long"]
    assert codes("abcdefghi: 1") == ["scalar_too_long"]
    assert codes("a: 1\n---\na: 1\n") == []
    assert codes("a: 1\n---\na: 1\n---\na: 1\n") == ["too_many_documents"]
    assert codes("a: " + " " * 1996 + "1") == []
    assert codes("a: " + " " * 1997 + "1") == ["too_large"]


def test_what_is_too_deep_is_skipped_and_the_rest_is_still_judged() -> None:
    assert faults("a: [[[[{x: *y}]]], &b 2]", Limits(depth=3)) == [
        ("too_deep", "a[0][0]", 1, 6),
        ("yaml_anchor", "a[1]", 1, 20),
    ]


def test_the_list_of_faults_ends() -> None:
    found = faults("x: 1\n" * 70)
    assert len(found) == 51
    assert found[-1][0] == "too_many_problems"


def test_messages_never_repeat_a_value() -> None:
    canary = "hunter2canary"
    bodies = [
        f"value: &{canary} {canary}",
        f"value: !{canary} {canary}",
        f"value: *{canary}",
        f"value: '{canary}\n",
        f'value: "{canary}\\q"',
        f'value: "{canary}\\0"',
        f"value: [{canary}",
        f"value: {canary}: {canary}",
        f'{{"value": "{canary}',
        f'{{"value": "{canary}\\ud800"}}',
        f"{canary}",
        f"- {canary}",
        f"%{canary} 1\n---\nvalue: {canary}",
        f"value: {canary}\x00",
        f"value: 1e999 # {canary}",
    ]
    for body in bodies:
        _, problems = load_documents(body.encode())
        assert problems, body
        assert canary not in repr(problems), body


def test_long_and_strange_keys_are_cut_and_escaped_in_paths() -> None:
    _, problems = load_documents(('{"' + "k" * 500 + '": 1e999, "a\\u001bb.c": {"x": 1e999}}').encode())
    paths = [problem.path for problem in problems if problem.code == "number_out_of_range"]
    assert len(paths[0]) < 80
    assert "\x1b" not in "".join(problem.path for problem in problems)


def test_an_empty_body_is_one_problem() -> None:
    assert load_documents(b"") == ([], [Problem("empty", "", "there is no document in the body", line=1, column=1)])
