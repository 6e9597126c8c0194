import base64
import json

import pytest
from django.core.management import CommandError, call_command

from smarter.apps.secrets import keyring
from smarter.apps.secrets.checks import key_ring_is_usable
from smarter.apps.secrets.keyring import KeyRingError, load_ring

GOOD = base64.b64encode(bytes(range(32))).decode()


def write(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)


def test_a_new_ring_is_private_and_random(tmp_path):
    paths = [tmp_path / "a" / "kek.json", tmp_path / "b" / "kek.json"]
    rings = []
    for path in paths:
        assert keyring.create_ring(path)
        assert path.stat().st_mode & 0o777 == 0o600
        rings.append(load_ring(path))
    assert rings[0].primary_key != rings[1].primary_key


def test_an_existing_ring_is_kept(key_file):
    before = key_file.read_bytes()

    assert not keyring.create_ring(key_file)
    call_command("secrets_init")

    assert key_file.read_bytes() == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o440, 0o400])
def test_its_owner_and_its_group_may_read(key_file, mode):
    """A cluster mounts a secret readable by the group of the pod; nobody else is in it."""
    key_file.chmod(mode)
    assert load_ring(key_file).primary == "k1"


@pytest.mark.parametrize("mode", [0o604, 0o620, 0o660, 0o666])
def test_a_file_that_others_may_read_or_write_is_refused(key_file, mode):
    key_file.chmod(mode)

    with pytest.raises(KeyRingError, match="chmod 600"):
        load_ring(key_file)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "canary",
        "[]",
        "null",
        "{}",
        json.dumps({"primary": "k1"}),
        json.dumps({"primary": "k1", "keys": []}),
        json.dumps({"primary": "k1", "keys": {}}),
        json.dumps({"primary": "k2", "keys": {"k1": GOOD}}),
        json.dumps({"primary": ["k1"], "keys": {"k1": GOOD}}),
        json.dumps({"primary": "k1", "keys": {"k1": "canary!"}}),
        json.dumps({"primary": "k1", "keys": {"k1": 7}}),
        json.dumps({"primary": "k1", "keys": {"k1": base64.b64encode(b"canary").decode()}}),
        json.dumps({"primary": "a|b", "keys": {"a|b": GOOD}}),
        "\x00\x01",
    ],
)
def test_an_incomplete_ring_is_refused_without_a_word_of_its_content(key_file, text):
    write(key_file, text)

    with pytest.raises(KeyRingError) as caught:
        load_ring(key_file)

    assert "canary" not in caught.value.message
    assert GOOD not in caught.value.message


def test_without_a_ring_nothing_starts(key_file):
    assert key_ring_is_usable() == []
    key_file.unlink()

    errors = key_ring_is_usable()

    assert [error.id for error in errors] == ["secrets.E001"]
    with pytest.raises(CommandError):
        call_command("secrets_rotate")


def test_a_folder_or_a_device_is_no_ring(tmp_path):
    tmp_path.chmod(0o700)
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(KeyRingError):
            load_ring(type(tmp_path)(path))


def test_a_changed_file_is_noticed(key_file):
    assert load_ring(key_file) is load_ring(key_file)

    added = keyring.add_primary(key_file)

    assert load_ring(key_file).primary == added.primary == "k2"
    assert set(load_ring(key_file).keys) == {"k1", "k2"}
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert list(key_file.parent.iterdir()) == [key_file]


def test_the_primary_key_cannot_be_retired(key_file):
    with pytest.raises(KeyRingError):
        keyring.without(key_file, {"k1"})


def test_keys_are_not_in_the_representation(key_file):
    ring = load_ring(key_file)

    assert repr(ring.primary_key) not in repr(ring)
    assert "keys" not in repr(ring)
