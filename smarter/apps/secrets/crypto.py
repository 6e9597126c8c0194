"""The envelope of a secret value, and the wrapping of a data key. Pure but for the random nonce.

Both are AES-256-GCM with a random nonce of 96 bits:

    value   "SV" 0x01 alg data-key-uid(16)            nonce(12) ciphertext+tag
    key     "SK" 0x01 alg length kek-id               nonce(12) ciphertext+tag

What is authenticated besides the ciphertext is the header and, for a value,
`v1|account uid|secret uid|version of the value|purpose`: a row that is copied to another account, another secret or
an older version does not decrypt. Every failure is DecryptionError, without a reason that could help an attacker.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from smarter.core.errors import PermanentError

_VALUE, _KEY = b"SV\x01", b"SK\x01"
_AES_256_GCM = b"\x01"
_NONCE_BYTES = 12
_TAG_BYTES = 16


class DecryptionError(PermanentError):
    def __init__(self, message: str = "A stored value cannot be decrypted: it was changed, or its key is not here."):
        super().__init__(message, reason="SecretUnreadable")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value belongs; a value decrypts nowhere else."""

    account_uid: UUID
    secret_uid: UUID
    version: int
    purpose: str = "value"

    def as_bytes(self) -> bytes:
        return f"v1|{self.account_uid}|{self.secret_uid}|{self.version}|{self.purpose}".encode()


def seal(data_key: bytes, data_key_uid: UUID, value: bytes, place: Place) -> bytes:
    header = _VALUE + _AES_256_GCM + data_key_uid.bytes
    return header + _encrypt(data_key, value, header + place.as_bytes())


def data_key_uid_of(envelope: bytes) -> UUID:
    if envelope[:4] != _VALUE + _AES_256_GCM or len(envelope) < 20 + _NONCE_BYTES + _TAG_BYTES:
        raise DecryptionError
    return UUID(bytes=envelope[4:20])


def open_sealed(data_key: bytes, envelope: bytes, place: Place) -> bytes:
    data_key_uid_of(envelope)
    return _decrypt(data_key, envelope[20:], envelope[:20] + place.as_bytes())


def wrap(kek: bytes, kek_id: str, data_key: bytes, account_uid: UUID, data_key_uid: UUID) -> bytes:
    name = kek_id.encode("ascii")
    header = _KEY + _AES_256_GCM + bytes([len(name)]) + name
    return header + _encrypt(kek, data_key, header + _key_place(account_uid, data_key_uid))


def kek_id_of(wrapped: bytes) -> str:
    if wrapped[:4] != _KEY + _AES_256_GCM or len(wrapped) < 5:
        raise DecryptionError
    try:
        return wrapped[5 : 5 + wrapped[4]].decode("ascii")
    except UnicodeDecodeError:
        raise DecryptionError from None


def unwrap(kek: bytes, wrapped: bytes, account_uid: UUID, data_key_uid: UUID) -> bytes:
    kek_id_of(wrapped)
    end = 5 + wrapped[4]
    return _decrypt(kek, wrapped[end:], wrapped[:end] + _key_place(account_uid, data_key_uid))


def checksum(key: bytes, secret_uid: UUID, value: bytes) -> str:
    """Tells two values of one secret apart, and nothing about either to somebody without the key."""
    return hmac.new(key, secret_uid.bytes + value, hashlib.sha256).hexdigest()


def _key_place(account_uid: UUID, data_key_uid: UUID) -> bytes:
    return f"v1|{account_uid}|{data_key_uid}|key".encode()


def _encrypt(key: bytes, plain: bytes, associated: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, associated)


def _decrypt(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    if len(ciphertext) < _TAG_BYTES:
        raise DecryptionError
    try:
        return AESGCM(key).decrypt(nonce, ciphertext, associated)
    except InvalidTag:
        raise DecryptionError from None
