import io
import threading

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from pydantic import SecretStr

from smarter.apps.secrets import data_keys, keyring, rotation, services
from smarter.apps.secrets.crypto import DecryptionError
from smarter.apps.secrets.keyring import KeyRingError, load_ring
from smarter.apps.secrets.models import DataKey, Secret
from tests.db.accounts.builders import tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenants(db):
    made = [tenant("one"), tenant("other")]
    for index, each in enumerate(made):
        for number in range(3):
            name = f"token_{number}"
            services.put(each.account, each.admin, name, SecretStr(f"value {index} {number}"))
    return made


def values(made) -> list[tuple[str, str]]:
    names = [f"token_{number}" for number in range(3)]
    return [
        (fact.value.get_secret_value(), fact.checksum)
        for each in made
        for _, fact in sorted(services.use(each.account, names, "test").items())
    ]


def rotate(*options: str) -> str:
    out = io.StringIO()
    call_command("secrets_rotate", *options, stdout=out, skip_checks=True)
    return out.getvalue()


def test_a_whole_rotation_changes_no_value_and_no_checksum(tenants, key_file):
    before, envelopes = values(tenants), list(Secret.all_accounts.values_list("pk", "envelope"))
    old = key_file.read_text()

    said = rotate("--new-key", "--retire")

    assert values(tenants) == before
    assert set(load_ring(key_file).keys) == {"k2"}
    assert "data keys rewrapped: 4" in said
    assert "keys retired: k1" in said
    assert [(pk, bytes(envelope)) for pk, envelope in Secret.all_accounts.values_list("pk", "envelope")] == [
        (pk, bytes(envelope)) for pk, envelope in envelopes
    ]
    key_file.write_text(old)
    with pytest.raises(DecryptionError):
        values(tenants)


def test_both_keys_work_between_the_steps(tenants, key_file):
    before = values(tenants)
    keyring.add_primary(key_file)
    assert values(tenants) == before
    made = tenant("third")
    services.put(made.account, made.admin, "token", SecretStr("x"))
    assert set(DataKey.for_account(made.account).values_list("kek_id", flat=True)) == {"k2"}
    assert rotation.unused_key_ids() == set()

    assert rotation.rewrap_all() == 4
    assert rotation.rewrap_all() == 0

    assert rotation.unused_key_ids() == {"k1"}
    assert values(tenants) == before


def test_encrypting_anew_drops_the_old_data_keys_and_restarts_nothing(tenants, key_file):
    before, old_keys = values(tenants), set(DataKey.all_accounts.filter(purpose="value").values_list("pk", flat=True))

    said = rotate("--reencrypt")

    new_keys = set(DataKey.all_accounts.filter(purpose="value").values_list("pk", flat=True))
    assert values(tenants) == before
    assert not old_keys & new_keys
    assert "values encrypted anew: 6, data keys dropped: 2" in said
    assert set(Secret.all_accounts.values_list("generation", "value_version")) == {(1, 1)}


def test_a_key_that_is_lost_too_early_names_the_fault(tenants, key_file):
    keyring.add_primary(key_file)
    keyring.without(key_file, {"k1"})

    with pytest.raises(DecryptionError, match="not in the key ring"):
        values(tenants)
    with pytest.raises(DecryptionError):
        rotation.rewrap_all()


def test_a_key_that_is_retired_while_a_data_key_is_made_refuses_that(tenants, key_file, monkeypatch):
    """The ring changes between wrapping and storing."""
    made, rings = tenant("third"), [load_ring(key_file)]
    keyring.add_primary(key_file)
    rotation.rewrap_all()
    rotation.retire_unused(key_file)
    rings.append(load_ring(key_file))
    monkeypatch.setattr(data_keys, "current_ring", lambda: rings.pop(0) if len(rings) > 1 else rings[0])

    with pytest.raises(KeyRingError, match="retired meanwhile"):
        data_keys.current_key(made.account, "value")

    assert not DataKey.for_account(made.account).exists()


@pytest.mark.django_db(transaction=True)
def test_values_stay_readable_and_writable_during_rotations(tenants, key_file):
    before, stop, faults = values(tenants), threading.Event(), []

    def work(each, names):
        try:
            number = 0
            while not stop.is_set():
                number += 1
                # Two secrets in one transaction, which the other thread writes in the other order.
                with transaction.atomic():
                    for name in names:
                        services.put(each.account, each.admin, name, SecretStr(f"{name} {number}"))
                for name, fact in services.use(each.account, names, "test").items():
                    if not fact.value.get_secret_value().startswith(name):
                        faults.append(name)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in the thread is the test's finding
            faults.append(repr(error))
        finally:
            connection.close()

    orders = [(tenants[0], ["a", "b"]), (tenants[0], ["b", "a"]), (tenants[1], ["a", "b"])]
    threads = [threading.Thread(target=work, args=order) for order in orders]
    for thread in threads:
        thread.start()
    for _ in range(3):
        rotate("--new-key", "--reencrypt", "--retire")
    stop.set()
    for thread in threads:
        thread.join(30)

    assert faults == []
    assert values(tenants) == before
    assert set(load_ring(key_file).keys) == {"k4"}
