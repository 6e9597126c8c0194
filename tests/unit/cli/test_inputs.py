"""Files joined to one body, and lines led back to their files."""

from pathlib import Path

import pytest

from smarter.cli import inputs
from smarter.cli.durations import readable, seconds_of
from smarter.cli.failures import CommandFailed
from smarter.core.strict_yaml import load_documents


def write(folder: Path, **contents: str) -> list[str]:
    files = []
    for name, content in contents.items():
        file = folder / name.replace("_", ".")
        file.write_bytes(content.encode())
        files.append(str(file))
    return files


def test_one_file_is_not_touched(tmp_path: Path) -> None:
    content = "\ufeffa: 1\r\n\t"
    [file] = write(tmp_path, a_yaml=content)
    assert inputs.read([file]).data == content.encode()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a: 1\n", "b: 2\n"),
        ("a: 1", "b: 2"),
        ("---\na: 1\n---\n", "---\nb: 2\n"),
        ("\ufeffa: 1\n", "\ufeffb: 2\n"),
        ('{\n\t"a": 1\n}', '\t{"b":\t2}'),
        ('{"a": 1}', "b: 2\n"),
        ("# only\na: 1\n...\n", "b: 2\n"),
        ("a: 1\r\n", "b: 2\r\n"),
    ],
)
def test_files_of_all_sorts_join_to_documents(tmp_path: Path, first: str, second: str) -> None:
    body = inputs.read(write(tmp_path, a_yaml=first, b_yaml=second))
    documents, problems = load_documents(body.data)
    assert problems == []
    assert [document.data for document in documents] == [{"a": 1}, {"b": 2}]
    line, column = documents[1].locate(("b",))
    own_line = second.splitlines().index(next(text for text in second.splitlines() if "2" in text)) + 1
    assert body.place(line, column).startswith(f"{tmp_path}/b.yaml:{own_line}:")


def test_places() -> None:
    body = inputs.Body(b"", ("a", "b"), (1, 5))
    assert body.place(4, 2) == "a:4:2"
    assert body.place(5, None) == "b:1:1"
    assert body.place(99, 1) == "b:95:1"
    assert body.place(None, None) == ""
    assert inputs.Body(b"", ("a",), (1,)).place(None, None) == "a"


def test_sub_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sub.yaml").mkdir()
    write(tmp_path, a_json="{}")
    assert inputs.read([str(tmp_path)]).names == (str(tmp_path / "a.json"),)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5m", 90), ("500ms", 0.5), ("1D", 86400)],
)
def test_spans_of_time(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5m", "5 m", "m", "1e3", "5m x", "inf"])
def test_what_is_no_span_of_time(text: str) -> None:
    with pytest.raises(CommandFailed):
        seconds_of(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (89.6, "90s"), (125, "2m05s"), (7260, "2h01m"), (300000, "3d")]
)
def test_readable_spans(seconds: float, text: str) -> None:
    assert readable(seconds) == text
