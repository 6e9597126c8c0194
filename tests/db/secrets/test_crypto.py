import random
from uuid import uuid4

import pytest

from smarter.apps.secrets import crypto
from smarter.apps.secrets.crypto import DecryptionError, Place

KEY, VALUE = bytes(range(32)), "canary-válue".encode()
KEY_UID, ACCOUNT, SECRET = uuid4(), uuid4(), uuid4()
PLACE = Place(ACCOUNT, SECRET, 3)


@pytest.fixture(scope="module")
def envelope() -> bytes:
    return crypto.seal(KEY, KEY_UID, VALUE, PLACE)


def test_a_value_comes_back_and_the_header_names_its_key(envelope):
    assert crypto.open_sealed(KEY, envelope, PLACE) == VALUE
    assert crypto.data_key_uid_of(envelope) == KEY_UID
    assert VALUE not in envelope


def test_the_same_value_never_encrypts_to_the_same_bytes():
    assert len({crypto.seal(KEY, KEY_UID, VALUE, PLACE) for _ in range(100)}) == 100


def test_every_single_flipped_bit_is_refused(envelope):
    for position in range(len(envelope) * 8):
        changed = bytearray(envelope)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(DecryptionError):
            crypto.open_sealed(KEY, bytes(changed), PLACE)


def test_every_truncation_and_extension_is_refused(envelope):
    for length in range(len(envelope)):
        with pytest.raises(DecryptionError):
            crypto.open_sealed(KEY, envelope[:length], PLACE)
    with pytest.raises(DecryptionError):
        crypto.open_sealed(KEY, envelope + b"\x00", PLACE)


@pytest.mark.parametrize(
    "place",
    [
        Place(uuid4(), SECRET, 3),
        Place(ACCOUNT, uuid4(), 3),
        Place(ACCOUNT, SECRET, 2),
        Place(ACCOUNT, SECRET, 3, purpose="other"),
        Place(SECRET, ACCOUNT, 3),
    ],
)
def test_a_value_opens_in_its_own_place_only(envelope, place):
    with pytest.raises(DecryptionError):
        crypto.open_sealed(KEY, envelope, place)


def test_random_bytes_are_refused():
    generator = random.Random(1)
    for _ in range(500):
        noise = generator.randbytes(generator.randrange(100))
        with pytest.raises(DecryptionError):
            crypto.open_sealed(KEY, b"SV\x01\x01" + noise, PLACE)
        with pytest.raises(DecryptionError):
            crypto.unwrap(KEY, b"SK\x01\x01" + noise, ACCOUNT, KEY_UID)


def test_a_wrapped_key_opens_for_its_account_and_uid_only():
    wrapped = crypto.wrap(KEY, "k1", VALUE, ACCOUNT, KEY_UID)

    assert crypto.unwrap(KEY, wrapped, ACCOUNT, KEY_UID) == VALUE
    assert crypto.kek_id_of(wrapped) == "k1"
    for account, uid in ((uuid4(), KEY_UID), (ACCOUNT, uuid4())):
        with pytest.raises(DecryptionError):
            crypto.unwrap(KEY, wrapped, account, uid)
    for position in range(len(wrapped) * 8):
        changed = bytearray(wrapped)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(DecryptionError):
            crypto.unwrap(KEY, bytes(changed), ACCOUNT, KEY_UID)


def test_a_failure_says_nothing_about_the_value(envelope):
    with pytest.raises(DecryptionError) as caught:
        crypto.open_sealed(bytes(32), envelope, PLACE)

    assert "canary" not in repr(caught.value) + caught.value.message
    assert caught.value.__cause__ is None


def test_checksums_tell_values_and_secrets_apart():
    first = crypto.checksum(KEY, SECRET, b"a")

    assert first == crypto.checksum(KEY, SECRET, b"a")
    assert len({first, crypto.checksum(KEY, SECRET, b"b"), crypto.checksum(KEY, uuid4(), b"a")}) == 3
    assert first != crypto.checksum(bytes(32), SECRET, b"a")
