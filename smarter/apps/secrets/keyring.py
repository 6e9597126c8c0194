"""The ring of key-encryption keys (KEK): a file of the operator that only the service may read.

    {"primary": "k2", "keys": {"k1": "<32 bytes in base64>", "k2": "…"}}

The primary key wraps, every key unwraps. There is no default and no fallback: without the file, or with one that
others can read, nothing is encrypted or decrypted. `services` and `rotation` ask for the ring at each use; a changed
file is noticed, so that long-lived processes follow a rotation.
"""

import base64
import binascii
import json
import os
import re
import secrets
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from smarter.core.errors import PermanentError

KEY_BYTES = 32
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,32}")


class KeyRingError(PermanentError):
    """The ring cannot be used. The message names the fault and never a key."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="EncryptionKeyMissing")


@dataclass(frozen=True, slots=True)
class KeyRing:
    primary: str
    keys: dict[str, bytes] = field(repr=False)

    @property
    def primary_key(self) -> bytes:
        return self.keys[self.primary]


_lock = threading.Lock()
_cached: dict[Path, tuple[tuple[int, ...], KeyRing]] = {}


def current_ring() -> KeyRing:
    return load_ring(settings.SMARTER.kek_file)


def load_ring(path: Path) -> KeyRing:
    """KeyRingError for a ring that is missing, readable by others, or not complete."""
    try:
        found = path.stat()
        mark = (found.st_mtime_ns, found.st_ino, found.st_size, found.st_mode, found.st_ctime_ns)
        with _lock:
            cached = _cached.get(path)
            if cached is None or cached[0] != mark:
                _cached[path] = cached = (mark, _read(path, found))
            return cached[1]
    except FileNotFoundError:
        raise KeyRingError(f"The file of encryption keys {path} does not exist. Set SMARTER_KEK_FILE.") from None
    except OSError as error:
        raise KeyRingError(f"The file of encryption keys {path} cannot be read: {error.strerror}.") from None


def _read(path: Path, found: os.stat_result) -> KeyRing:
    if not stat.S_ISREG(found.st_mode):
        raise KeyRingError(f"{path} is not a file.")
    # Its group may read: a cluster mounts secrets that way for a service that is not root.
    if found.st_mode & 0o037:
        raise KeyRingError(f"Others may read {path}, or its group may write it. Run: chmod 600 {path}")
    try:
        data = json.loads(path.read_text("utf-8"))
        keys = {name: base64.b64decode(text, validate=True) for name, text in data["keys"].items()}
        primary = str(data["primary"])
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        # The cause is left out: it may repeat a part of the file.
        raise KeyRingError(f"{path} is not a ring of keys: JSON with `primary` and `keys` is expected.") from None
    for name, key in keys.items():
        if not _KEY_ID.fullmatch(name):
            raise KeyRingError(f"A key id in {path} is not made of 1 to 32 letters, digits, '.', '_' and '-'.")
        if len(key) != KEY_BYTES:
            raise KeyRingError(f"The key {name!r} in {path} does not have {KEY_BYTES} bytes.")
    if primary not in keys:
        raise KeyRingError(f"The primary key of {path} is not among its keys.")
    return KeyRing(primary, keys)


def create_ring(path: Path) -> bool:
    """A new ring with one key. False where there is a file already, which stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    ring = KeyRing("k1", {"k1": secrets.token_bytes(KEY_BYTES)})
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_text(ring))
    return True


def add_primary(path: Path) -> KeyRing:
    """Adds a new key and makes it primary; the older ones stay for unwrapping."""
    ring = load_ring(path)
    number = 1 + max((int(name[1:]) for name in ring.keys if re.fullmatch(r"k\d{1,6}", name)), default=0)
    name = f"k{number}"
    return _replace(path, KeyRing(name, {**ring.keys, name: secrets.token_bytes(KEY_BYTES)}))


def without(path: Path, key_ids: set[str]) -> KeyRing:
    """The ring without keys that wrap nothing any more."""
    ring = load_ring(path)
    if ring.primary in key_ids:
        raise KeyRingError("The primary key cannot be retired.")
    return _replace(path, KeyRing(ring.primary, {name: key for name, key in ring.keys.items() if name not in key_ids}))


def _replace(path: Path, ring: KeyRing) -> KeyRing:
    """A reader sees the old file or the new one, never half of one, and a crash loses neither."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_text(ring))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    return load_ring(path)


def _text(ring: KeyRing) -> str:
    keys = {name: base64.b64encode(key).decode("ascii") for name, key in ring.keys.items()}
    return json.dumps({"primary": ring.primary, "keys": keys}, indent=2) + "\n"
