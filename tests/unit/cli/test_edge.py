"""The real HTTP client at the edge, against small servers on this machine."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from smarter.cli.client import Client, new_http
from smarter.cli.config import Connection
from smarter.cli.failures import CommandFailed
from tests.unit.cli.conftest import FakeClock
from tests.unit.cli.fake_server import TOKEN


class Recorder(HTTPServer):
    """Answers every request with `answer`, which is a status and maybe a place to go on to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str]] = []
        self.answer: tuple[int, str] = (200, "")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Recorder

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers.get("Authorization", "")))
        code, location = self.server.answer
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(b'{"ok": true}')

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on the terminal of whoever runs the tests."""


@pytest.fixture
def servers() -> Iterator[tuple[Recorder, Recorder]]:
    pair = (Recorder(), Recorder())
    for server in pair:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield pair
    for server in pair:
        server.shutdown()
        server.server_close()


def read(url: str) -> object:
    connection = Connection(url, TOKEN)
    with new_http(connection) as http:
        return Client(connection, http).get("/api/v1/whoami")


def test_a_redirect_ends_the_request(servers: tuple[Recorder, Recorder]) -> None:
    first, second = servers
    first.answer = (307, f"{second.url}/api/v1/whoami")
    with pytest.raises(CommandFailed, match="the token is not sent there"):
        read(first.url)
    assert first.seen == [("/api/v1/whoami", f"Bearer {TOKEN}")]
    assert second.seen == []


def test_a_proxy_is_not_asked_for_this_machine(
    servers: tuple[Recorder, Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = servers
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, second.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert read(first.url) == {"ok": True}
    assert second.seen == []


def test_a_netrc_file_does_not_replace_the_token(
    servers: tuple[Recorder, Recorder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password canary\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    read(servers[0].url)
    assert servers[0].seen == [("/api/v1/whoami", f"Bearer {TOKEN}")]


def test_a_port_where_nobody_listens_is_a_refused_connection(clock: FakeClock) -> None:
    spare = Recorder()
    url = spare.url
    spare.server_close()
    with pytest.raises(CommandFailed, match="the connection was refused") as caught:
        read(url)
    assert caught.value.exit_code == 8
    assert "smarter status" in caught.value.message


def test_a_name_that_does_not_exist(clock: FakeClock) -> None:
    with pytest.raises(CommandFailed, match=r"nowhere\.invalid cannot be reached") as caught:
        read("http://nowhere.invalid")
    assert caught.value.exit_code == 8
