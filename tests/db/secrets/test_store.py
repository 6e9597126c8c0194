from datetime import UTC, datetime

import pytest

from smarter.apps.accounts import services as account_services
from smarter.apps.secrets import services
from smarter.apps.secrets.models import Secret
from smarter.apps.secrets.store import STORES, VALUE_MASK
from smarter.core.errors import Refused
from smarter.models.sam.base import validate
from tests.db.accounts.builders import SECRET, actor_of, manifest, member, tenant

pytestmark = pytest.mark.django_db
STORE = STORES[SECRET.key]
CANARY = "canary-77aa"


@pytest.fixture
def acme(db):
    return tenant("acme")


def secret(value=CANARY, name="token", more="", metadata=""):
    return manifest(SECRET, f"{{name: {name}{metadata}}}", f"{{config: {{value: {value!r}{more}}}}}")


def apply(made, parsed, expected_version=None):
    return STORE.apply(made.actor, parsed, expected_version=expected_version)


def refused(call, *args, **kwargs) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*args, **kwargs)
    return caught.value


def test_the_value_goes_in_and_never_comes_out(acme):
    applied = apply(
        acme, secret(more=", expiration_date: 2040-01-31T00:00:00Z, description: Hub", metadata=", tags: [a]")
    )
    got = STORE.get(acme.actor, SECRET, "token")
    listed, total = STORE.list(acme.actor, SECRET, limit=10, offset=0)

    assert applied.action == "created"
    assert got.spec["config"] == {
        "value": VALUE_MASK,
        "description": "Hub",
        "expiration_date": "2040-01-31T00:00:00+00:00",
    }
    assert got.metadata == {"name": "token", "tags": ["a"]}
    assert (got.applied_text, total) == (None, 1)
    assert CANARY not in repr((applied, got, listed))
    assert services.use(acme.account, ["token"], "test")["token"].value.get_secret_value() == CANARY
    document = {"apiVersion": got.api_version, "kind": got.kind, "metadata": got.metadata, "spec": got.spec}
    assert validate(SECRET.model, {**document, "status": got.status})[1] == []


def test_the_generation_rises_with_the_value(acme):
    first = apply(acme, secret())
    same = apply(acme, secret())
    other = apply(acme, secret("other"))
    tagged = apply(acme, secret("other", metadata=", tags: [a]"))

    assert [each.action for each in (first, same, other, tagged)] == ["created", "unchanged", "changed", "changed"]
    assert [each.stored.generation for each in (first, same, other, tagged)] == [1, 1, 2, 2]
    assert [each.stored.resource_version for each in (first, same, other, tagged)] == [1, 1, 2, 3]
    assert services.use(acme.account, ["token"], "test")["token"].value.get_secret_value() == "other"


def test_what_was_shown_cannot_be_sent_back_as_the_value(acme):
    apply(acme, secret())

    error = refused(apply, acme, secret(VALUE_MASK))

    assert (error.status, error.problems[0].code, error.problems[0].path) == (422, "masked_value", "spec.config.value")
    assert error.problems[0].line is not None
    assert services.use(acme.account, ["token"], "test")["token"].value.get_secret_value() == CANARY


def test_a_time_without_a_zone_is_utc(acme):
    apply(acme, secret(more=", expiration_date: 2040-01-31T12:00:00"))

    assert Secret.all_accounts.get().expires_at == datetime(2040, 1, 31, 12, tzinfo=UTC)


def test_if_match(acme):
    version = apply(acme, secret()).stored.resource_version

    assert refused(apply, acme, secret("other"), "99").status == 412
    assert refused(STORE.delete, acme.actor, SECRET, "token", expected_version="99").status == 412
    assert apply(acme, secret("other"), f'"{version}"').action == "changed"


def test_other_accounts_see_nothing_and_absent_is_the_same(acme):
    other = tenant("other")
    apply(acme, secret())

    assert STORE.get(other.actor, SECRET, "token") is None
    assert STORE.list(other.actor, SECRET, limit=10, offset=0) == ([], 0)
    foreign = refused(STORE.delete, other.actor, SECRET, "token", expected_version=None)
    STORE.delete(acme.actor, SECRET, "token", expected_version=None)
    absent = refused(STORE.delete, other.actor, SECRET, "token", expected_version=None)
    assert (foreign.status, foreign.detail) == (absent.status, absent.detail)


def test_viewers_and_weak_keys_write_nothing(acme):
    viewer = actor_of(member(acme.account, "viewer", "viewer"), acme.account)
    _, weak = account_services.create_api_key(acme.account, acme.admin, "weak", scopes=["read", "apply", "deploy"])
    apply(acme, secret())

    for actor in (viewer, account_services.authenticate(weak.get_secret_value())):
        assert refused(STORE.apply, actor, secret("x"), expected_version=None).status == 403
        assert refused(STORE.delete, actor, SECRET, "token", expected_version=None).status == 403
        assert STORE.get(actor, SECRET, "token").spec["config"]["value"] == VALUE_MASK


def test_the_reading_query_does_not_fetch_the_envelope(acme, django_assert_num_queries):
    apply(acme, secret())

    with django_assert_num_queries(1) as captured:
        STORE.get(acme.actor, SECRET, "token")

    assert "envelope" not in captured.captured_queries[0]["sql"]
