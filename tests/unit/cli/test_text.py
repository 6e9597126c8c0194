"""What the server says cannot steer a terminal, and what is printed for programs is what the server said."""

import json
from typing import Any

import httpx
import pytest
import yaml

from smarter.cli import output
from smarter.cli.text import json_text, money, one_line, safe
from smarter.core.strict_yaml import load_documents
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, host, status

EVIL = "\x1b[2J\x1b]0;title\x07red\x9b31m\u202eabc\r"
BAD = ("\x1b", "\x07", "\x9b", "\u202e", "\r")


@pytest.mark.parametrize(
    "show", [safe, one_line, lambda text: json_text({"a": text}), lambda text: output.yaml_text([text])]
)
def test_escape_sequences_are_made_visible(show) -> None:
    text = show(EVIL)
    assert [character for character in BAD if character in text] == []
    assert "red" in text


def test_lines_and_tabs_of_a_log_stay() -> None:
    assert safe("a\tb\r\nc\n") == "a\tb\nc\n"
    assert one_line("a\tb\n  c") == "a b c"


def test_every_command_neutralises_what_the_server_says(run: Run, server: FakeServer) -> None:
    server.states["h"] = [status("active", EVIL, evil=EVIL, publicUrl=EVIL)]
    server.routes["GET /api/v1/llmhosts/h/events"] = lambda request: _json(
        {"items": [{"at": "now", "type": "Normal", "reason": EVIL, "message": EVIL}]}
    )
    server.routes["GET /api/v1/llmhosts/h/logs"] = lambda request: _json(
        {"pod": EVIL, "container": EVIL, "pods": [], "logs": f"{EVIL}\nnext"}
    )
    server.routes["GET /api/v1/kinds/LLMHost/example"] = lambda request: _json(EVIL)
    commands = ["describe llmhost h", "get llmhost h", "get llmhost h -o yaml", "get llmhost h -o json"]
    commands += ["events llmhost h", "logs llmhost h", "wait llmhost h", "example llmhost"]
    for command in commands:
        done = run(*command.split())
        assert done.code == 0, command
        assert [bad for bad in BAD if bad in done.out + done.err] == [], command


def _json(body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


def test_json_keeps_the_value() -> None:
    assert json.loads(json_text({"a": EVIL, "b": "grün"})) == {"a": EVIL, "b": "grün"}
    assert "grün" in json_text("grün")


TRICKY = [
    "yes",
    "1e3",
    "0o14",
    "0x1f",
    "1.0",
    "null",
    "",
    "~",
    "010",
    "2026-01-01",
    "a: b",
    "# no",
    "x\ny\n",
    "y",
    "1_000",
]


def test_text_stays_text_for_our_own_reader_of_yaml() -> None:
    text = output.yaml_text({"values": TRICKY, "again": TRICKY})
    documents, problems = load_documents(text.encode())
    assert problems == []
    assert documents[0].data == {"values": TRICKY, "again": TRICKY}
    assert yaml.safe_load(text) == {"values": TRICKY, "again": TRICKY}


def test_text_of_several_lines_is_a_block() -> None:
    assert output.yaml_text({"a": "x\ny\n"}) == "a: |\n  x\n  y\n"


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("1.006", "USD", "$1.0060"),
        ("1234.5", "EUR", "1,234.5000 EUR"),
        (None, "USD", "-"),
        ("a\x1b[2J", "USD", "a\\x1b[2J"),
    ],
)
def test_money(amount: str | None, currency: str, shown: str) -> None:
    assert money(amount, currency) == shown


def test_tables_line_up_by_width_and_end_without_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    output.out_table(["NAME", "STATE"], [["模型", "active"], ["b", ""]])
    assert capsys.readouterr().out == "NAME   STATE\n模型   active\nb\n"


def test_a_long_line_is_not_wrapped_in_a_pipe(run: Run, server: FakeServer) -> None:
    server.states["h"] = [status("error", "long " * 100)]
    server.routes["GET /api/v1/llmhosts/h/events"] = lambda request: _json(
        {"items": [{"at": "now", "type": "Normal", "reason": "R", "message": "long " * 100}]}
    )
    assert len(run("events", "llmhost", "h").out.splitlines()) == 2


def test_no_colour_codes_in_a_pipe(run: Run, server: FakeServer) -> None:
    server.states["h"] = [status("active")]
    assert "\x1b" not in run("get", "llmhosts").out


def test_what_is_read_can_be_applied_again(run: Run, server: FakeServer) -> None:
    server.states["h"] = [status("active")]
    text = run("get", "llmhost", "h", "-o", "yaml").out
    assert yaml.safe_load(text) == host("h", **status("active"))
