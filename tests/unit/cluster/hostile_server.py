"""A tenant's server that behaves as badly as it can, one way for each path. Plain sockets, since no library for servers
would send such things."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GOOD = b'{"choices": [{"text": "2"}]}'
Behaviour = Callable[[socket.socket], None]


def _answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def good(connection: socket.socket) -> None:
    connection.sendall(_answer(GOOD))


def chunked(connection: socket.socket) -> None:
    parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (GOOD[:5], GOOD[5:]))
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n")


def redirect(connection: socket.socket) -> None:
    connection.sendall(_answer(b"", "302 Found", "Location: http://169.254.169.254/latest/meta-data/"))


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


# Made once and early: a test measures what the one who asks takes in memory, in this same process.
_BOMB = gzip.compress(b"0" * 30_000_000)


def gzip_bomb(connection: socket.socket) -> None:
    connection.sendall(_answer(_BOMB, "200 OK", "Content-Encoding: gzip"))


def slow_drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        connection.sendall(b"{")
        time.sleep(0.2)


def silent(_connection: socket.socket) -> None:
    time.sleep(20)


def wrong_json(connection: socket.socket) -> None:
    connection.sendall(_answer(b"[" * 50_000))


def unauthorized(connection: socket.socket) -> None:
    connection.sendall(_answer(b'{"error": "who are you"}', "401 Unauthorized"))


def header_flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-Much: " + b"y" * 1000 + b"\r\n")


BEHAVIOURS: dict[str, Behaviour] = {
    "/good": good,
    "/chunked": chunked,
    "/redirect": redirect,
    "/endless": endless,
    "/gzip": gzip_bomb,
    "/drip": slow_drip,
    "/silent": silent,
    "/wrong": wrong_json,
    "/401": unauthorized,
    "/flood": header_flood,
}


class HostileServer:
    """`heads` are those of all requests."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._behave, args=(connection,), daemon=True).start()

    def _behave(self, connection: socket.socket) -> None:
        with connection:
            try:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(4096)
                head = data.partition(b"\r\n\r\n")[0].decode()
                self.heads.append(head)
                path = head.split(" ")[1]
                BEHAVIOURS.get(path, good)(connection)
                connection.settimeout(1)
                while connection.recv(4096):
                    pass
            except OSError:
                return

    def close(self) -> None:
        """A thread that waits in `accept` keeps a socket open that is only closed, and would take one more caller."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def hostile_server() -> Iterator[HostileServer]:
    server = HostileServer()
    try:
        yield server
    finally:
        server.close()
