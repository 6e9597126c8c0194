import io
import logging
import random
import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.clusters.models import Cluster
from smarter.apps.secrets import data_keys, services
from smarter.apps.secrets.crypto import DecryptionError
from smarter.apps.secrets.keyring import KeyRingError
from smarter.apps.secrets.models import DataKey, Secret
from smarter.core.errors import Refused
from tests.db.accounts.builders import tenant

CANARY = "canary-5b1f0c"
pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(db):
    return tenant("acme")


def put(made, name="token", value=CANARY, **fields):
    return services.put(made.account, made.admin, name, SecretStr(value), **fields)


def value_of(made, name="token") -> str | None:
    fact = services.use(made.account, [name], "test").get(name)
    return fact and fact.value.get_secret_value()


@pytest.mark.parametrize("value", ["x", "é漢😀", "a\nb\x00c", " ", "x" * 65_536])
def test_any_text_comes_back(acme, value):
    put(acme, value=value)

    assert value_of(acme) == value


@pytest.mark.parametrize("value", ["", "x" * 65_537, "é" * 32_769])
def test_nothing_and_too_much_are_refused(acme, value):
    with pytest.raises(Refused) as caught:
        put(acme, value=value)

    assert caught.value.status == 422
    assert not Secret.all_accounts.exists()


def test_values_belong_to_their_account(acme):
    other = tenant("other")
    put(acme)
    put(other, value="of-other")

    assert value_of(acme) == CANARY
    assert value_of(other) == "of-other"
    put(acme, "second")
    assert services.use(other.account, ["second"], "test") == {}
    assert services.exists(other.account, ["token", "second"]) == {"token"}
    assert not services.delete(other.account, "second")


def test_an_expired_value_is_absent(acme):
    put(acme, expires_at=timezone.now() + timedelta(hours=1))
    assert value_of(acme) == CANARY

    Secret.all_accounts.update(expires_at=timezone.now())

    assert services.use(acme.account, ["token"], "test") == {}
    assert services.exists(acme.account, ["token"]) == set()


def test_the_checksum_follows_the_value(acme):
    other = tenant("other")
    first = put(acme).checksum
    same = put(acme)
    changed = put(acme, value="other")

    assert (same.checksum, same.generation, same.value_version) == (first, 1, 1)
    assert changed.checksum != first
    assert (changed.generation, changed.value_version) == (2, 2)
    assert put(acme).checksum == first
    assert put(acme, "second").checksum != first
    assert put(other).checksum != first
    fact = services.use(acme.account, ["token"], "test")["token"]
    assert fact.checksum == first


def test_use_is_noted_with_its_purpose_and_not_at_every_call(acme, django_assert_num_queries):
    put(acme)
    services.use(acme.account, ["token"], "workload")
    row = Secret.all_accounts.get()
    assert (row.last_used_for, timezone.now() - row.last_used_at < timedelta(seconds=30)) == ("workload", True)

    services.use(acme.account, ["token"], "workload")
    again = Secret.all_accounts.get()
    services.use(acme.account, ["token"], "cluster")

    assert again.last_used_at == row.last_used_at
    assert Secret.all_accounts.get().last_used_for == "cluster"


def test_many_values_take_one_query(acme, django_assert_num_queries):
    names = [f"token_{number}" for number in range(20)]
    for name in names:
        put(acme, name)
    services.use(acme.account, names, "test")

    with django_assert_num_queries(1):
        assert len(services.use(acme.account, names, "test")) == 20


