"""The text of an API key: made, checked for typing errors, and hashed. Pure; `services` keeps the rows.

A key is `sk_smarter_<id>_<secret>_<checksum>`. All parts have a fixed width, because the alphabet of the secret holds
the separator. The checksum is CRC-32 of all before it, so that a scanner and the command line can tell a key from a
lookalike without asking the server. The published pattern for scanners of leaked secrets is TOKEN_PATTERN.
"""

import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

TOKEN_PATTERN = r"sk_smarter_[a-z2-7]{12}_[A-Za-z0-9_-]{43}_[0-9a-f]{8}"
_TOKEN = re.compile(r"(?P<body>sk_smarter_(?P<key_id>[a-z2-7]{12})_[A-Za-z0-9_-]{43})_(?P<checksum>[0-9a-f]{8})")
_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True, slots=True)
class Token:
    key_id: str
    digest: str
    """SHA-256, hex. The key holds 256 random bits, so a slow hash would protect nothing more."""
    text: str = field(repr=False)


def new_token() -> Token:
    key_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(12))
    body = f"sk_smarter_{key_id}_{secrets.token_urlsafe(32)}"
    return Token(key_id, _digest(body), f"{body}_{_checksum(body)}")


def parse_token(text: str) -> Token | None:
    """None for anything that no server of this program can have issued."""
    match = _TOKEN.fullmatch(text)
    if match is None or _checksum(match["body"]) != match["checksum"]:
        return None
    return Token(match["key_id"], _digest(match["body"]), text)


def same_digest(left: str, right: str) -> bool:
    return hmac.compare_digest(left, right)


def _checksum(body: str) -> str:
    return f"{binascii.crc32(body.encode('ascii')):08x}"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("ascii")).hexdigest()
