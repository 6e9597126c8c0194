"""Logins: where a token comes from, where it is kept, and to which server it goes."""

import json
import stat
from pathlib import Path

import pytest
import yaml

from smarter.cli import config
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import ADDRESS, TOKEN, FakeServer

OTHER = "https://other.example.com"


def file_of(home: Path) -> Path:
    return home / "config" / "smarter" / "config.yaml"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_login_keeps_a_private_file(anonymous: Run, home: Path) -> None:
    done = anonymous("login", "--server", ADDRESS, "--token-stdin", stdin=f"{TOKEN}\n")
    assert done.code == 0
    assert "ann, account 1111-2222-3333" in done.out
    assert TOKEN not in done.out + done.err
    assert mode(file_of(home)) == 0o600
    assert mode(file_of(home).parent) == 0o700
    assert anonymous("whoami").code == 0


def test_the_token_may_come_from_the_environment(anonymous: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMARTER_TOKEN", TOKEN)
    assert anonymous("login", "--server", ADDRESS).code == 0
    monkeypatch.delenv("SMARTER_TOKEN")
    assert anonymous("whoami").code == 0


def test_no_terminal_and_no_token(anonymous: Run, server: FakeServer) -> None:
    done = anonymous("login", "--server", ADDRESS)
    assert (done.code, server.requests) == (2, [])
    assert "--token-stdin" in done.err


def test_a_token_is_not_taken_as_an_argument(anonymous: Run, server: FakeServer) -> None:
    assert anonymous("login", "--server", ADDRESS, "--token", TOKEN).code == 2
    assert anonymous("login", "--server", ADDRESS, TOKEN).code == 2
    assert server.requests == []


def test_a_token_that_does_not_work_is_not_kept(anonymous: Run, home: Path) -> None:
    done = anonymous("login", "--server", ADDRESS, "--token-stdin", stdin="sk_wrong_canary\n")
    assert done.code == 3
    assert "canary" not in done.out + done.err
    assert not file_of(home).exists()


@pytest.mark.parametrize("token", ["", "  ", "two words", "new\x07bell", "grün"])
def test_what_is_no_token(anonymous: Run, server: FakeServer, token: str) -> None:
    done = anonymous("login", "--server", ADDRESS, "--token-stdin", stdin=f"{token}\n")
    assert (done.code, server.requests) == (2, [])


@pytest.mark.parametrize(
    "address",
    ["ftp://x", "https://", "https://user:canary@x", "https://x?token=canary", "https://x:port", "https://x#a"],
)
def test_what_is_no_address(anonymous: Run, server: FakeServer, address: str) -> None:
    done = anonymous("login", "--server", address, "--token-stdin", stdin=TOKEN)
    assert (done.code, server.requests) == (2, [])


def test_a_password_in_an_address_is_not_repeated(anonymous: Run) -> None:
    assert "canary" not in anonymous("whoami", "--server", "https://user:canary@x").err


def test_a_bare_name_is_reached_with_encryption(home: Path) -> None:
    assert config.checked_server("smarter.example.com") == ADDRESS
    assert config.checked_server("http://localhost:8000/") == "http://localhost:8000"


def test_plain_http_to_another_machine_is_warned_of(anonymous: Run) -> None:
    text = anonymous("login", "--server", "http://far.example.com", "--token-stdin", stdin=TOKEN).err
    assert "not encrypted" in text
    assert "not encrypted" not in anonymous("login", "--server", "http://127.0.0.1:1", "--token-stdin", stdin=TOKEN).err


def test_several_contexts(anonymous: Run, server: FakeServer) -> None:
    for name, address in (("one", ADDRESS), ("two", OTHER)):
        anonymous("login", "--server", address, "--context", name, "--token-stdin", stdin=TOKEN)
    anonymous("whoami")
    assert server.requests[-1].url.host == "other.example.com"
    anonymous("whoami", "--context", "one")
    assert server.requests[-1].url.host == "smarter.example.com"
    assert anonymous("context", "one").code == 0
    anonymous("whoami")
    assert server.requests[-1].url.host == "smarter.example.com"
    listed = anonymous("context").out
    assert "*   one" in listed
    assert TOKEN not in listed
    assert anonymous("whoami", "--context", "three").code == 2


def test_a_context_can_be_forgotten(anonymous: Run, home: Path) -> None:
    anonymous("login", "--server", ADDRESS, "--token-stdin", stdin=TOKEN)
    assert anonymous("context", "default", "--forget").code == 0
    assert TOKEN not in file_of(home).read_text()
    assert anonymous("whoami").code == 3
    assert anonymous("context", "default", "--forget").code == 2


def test_the_environment_chooses_a_context(anonymous: Run, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, address in (("one", ADDRESS), ("two", OTHER)):
        anonymous("login", "--server", address, "--context", name, "--token-stdin", stdin=TOKEN)
    monkeypatch.setenv("SMARTER_CONTEXT", "one")
    anonymous("whoami")
    assert server.requests[-1].url.host == "smarter.example.com"


def test_a_token_goes_only_to_the_server_it_was_made_for(anonymous: Run, server: FakeServer) -> None:
    anonymous("login", "--server", ADDRESS, "--token-stdin", stdin=TOKEN)
    assert anonymous("whoami", "--server", OTHER).code == 3
    assert "Authorization" not in server.requests[-1].headers
    assert anonymous("whoami", "--server", ADDRESS).code == 0


def test_a_file_that_others_can_read_is_warned_of(anonymous: Run, home: Path) -> None:
    anonymous("login", "--server", ADDRESS, "--token-stdin", stdin=TOKEN)
    file_of(home).chmod(0o644)
    assert "can be read by others" in anonymous("whoami").err


@pytest.mark.parametrize("text", ["a: [canary", "- canary", "canary", "contexts: {a: {token: canary}}", "contexts: 5"])
def test_a_broken_file_is_told_without_its_content(anonymous: Run, home: Path, text: str) -> None:
    file_of(home).parent.mkdir(parents=True)
    file_of(home).write_text(text)
    file_of(home).chmod(0o600)
    done = anonymous("whoami")
    assert done.code == 2
    assert "no configuration of Smarter" in done.err
    assert "canary" not in done.err


def test_the_login_of_the_quick_start_is_found(anonymous: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "state" / "cli.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"server": ADDRESS, "account": "1111-2222-3333", "username": "demo", "token": TOKEN}))
    assert anonymous("whoami").code == 0
    assert "*   local   https://smarter.example.com" in anonymous("context").out
    anonymous("login", "--server", OTHER, "--token-stdin", stdin=TOKEN)
    assert "*   default   https://other" in anonymous("context").out
    assert anonymous("whoami", "--context", "local").code == 0
    monkeypatch.setenv("SMARTER_CONFIG", str(file))
    assert "server    https://smarter.example.com" in anonymous("whoami").out


def test_a_login_does_not_copy_the_login_of_the_quick_start(anonymous: Run, home: Path) -> None:
    file = home / "state" / "cli.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"server": ADDRESS, "token": TOKEN}))
    anonymous("login", "--server", OTHER, "--token-stdin", stdin=TOKEN)
    assert list(yaml.safe_load(file_of(home).read_text())["contexts"]) == ["default"]


def test_a_token_has_no_place_in_a_repr() -> None:
    assert TOKEN not in repr(config.Connection(ADDRESS, TOKEN)) + repr(config.Context(ADDRESS, TOKEN))


def test_version_without_a_server(anonymous: Run) -> None:
    done = anonymous("version")
    assert done.code == 0
    assert "server   unknown: No server is known." in done.out
    assert json.loads(anonymous("version", "-o", "json").out)["server"] is None
