"""Server-side request forgery: which URLs and addresses are refused before a connection is made, also after a
redirect and when a name changes its mind."""

import ipaddress
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from smarter.fetch import addresses, web
from smarter.fetch.addresses import checked_addresses, is_allowed
from smarter.fetch.errors import FetchError
from smarter.fetch.web import Rules, parse
from tests.unit.fetch.conftest import Outcome
from tests.unit.fetch.server import Site, redirect

Fetch = Callable[..., Outcome]

PUBLIC = ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
PRIVATE = ["127.0.0.1", "10.0.0.1", "172.16.5.4", "192.168.1.1", "::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::a00:1"]
NEVER = [
    *(
        "169.254.169.254",
        "169.254.170.2",
        "fe80::1",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
    ),
    *("100.100.100.200", "fd00:ec2::254", "192.0.0.192", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255"),
    *("100.64.0.1", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1", "240.0.0.1"),
]


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses(text: str) -> None:
    assert is_allowed(ipaddress.ip_address(text), allow_private=False)


@pytest.mark.parametrize("text", PRIVATE)
def test_private_addresses_need_the_flag(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_allowed(address, allow_private=False)
    assert is_allowed(address, allow_private=True)


@pytest.mark.parametrize("text", NEVER)
def test_addresses_that_no_flag_allows(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_allowed(address, allow_private=False)
    # Carrier-grade and future ranges count as private in the standard library of some versions.
    if text not in ("100.64.0.1", "240.0.0.1", "255.255.255.255"):
        assert not is_allowed(address, allow_private=True)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "gopher://127.0.0.1:6379/_X",
            "ftp://example.com/x",
            "http://example.com/x",
            "//x/y",
            "",
        ),
        *("https://", "https:///x", "https://user@example.com/x", "https://user:pw@example.com/x", "https://@x/"),
        *(
            "https://example.com\\@127.0.0.1/x",
            "https://exa mple.com/",
            "https://example.com/a\nHost: evil",
            "https://é.de/",
        ),
        *("https://example.com:99999/", "https://example.com:x/", "https://[::1/", "javascript:alert(1)", "data:,x"),
        "https://example.com/" + "a" * 9000,
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(FetchError) as caught:
        parse(url, Rules())
    assert caught.value.reason == "bad_url"
    assert url[:30] == "" or url not in caught.value.message


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "[::ffff:7f00:1]", "0"])
def test_spellings_of_loopback(host: str) -> None:
    address = parse(f"https://{host}/x", Rules())
    with pytest.raises(FetchError) as caught:
        checked_addresses(address.host, address.port, allow_private=False)
    assert caught.value.reason == "forbidden_address"


def test_one_private_address_among_public_ones_refuses_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, 443)) for text in ("8.8.8.8", "10.0.0.7")]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(FetchError, match="private"):
        checked_addresses("models.example.com", 443, allow_private=False)


def test_the_connection_goes_to_the_address_that_was_checked(
    fetch: Fetch, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that answers loopback (allowed here) first and the metadata service at every later look."""
    site.files["a.gguf"] = b"weights"
    looked = []
    real = socket.getaddrinfo

    def flipping(host: str, *rest: object, **options: object) -> list:
        if host != "flip.example.com":
            return real(host, *rest, **options)
        looked.append(host)
        return real("127.0.0.1" if len(looked) == 1 else "169.254.169.254", *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", flipping)
    url = site.url.replace("127.0.0.1", "flip.example.com")
    assert fetch("--source", "url", "--repository", f"{url}/a.gguf", hub=False).code == 0
    assert looked == ["flip.example.com"]
    assert site.requests[0][1]["Host"].startswith("flip.example.com")


def test_loopback_is_refused_without_the_flag_and_no_connection_is_made(fetch: Fetch, site: Site, target: Path) -> None:
    outcome = fetch("--source", "url", "--repository", f"{site.url}/x", "--allow-http", hub=False, local=False)
    assert (outcome.code, outcome.last["reason"]) == (8, "forbidden_address")
    assert site.requests == []
    assert not target.exists()


def test_plain_http_is_refused_without_the_flag(fetch: Fetch, site: Site) -> None:
    outcome = fetch("--source", "url", "--repository", f"{site.url}/x", "--allow-private", hub=False, local=False)
    assert (outcome.code, outcome.last["reason"]) == (2, "bad_url")
    assert site.requests == []


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://169.254.169.254/latest/meta-data", "forbidden_address"),
        ("http://[::ffff:169.254.169.254]/", "forbidden_address"),
        ("//169.254.169.254/x", "forbidden_address"),
        ("file:///etc/passwd", "bad_url"),
        ("http://user:pw@127.0.0.1/", "bad_url"),
        ("http://127.0.0.1\\@example.com/", "bad_url"),
    ],
)
def test_redirects_are_checked_anew(fetch: Fetch, site: Site, location: str, reason: str) -> None:
    site.faults += [("/x.gguf", redirect(location))]
    outcome = fetch("--source", "url", "--repository", f"{site.url}/x.gguf", hub=False)
    assert outcome.last["reason"] == reason


def test_a_redirect_from_public_to_private_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the flag for private addresses; the public host is played by a stub of the address check."""
    real = web.checked_addresses
    seen = []

    def checked(host: str, port: int, *, allow_private: bool) -> list[str]:
        seen.append(host)
        return ["127.0.0.1"] if host == "cdn.example.com" else real(host, port, allow_private=allow_private)

    monkeypatch.setattr(web, "checked_addresses", checked)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        port = listener.getsockname()[1]

        def answer() -> None:
            connection, _ = listener.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/x\r\nContent-Length: 0\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        rules = Rules(allow_http=True, stall_seconds=5)
        with pytest.raises(FetchError) as caught, web.request(f"http://cdn.example.com:{port}/x", rules):
            pass
        thread.join()
    assert caught.value.reason == "forbidden_address"
    assert seen == ["cdn.example.com", "10.0.0.1"]


def test_redirects_end(fetch: Fetch, site: Site) -> None:
    site.faults += [("/x.gguf", redirect("/x.gguf"))] * 20
    outcome = fetch("--source", "url", "--repository", f"{site.url}/x.gguf", hub=False)
    assert (outcome.code, outcome.last["reason"]) == (10, "bad_answer")
    assert len(site.requests) == 6
