from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.authentication import ApiKeyAuthentication
from smarter.apps.accounts.models import ApiKey, Membership
from smarter.apps.accounts.tokens import _checksum, new_token
from smarter.core.errors import Refused
from tests.db.accounts.builders import Tenant, member, platform_actor, tenant

pytestmark = pytest.mark.django_db


def key_of(made: Tenant, **fields) -> tuple[ApiKey, str]:
    key, text = services.create_api_key(made.account, made.admin, "test_key", **fields)
    return key, text.get_secret_value()


def ask(**headers: str) -> tuple | None:
    request = Request(APIRequestFactory().get("/", **headers))
    return ApiKeyAuthentication().authenticate(request)


def test_a_key_names_its_user_account_role_and_scopes():
    made = tenant("acme")
    key, text = key_of(made, scopes=["apply", "read"])

    assert services.authenticate(text) == Actor(
        made.admin, made.account, "admin", key_id=key.key_id, scopes=frozenset({"read", "apply"})
    )


def test_the_key_is_not_in_the_database():
    _, text = key_of(tenant("acme"))
    row = ApiKey.all_accounts.values().get()

    assert text[24:67] not in str(row)


def test_authentication_is_one_query_and_a_note_at_most_once_a_minute(django_assert_num_queries):
    key, text = key_of(tenant("acme"))

    with django_assert_num_queries(2):
        services.authenticate(text)
    with django_assert_num_queries(1):
        services.authenticate(text)
    ApiKey.all_accounts.update(last_used_at=timezone.now() - timedelta(seconds=61))
    with django_assert_num_queries(2):
        services.authenticate(text)
    key.refresh_from_db()
    assert timezone.now() - key.last_used_at < timedelta(seconds=30)


def test_a_revoked_key_stops_with_the_next_request():
    key, text = key_of(tenant("acme"))
    assert services.authenticate(text)

    services.revoke_api_key(key)

    assert services.authenticate(text) is None


@pytest.mark.parametrize("days", [90])
def test_a_key_expires(days):
    key, text = key_of(tenant("acme"))
    assert timedelta(days=days - 1) < key.expires_at - timezone.now() <= timedelta(days=days)

    ApiKey.all_accounts.update(expires_at=timezone.now())

    assert services.authenticate(text) is None


def test_whatever_is_switched_off_refuses_the_key_at_once():
    made = tenant("acme")
    key, text = key_of(made)
    membership = Membership.for_account(made.account).get()
    for row in (key, made.admin, made.account, membership):
        row.is_active = False
        row.save()
        assert services.authenticate(text) is None, row
        row.is_active = True
        row.save()
        assert services.authenticate(text) is not None, row


def test_a_key_of_somebody_who_left_the_account_is_refused():
    made = tenant("acme")
    _, text = key_of(made)
    Membership.for_account(made.account).delete()

    assert services.authenticate(text) is None


def test_a_right_id_with_another_secret_is_refused():
    key, _ = key_of(tenant("acme"))
    stranger = new_token().text
    body = f"sk_smarter_{key.key_id}_{stranger[24:67]}"

    assert services.authenticate(f"{body}_{_checksum(body)}") is None


def test_a_database_dump_does_not_authenticate():
    key, _ = key_of(tenant("acme"))

    assert services.authenticate(key.digest) is None
    assert services.authenticate(f"sk_smarter_{key.key_id}_{key.digest[:43]}_{key.digest[:8]}") is None


def test_digests_exchanged_between_accounts_refuse_both_keys():
    one, other = tenant("one"), tenant("other")
    (first, first_text), (second, second_text) = key_of(one), key_of(other)
    ApiKey.all_accounts.filter(pk=first.pk).update(digest=second.digest)
    ApiKey.all_accounts.filter(pk=second.pk).update(digest=first.digest)

    assert services.authenticate(first_text) is None
    assert services.authenticate(second_text) is None


def test_a_key_needs_a_member_and_known_scopes():
    one, other = tenant("one"), tenant("other")

    with pytest.raises(Refused):
        services.create_api_key(one.account, other.admin, "k")
    with pytest.raises(Refused):
        services.create_api_key(one.account, one.admin, "k", scopes=["everything"])
    with pytest.raises(Refused):
        services.create_api_key(one.account, one.admin, "k", scopes=[])
    assert ApiKey.all_accounts.count() == 0


