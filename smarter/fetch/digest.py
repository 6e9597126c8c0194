"""A file to bring, and the checksums of what has arrived of it. `transfer` feeds them."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Any

from smarter.fetch.progress import Progress
from smarter.fetch.web import Answer

_MD5 = re.compile(r'"([0-9a-f]{32})"', re.ASCII)


@dataclass(frozen=True, slots=True)
class Item:
    """A file to bring. `path` is relative and safe. Sizes and checksums are None where nobody told them. An `etag` is
    the version that was listed, which no other may take the place of; where it is an MD5, as buckets have it for what
    came in one piece, it is a checksum too."""

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None
    git_sha1: str | None = None
    etag: str | None = None


@dataclass(slots=True)
class Digest:
    """Checksums of the bytes so far. The git one covers a header with the size, hence known sizes only."""

    item: Item
    progress: Progress
    position: int = 0
    reported: int = 0
    sha256: Any = None
    git_sha1: Any = None
    md5: Any = None
    promised_sha256: str = ""
    """By the answer, or by an earlier process that found everything right."""
    promised_md5: str = ""

    def restart(self) -> None:
        self.position = 0
        self.sha256 = hashlib.sha256()
        self.md5 = hashlib.md5(usedforsecurity=False)
        self.git_sha1 = hashlib.sha1(b"blob %d\0" % (self.item.size or 0), usedforsecurity=False)

    def feed(self, data: bytes) -> None:
        self.position += len(data)
        self.sha256.update(data)
        if self.item.git_sha1:
            self.git_sha1.update(data)
        if self.item.etag:
            self.md5.update(data)

    def learn(self, answer: Answer) -> None:
        """What a bucket says about an object. Under a key of a key service its ETag is no checksum."""
        if self.item.etag is None:
            return
        if answer.status == 200:
            self.promised_sha256 = _base64_sha256(answer.headers.get("x-amz-checksum-sha256", ""))
        plain = not answer.headers.get("x-amz-server-side-encryption", "").startswith("aws:")
        own_key = "x-amz-server-side-encryption-customer-algorithm" in answer.headers
        match = _MD5.fullmatch(self.item.etag)
        self.promised_md5 = match.group(1) if match and plain and not own_key else ""

    def report(self) -> None:
        """Tells the progress how many good bytes there are now, which may be fewer than before."""
        self.progress.add(self.position - self.reported)
        self.reported = self.position

    def matches(self) -> bool:
        item = self.item
        if item.size is not None and self.position != item.size:
            return False
        promised = item.sha256 or self.promised_sha256
        if promised and self.sha256.hexdigest() != promised:
            return False
        if self.promised_md5 and self.md5.hexdigest() != self.promised_md5:
            return False
        return not (item.git_sha1 and item.size is not None and self.git_sha1.hexdigest() != item.git_sha1)


def _base64_sha256(text: str) -> str:
    """As hexadecimal; empty for anything else, such as the checksum of the parts' checksums."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return raw.hex() if len(raw) == 32 else ""
