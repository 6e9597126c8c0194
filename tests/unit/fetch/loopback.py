"""A real HTTP server on loopback, for the sites of `server.py`, `bucket_site.py` and `registry_site.py`."""

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeVar


class Site(Protocol):
    """What is served; each has more of its own."""

    url: str


S = TypeVar("S", bound=Site)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    @property
    def site(self) -> Any:
        return self.server.site  # type: ignore[attr-defined] # set by `serving`

    def begin(self) -> int:
        """Where the wanted range starts; 0 for the whole."""
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(match[1]) if match else 0

    def answer(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, cut_after: int | None = None
    ) -> None:
        """`cut_after`: the connection closes after so many bytes of the body."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if cut_after is None else body[:cut_after])
        if cut_after is not None:
            self.wfile.flush()
            self.close_connection = True

    def answer_range(self, data: bytes, begin: int, headers: dict[str, str], cut_after: int | None = None) -> None:
        """All of `data`, or what comes from `begin` on."""
        if begin:
            headers = {**headers, "Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}
        self.answer(206 if begin else 200, data[begin:], headers, cut_after)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the tests."""


@contextmanager
def serving_site(site: S, handler: type[Handler], tls: ssl.SSLContext | None = None) -> Iterator[S]:
    server = _Server(("127.0.0.1", 0), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.site = site  # type: ignore[attr-defined] # read by the handler
    site.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