@pytest.mark.parametrize("scheme", ["Bearer", "Token", "bearer", "TOKEN"])
def test_both_schemes_are_read(scheme):
    made = tenant("acme")
    _, text = key_of(made)

    user, actor = ask(HTTP_AUTHORIZATION=f"{scheme} {text}")

    assert (user, actor.account) == (made.admin, made.account)


@pytest.mark.parametrize("value", ["", "Basic YTpi", "Negotiate x"])
def test_another_scheme_is_no_attempt_and_leads_to_a_challenge(value):
    assert ask(HTTP_AUTHORIZATION=value) is None
    assert ApiKeyAuthentication().authenticate_header(Request(APIRequestFactory().get("/"))).startswith("Bearer")


BAD_KEYS = {
    "empty": "",
    "x": "x",
    "prefix": "sk_smarter_",
    "words": "a b c",
    "latin": "\u00ff" * 80,
    "sql": "' OR 1=1 --",
    "long": "x" * 10_000,
}


@pytest.mark.parametrize("text", BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_bad_key_is_refused_in_the_same_words(text):
    with pytest.raises(AuthenticationFailed) as caught:
        ask(HTTP_AUTHORIZATION=f"Bearer {text}")

    assert str(caught.value) == "The API key is not valid."


def test_only_the_platform_acts_in_other_accounts():
    one, other = tenant("one"), tenant("other")
    platform = platform_actor()
    _, tenants_key = key_of(one, scopes=["admin"])
    _, key = services.create_api_key(platform.account, platform.user, "k", scopes=["read", "admin"])
    _, weak = services.create_api_key(platform.account, platform.user, "weak", scopes=["read", "apply"])
    elsewhere = {"HTTP_X_SMARTER_ACCOUNT": other.account.number}

    _, actor = ask(HTTP_AUTHORIZATION=f"Bearer {key.get_secret_value()}", **elsewhere)

    assert (actor.account, actor.is_platform_admin) == (other.account, True)
    for text in (tenants_key, weak.get_secret_value()):
        with pytest.raises(PermissionDenied) as foreign:
            ask(HTTP_AUTHORIZATION=f"Bearer {text}", **elsewhere)
        with pytest.raises(PermissionDenied) as absent:
            ask(HTTP_AUTHORIZATION=f"Bearer {text}", HTTP_X_SMARTER_ACCOUNT="9999-9999-9999")
        assert str(foreign.value) == str(absent.value)
    _, own = ask(HTTP_AUTHORIZATION=f"Bearer {tenants_key}", HTTP_X_SMARTER_ACCOUNT=one.account.number)
    assert own.account == one.account


def test_a_superuser_is_no_platform_administrator_in_a_tenants_account():
    made = tenant("acme")
    made.admin.is_superuser = True
    made.admin.save()
    _, text = key_of(made, scopes=["admin"])

    actor = services.authenticate(text)

    assert actor.may("admin")
    assert not actor.may("platform")


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("viewer", {"viewer"}), ("member", {"viewer", "member"}), ("admin", {"viewer", "member", "admin"})],
)
def test_roles(role, allowed):
    made = tenant("acme")
    actor = services.actor_for(member(made.account, "somebody", role), made.account)

    assert {name for name in ("viewer", "member", "admin", "platform") if actor.may(name)} == allowed


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ({"read"}, {"viewer"}),
        ({"read", "apply"}, {"viewer", "member"}),
        ({"deploy"}, {"viewer", "member"}),
        ({"secrets:write"}, {"viewer", "member", "admin"}),
        ({"admin"}, {"viewer", "member", "admin", "platform"}),
    ],
)
def test_a_key_is_worth_no_more_than_its_scopes(scopes, allowed):
    platform = platform_actor()
    actor = Actor(platform.user, platform.account, "admin", is_platform_admin=True, scopes=frozenset(scopes))

    assert {name for name in ("viewer", "member", "admin", "platform") if actor.may(name)} == allowed
    with pytest.raises(Refused):
        Actor(platform.user, platform.account, "admin", scopes=frozenset({"read"})).require("viewer", "deploy")
