"""A question to a tenant's server can be used against nobody: whatever it does, the asker is free again within seconds,
keeps its memory, follows nothing, and names its fault."""

import time
from collections.abc import Iterator

import psutil
import pytest
from pydantic import SecretStr

from smarter.apps.reconcile.answers import judge
from smarter.cluster.asking import Reply, Request, ask, is_allowed
from tests.unit.cluster.hostile_server import HostileServer, hostile_server

KEY = SecretStr("sk-the-key-of-this-host")
FREE_WITHIN_SECONDS = 6.0
MOST_GROWTH_BYTES = 20 * 1024 * 1024


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with hostile_server() as made:
        yield made


def put(server: HostileServer, path: str, key: SecretStr | None = KEY) -> Reply:
    request = Request("127.0.0.1", server.port, "lh-x.smarter.svc", path, b"{}", key, allow_loopback=True)
    return ask(request)


@pytest.mark.parametrize("path", ["/good", "/chunked"])
def test_a_token_is_an_answer(server: HostileServer, path: str) -> None:
    assert judge(put(server, path), "choices").status == "True"


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/redirect", "False", "BadAnswer"),
        ("/endless", "False", "TooLarge"),
        ("/gzip", "False", "Compressed"),
        ("/drip", "False", "NoAnswer"),
        ("/silent", "False", "NoAnswer"),
        ("/wrong", "False", "WrongAnswer"),
        ("/401", "False", "KeyRefused"),
        ("/flood", "False", "TooLarge"),
    ],
)
def test_hostile(server: HostileServer, path: str, status: str, reason: str) -> None:
    process, before = psutil.Process(), len(server.heads)
    resident = process.memory_info().rss
    began = time.monotonic()
    reply = put(server, path)
    verdict = judge(reply, "choices")
    assert time.monotonic() - began < FREE_WITHIN_SECONDS
    assert process.memory_info().rss - resident < MOST_GROWTH_BYTES
    assert (verdict.status, verdict.reason) == (status, reason)
    assert verdict.message
    assert len(server.heads) == before + 1, "nothing is asked twice, and nothing elsewhere"


def test_the_key_goes_in_the_header_and_nowhere_else(server: HostileServer) -> None:
    reply = put(server, "/good")
    assert f"Authorization: Bearer {KEY.get_secret_value()}" in server.heads[-1]
    request = Request("127.0.0.1", server.port, "h", "/good", b"{}", KEY, allow_loopback=True)
    for text in (repr(request), repr(reply), repr(judge(reply, "choices"))):
        assert KEY.get_secret_value() not in text
    put(server, "/good", None)
    assert "Authorization" not in server.heads[-1]


def test_a_key_with_line_breaks_adds_no_header(server: HostileServer) -> None:
    with pytest.raises(ValueError, match="line break"):
        put(server, "/good", SecretStr("key\r\nX-More: yes"))


def test_nobody_there() -> None:
    with hostile_server() as gone:
        pass
    assert judge(put(gone, "/good"), "choices").status == "Unknown"


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_that_path_is_not_faulty(status: int) -> None:
    assert judge(Reply(status), "choices").reason == "NotOffered"


def test_a_full_server_is_not_faulty() -> None:
    assert judge(Reply(429), "choices").status == "Unknown"


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.96.1.2", True),
        ("fd00::1", True),
        ("127.0.0.1", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("169.254.169.254", False),
        ("fe80::1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("None", False),
        ("", False),
        ("localhost", False),
    ],
)
def test_addresses(address: str, allowed: bool) -> None:
    assert is_allowed(address) is allowed
    if not allowed:
        assert ask(Request(address, 80, "h", "/", b"{}")).fault == "Forbidden"
