"""How a body is read: never more than a manifest may have, however it is sent."""

import io
from typing import Any

import pytest
from django.test import RequestFactory

from smarter.apps.api.bodies import LIMIT_BYTES, read_body
from smarter.core.errors import Refused


class Dripping(io.RawIOBase):
    """Answers a few bytes at a time, and counts them."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.given = 0

    def read(self, size: int = -1) -> bytes:
        part = b"x" * min(self.left, 7, size if size >= 0 else 7)
        self.left -= len(part)
        self.given += len(part)
        return part


def request(stream: Any, **environ: Any) -> Any:
    made = RequestFactory().post("/api/v1/apply")
    made.environ.update({"wsgi.input": stream, "wsgi.input_terminated": True, **environ})
    made.META = made.environ
    made.META["CONTENT_LENGTH"] = environ.get("CONTENT_LENGTH", "")
    return made


def test_a_chunked_body_is_read_to_its_end() -> None:
    assert read_body(request(io.BytesIO(b"a: 1"))) == b"a: 1"
    assert len(read_body(request(Dripping(1000)))) == 1000


def test_a_chunked_body_without_end_is_cut_off() -> None:
    endless = Dripping(10**12)
    with pytest.raises(Refused) as refused:
        read_body(request(endless))
    assert refused.value.status == 413
    assert endless.given == LIMIT_BYTES + 1


def test_a_large_length_is_refused_without_reading() -> None:
    stream = Dripping(10**12)
    with pytest.raises(Refused) as refused:
        read_body(request(stream, CONTENT_LENGTH=str(10**12)))
    assert refused.value.status == 413
    assert stream.given == 0
