"""Amazon's signature of a request, version 4, for a GET without a body. `s3` makes the URLs, in the one spelling that
the signature is computed over."""

import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from smarter.fetch.web import Address

_ALGORITHM = "AWS4-HMAC-SHA256"
_NO_BODY = hashlib.sha256(b"").hexdigest()
_EARLY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Keys:
    """`expires_at` is in seconds of the epoch; None for keys that last."""

    id: str
    secret: str = field(repr=False)
    session: str = field(default="", repr=False)
    expires_at: float | None = None


@dataclass(slots=True)
class Signer:
    """A `Credential` of `web`. `renew` answers the next keys when those that are held run out."""

    origin: tuple[str, str, int]
    region: str
    keys: Keys | None
    renew: Callable[[], Keys] | None = None
    extra: dict[str, str] = field(default_factory=dict)
    """Further headers of every request. Those that begin with x-amz- have to be signed."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def headers(self, address: Address) -> dict[str, str]:
        keys = self._current()
        if keys is None:
            return dict(self.extra)
        return signed(address, keys, self.region, self.extra, time.time())

    def _current(self) -> Keys | None:
        with self._lock:
            over = self.keys and self.keys.expires_at and self.keys.expires_at - _EARLY_SECONDS < time.time()
            if over and self.renew:
                self.keys = self.renew()
            return self.keys


def canonical(text: str, keep: str = "") -> str:
    """Percent-encoded as the signature wants it."""
    return quote(text, safe=f"{keep}-_.~")


def signed(address: Address, keys: Keys, region: str, extra: dict[str, str], now: float) -> dict[str, str]:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    headers = {**extra, "x-amz-content-sha256": _NO_BODY, "x-amz-date": moment}
    if keys.session:
        headers["x-amz-security-token"] = keys.session
    covered = {"host": address.host_header, **{name.lower(): value.strip() for name, value in headers.items()}}
    names = ";".join(sorted(covered))
    path, _, query = address.target.partition("?")
    lines = "".join(f"{name}:{covered[name]}\n" for name in sorted(covered))
    request = "\n".join(("GET", path, query, lines, names, _NO_BODY))
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    text = "\n".join((_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.new(_key(keys.secret, moment[:8], region), text.encode(), hashlib.sha256).hexdigest()
    headers["Authorization"] = (
        f"{_ALGORITHM} Credential={keys.id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


def _key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