class TestTampering:
    def test_every_changed_row_is_refused(self, acme):
        put(acme)
        good = bytes(Secret.all_accounts.get().envelope)
        generator = random.Random(7)
        for position in generator.sample(range(len(good) * 8), 200):
            changed = bytearray(good)
            changed[position // 8] ^= 1 << position % 8
            Secret.all_accounts.update(envelope=bytes(changed))
            with pytest.raises(DecryptionError):
                services.use(acme.account, ["token"], "test")
        Secret.all_accounts.update(envelope=good)
        assert value_of(acme) == CANARY

    def test_values_exchanged_between_rows_are_refused(self, acme):
        one, two = put(acme, "one"), put(acme, "two", "other")
        Secret.all_accounts.filter(pk=one.pk).update(envelope=two.envelope)

        with pytest.raises(DecryptionError):
            services.use(acme.account, ["one"], "test")

    def test_values_exchanged_between_accounts_are_refused(self, acme):
        other = tenant("other")
        mine, theirs = put(acme), put(other, value="theirs")
        Secret.all_accounts.filter(pk=mine.pk).update(envelope=theirs.envelope, data_key=theirs.data_key)
        with pytest.raises(DecryptionError):
            services.use(acme.account, ["token"], "test")

        DataKey.all_accounts.filter(pk=theirs.data_key_id).update(account=acme.account, is_current=False)
        with pytest.raises(DecryptionError):
            services.use(acme.account, ["token"], "test")

    def test_a_row_moved_to_another_account_is_refused(self, acme):
        other = tenant("other")
        row = put(acme)
        Secret.all_accounts.filter(pk=row.pk).update(account=other.account)

        with pytest.raises(DecryptionError):
            services.use(other.account, ["token"], "test")

    def test_an_older_value_put_back_is_refused(self, acme):
        old = bytes(put(acme).envelope)
        put(acme, value="newer")
        Secret.all_accounts.update(envelope=old)

        with pytest.raises(DecryptionError):
            services.use(acme.account, ["token"], "test")

    def test_a_renamed_row_of_the_same_uid_is_what_it_was(self, acme):
        put(acme)
        Secret.all_accounts.update(uid=uuid4())

        with pytest.raises(DecryptionError):
            services.use(acme.account, ["token"], "test")


def test_without_the_key_nothing_is_written_or_read(acme, key_file):
    put(acme)
    key_file.unlink()

    with pytest.raises(KeyRingError):
        services.use(acme.account, ["token"], "test")
    with pytest.raises(KeyRingError):
        put(acme, "second")
    assert Secret.all_accounts.count() == 1


class TestGenerated:
    def test_is_made_once(self, acme):
        owner = uuid4()

        first = services.ensure_generated(acme.account, acme.admin, "key", owner)
        value = value_of(acme, "key")
        second = services.ensure_generated(acme.account, acme.admin, "key", owner)

        assert first.pk == second.pk
        assert value_of(acme, "key") == value
        assert len(value) == 64
        assert services.is_token_like(SecretStr(value))

    @pytest.mark.parametrize("made_for", [None, uuid4()])
    def test_a_name_of_somebody_else_is_left_alone(self, acme, made_for):
        put(acme, "key", "planted", generated_for=made_for)
        before = Secret.all_accounts.values().get()

        with pytest.raises(Refused) as caught:
            services.ensure_generated(acme.account, acme.admin, "key", uuid4())

        assert caught.value.status == 409
        assert Secret.all_accounts.values().get() == before

    def test_goes_with_its_resource_and_nothing_else_does(self, acme):
        owner = uuid4()
        services.ensure_generated(acme.account, acme.admin, "key", owner)
        services.ensure_generated(acme.account, acme.admin, "other", uuid4())
        put(acme)

        assert services.delete_generated(owner) == 1
        assert set(Secret.all_accounts.values_list("name", flat=True)) == {"other", "token"}


@pytest.mark.django_db(transaction=True)
def test_a_race_for_one_name_has_one_winner():
    acme = tenant("acme")
    owners, answers = [uuid4() for _ in range(8)], []
    barrier = threading.Barrier(len(owners))

    def race(owner):
        try:
            barrier.wait(10)
            answers.append(services.ensure_generated(acme.account, acme.admin, "key", owner).generated_for)
        except Refused as error:
            answers.append(error.status)
        finally:
            connection.close()

    threads = [threading.Thread(target=race, args=(owner,)) for owner in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    winner = Secret.all_accounts.get().generated_for
    assert sorted(map(str, answers)) == sorted([str(winner)] + ["409"] * 7)
    assert DataKey.all_accounts.count() == 2
    assert value_of(acme, "key")


def test_a_used_secret_cannot_be_deleted(acme):
    row = put(acme)
    Cluster.all_accounts.create(
        account=acme.account, owner=acme.admin, name="c", type="kubernetes", kubeconfig_secret=row
    )

    with pytest.raises(Refused) as caught:
        services.delete(acme.account, "token")

    assert (caught.value.status, caught.value.code) == (409, "in_use")
    assert value_of(acme) == CANARY


def test_a_data_key_that_encrypted_enough_is_replaced(acme):
    first = put(acme)
    assert DataKey.for_account(acme.account).get(purpose="value").encryptions == 1
    DataKey.all_accounts.update(encryptions=data_keys.MAX_ENCRYPTIONS)

    second = put(acme, "second")

    assert second.data_key_id != first.data_key_id
    assert put(acme, "third").data_key_id == second.data_key_id
    assert (value_of(acme), value_of(acme, "second")) == (CANARY, CANARY)


def test_a_key_that_is_retired_at_the_last_moment_encrypts_nothing(acme, monkeypatch):
    stale = data_keys.current_key(acme.account, "value")
    data_keys.retire(stale)
    find, seen = data_keys._find, [stale]
    monkeypatch.setattr(
        data_keys,
        "_find",
        lambda account, purpose: seen.pop() if seen and purpose == "value" else find(account, purpose),
    )

    assert put(acme).data_key_id != stale.pk
    assert DataKey.all_accounts.get(pk=stale.pk).encryptions == 0


def test_a_generated_name_may_be_longer_than_a_manifests(acme):
    name = f"llmhost_{'x' * 50}_api_key"

    assert services.ensure_generated(acme.account, acme.admin, name, uuid4()).name == name


def test_the_database_keeps_one_current_key(acme):
    put(acme)
    key = DataKey.for_account(acme.account).get(purpose="value")

    with pytest.raises(IntegrityError), transaction.atomic():
        DataKey.all_accounts.create(account=acme.account, purpose="value", kek_id="k1", wrapped=key.wrapped)


@pytest.mark.parametrize("value", ["abc", "sk-1234_5.6~", "!", "x" * 4096])
def test_what_can_be_an_api_key(value):
    assert services.is_token_like(SecretStr(value))


@pytest.mark.parametrize("value", ["", "a b", "a,b", "a\n", "\ta", "a\x00", "é", "a\u2028", "x" * 4097])
def test_what_cannot_be_an_api_key(value):
    assert not services.is_token_like(SecretStr(value))


@pytest.mark.django_db(transaction=True)
def test_the_value_is_nowhere_but_in_the_answer(acme, caplog):
    caplog.set_level(logging.DEBUG)
    row = put(acme)
    facts = services.use(acme.account, ["token"], "test")
    Secret.all_accounts.update(value_version=9)
    with pytest.raises(DecryptionError) as caught:
        services.use(acme.account, ["token"], "test")
    dump = io.StringIO()
    call_command("dumpdata", stdout=dump, skip_checks=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT encode(envelope, 'escape') FROM secrets_secret")
        raw = cursor.fetchall()

    seen = "".join(
        [caplog.text, repr(facts), repr(row), str(row.__dict__), repr(caught.value), dump.getvalue(), repr(raw)]
    )
    assert "secrets_used" in seen
    assert CANARY not in seen
    assert facts["token"].value.get_secret_value() == CANARY
