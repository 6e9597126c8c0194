import re

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from smarter.apps.accounts import services
from smarter.apps.accounts.models import Account, ApiKey, Membership, User
from smarter.apps.accounts.stores import STORES
from smarter.core.errors import Refused
from smarter.core.manifest import model_of
from smarter.models.sam.base import validate
from tests.db.accounts.builders import ACCOUNT, TOKEN, USER, actor_of, manifest, member, platform_actor, tenant

pytestmark = pytest.mark.django_db
ACCOUNTS, USERS, TOKENS = STORES[ACCOUNT.key], STORES[USER.key], STORES[TOKEN.key]


def refused(call, *args, **kwargs) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*args, **kwargs)
    return caught.value


def apply(store, actor, parsed, expected_version=None):
    return store.apply(actor, parsed, expected_version=expected_version)


def assert_fits_schema(kind, stored):
    """What a store answers is a whole manifest of its kind, and can be sent back."""
    document = {
        "apiVersion": stored.api_version,
        "kind": stored.kind,
        "metadata": stored.metadata,
        "spec": stored.spec,
        "status": stored.status,
    }
    _, faults = validate(kind.model, document)
    assert faults == []
    assert model_of(kind, stored.metadata, stored.spec)


def company(name="acme", metadata="", config="companyName: Acme"):
    return manifest(ACCOUNT, f"{{name: {name}{metadata}}}", f"{{config: {{{config}}}}}")


def person(name="bob", email="bob@example.com", active="true", staff="false", username=None):
    return manifest(
        USER,
        f"{{name: {name}, username: {username or name}}}",
        f"{{config: {{email: {email}, isActive: {active}, isStaff: {staff}}}}}",
    )


def key(name="pipeline", username="acme_admin", active="true"):
    return manifest(TOKEN, f"{{name: {name}}}", f"{{config: {{username: {username}, isActive: {active}}}}}")


class TestAccount:
    def test_gets_a_random_number_and_the_defaults(self):
        actor = platform_actor()

        first = apply(ACCOUNTS, actor, company("acme"))
        second = apply(ACCOUNTS, actor, company("other"))

        assert first.action == "created"
        assert re.fullmatch(r"\d{4}-\d{4}-\d{4}", first.stored.account_number)
        assert first.stored.account_number != second.stored.account_number
        assert first.stored.spec["config"] == {
            "companyName": "Acme",
            "country": "US",
            "language": "en-US",
            "timezone": "America/New_York",
            "currency": "USD",
        }
        assert_fits_schema(ACCOUNT, first.stored)

    def test_keeps_the_number_that_it_was_given_for_ever(self):
        actor = platform_actor()
        given = apply(ACCOUNTS, actor, company(metadata=", accountNumber: 1234-5678-9012"))
        assert given.stored.account_number == "1234-5678-9012"

        error = refused(apply, ACCOUNTS, actor, company(metadata=", accountNumber: 1234-5678-9013"))

        assert (error.status, error.problems[0].path) == (422, "metadata.accountNumber")
        assert apply(ACCOUNTS, actor, company()).action == "unchanged"
        taken = refused(apply, ACCOUNTS, actor, company("other", metadata=", accountNumber: 1234-5678-9012"))
        assert taken.status == 409

    def test_versions_rise_with_changes_only(self):
        actor = platform_actor()
        first = apply(ACCOUNTS, actor, company()).stored
        same = apply(ACCOUNTS, actor, company())
        renamed = apply(ACCOUNTS, actor, company(metadata=", description: Ours")).stored
        changed = apply(ACCOUNTS, actor, company(config="companyName: Acme, currency: EUR"))

        assert (same.action, same.stored.resource_version) == ("unchanged", first.resource_version)
        assert (renamed.generation, renamed.resource_version) == (first.generation, first.resource_version + 1)
        assert (changed.action, changed.stored.generation) == ("changed", first.generation + 1)
        assert refused(apply, ACCOUNTS, actor, company(), expected_version='"1"').status == 412
        assert refused(apply, ACCOUNTS, actor, company("absent"), expected_version="1").status == 412

    def test_a_tenant_sees_the_own_account_only_and_changes_none(self):
        acme, other = tenant("acme"), tenant("other")

        assert ACCOUNTS.get(acme.actor, ACCOUNT, "acme").status["adminAccount"] == "acme_admin"
        assert ACCOUNTS.get(acme.actor, ACCOUNT, "other") is None
        assert [stored.name for stored in ACCOUNTS.list(acme.actor, ACCOUNT, limit=10, offset=0)[0]] == ["acme"]
        assert refused(apply, ACCOUNTS, other.actor, company()).status == 403
        assert refused(ACCOUNTS.delete, acme.actor, ACCOUNT, "acme", expected_version=None).status == 403

    def test_the_platform_lists_all_in_pages(self):
        for name in ("delta", "alpha", "charlie"):
            tenant(name)
        actor = platform_actor()

        rows, total = ACCOUNTS.list(actor, ACCOUNT, limit=2, offset=1)
        found, _ = ACCOUNTS.list(actor, ACCOUNT, limit=10, offset=0, name_filter="harl")

        assert ([row.name for row in rows], total) == (["charlie", "delta"], 4)
        assert [row.name for row in found] == ["charlie"]

    def test_the_platforms_own_account_stays(self):
        actor = platform_actor()
        tenant("acme")

        ACCOUNTS.delete(actor, ACCOUNT, "acme", expected_version=None)

        assert refused(ACCOUNTS.delete, actor, ACCOUNT, "platform", expected_version=None).status == 409
        assert refused(ACCOUNTS.delete, actor, ACCOUNT, "acme", expected_version=None).status == 404

    @pytest.mark.parametrize("number", ["", "1234", "1234-5678-901a", "1234-5678-9012\n", "12345-678-9012"])
    def test_the_database_itself_refuses_a_bad_number(self, number):
        with pytest.raises(DatabaseError), transaction.atomic():
            Account.all_accounts.create(name="x", company_name="x", number=number)

    def test_there_is_one_platform(self):
        services.ensure_platform_account()
        with pytest.raises(IntegrityError), transaction.atomic():
            Account.all_accounts.create(name="x", company_name="x", number="1111-1111-1111", is_platform=True)


class TestUser:
    def test_is_made_without_a_password_and_never_as_superuser(self):
        acme = tenant("acme")

        applied = apply(USERS, acme.actor, person(staff="true"))

        user = User.all_accounts.get(username="bob")
        assert (user.has_usable_password(), user.is_superuser, user.is_staff) == (False, False, False)
        assert Membership.for_account(acme.account).get(user=user).role == "admin"
        assert_fits_schema(USER, applied.stored)
        assert apply(USERS, acme.actor, person(staff="true")).action == "unchanged"

    def test_needs_an_administrator(self):
        acme = tenant("acme")
        for role in ("viewer", "member"):
            actor = actor_of(member(acme.account, role, role), acme.account)
            assert refused(apply, USERS, actor, person()).status == 403
            assert refused(USERS.delete, actor, USER, "acme_admin", expected_version=None).status == 403

    def test_deactivation_and_removal_stop_keys_at_once(self):
        acme = tenant("acme")
        apply(USERS, acme.actor, person())
        user = User.all_accounts.get(username="bob")
        _, text = services.create_api_key(acme.account, user, "k")
        assert services.authenticate(text.get_secret_value())

        apply(USERS, acme.actor, person(active="false"))
        assert services.authenticate(text.get_secret_value()) is None

        apply(USERS, acme.actor, person())
        assert services.authenticate(text.get_secret_value())
        USERS.delete(acme.actor, USER, "bob", expected_version=None)
        assert services.authenticate(text.get_secret_value()) is None
        apply(USERS, acme.actor, person())
        assert services.authenticate(text.get_secret_value()) is None

    def test_the_last_administrator_stays(self):
        acme = tenant("acme")
        own = {"name": "acme_admin", "email": "acme@example.com"}

        assert refused(apply, USERS, acme.actor, person(**own, staff="false")).status == 409
        assert refused(apply, USERS, acme.actor, person(**own, staff="true", active="false")).status == 409
        assert refused(USERS.delete, acme.actor, USER, "acme_admin", expected_version=None).status == 409
        apply(USERS, acme.actor, person(staff="true"))
        assert apply(USERS, acme.actor, person(**own, staff="false")).action == "changed"

    def test_a_user_of_another_account_cannot_be_taken_or_changed(self):
        acme, other = tenant("acme"), tenant("other")

        error = refused(apply, USERS, acme.actor, person("other_admin", email="evil@example.com"))

        assert error.status == 409
        other.admin.refresh_from_db()
        assert other.admin.email == "other@example.com"
        assert USERS.get(acme.actor, USER, "other_admin") is None

    def test_names_of_a_guest_belong_to_the_home_account(self):
        acme, other = tenant("acme"), tenant("other")
        services.add_member(acme.account, other.admin, "member", name="guest")

        error = refused(apply, USERS, acme.actor, person("guest", email="evil@example.com", username="other_admin"))
        same = apply(
            USERS, acme.actor, person("guest", email="other@example.com", username="other_admin", active="false")
        )

        assert error.status == 422
        assert same.action == "changed"
        assert services.actor_for(other.admin, other.account) is not None

    def test_a_superuser_is_out_of_an_administrators_reach(self):
        acme = tenant("acme")
        root = member(acme.account, "root", "admin")
        User.all_accounts.filter(pk=root.pk).update(is_superuser=True)

        assert refused(apply, USERS, acme.actor, person("root", email="root@example.com", active="false")).status == 403
        assert refused(USERS.delete, acme.actor, USER, "root", expected_version=None).status == 403
        assert refused(apply, TOKENS, acme.actor, key(username="root")).status == 403

    def test_a_username_never_changes(self):
        acme = tenant("acme")
        apply(USERS, acme.actor, person())

        assert refused(apply, USERS, acme.actor, person(username="robert")).problems[0].path == "metadata.username"


class TestToken:
    def test_reveals_the_key_once_and_the_key_works(self):
        acme = tenant("acme")

        made = apply(TOKENS, acme.actor, key())
        text = made.reveal["key"].get_secret_value()
        again = apply(TOKENS, acme.actor, key())

        actor = services.authenticate(text)
        assert (actor.user, actor.account) == (acme.admin, acme.account)
        assert "admin" not in actor.scopes
        assert (again.action, again.reveal) == ("unchanged", {})
        assert text not in repr(made)
        assert_fits_schema(TOKEN, made.stored)
        assert TOKENS.get(acme.actor, TOKEN, "pipeline").status["lastUsedAt"] is not None

    def test_is_inactive_unless_it_says_otherwise(self):
        acme = tenant("acme")
        parsed = manifest(TOKEN, "{name: pipeline}", "{config: {username: acme_admin}}")

        made = apply(TOKENS, acme.actor, parsed)
        text = made.reveal["key"].get_secret_value()

        assert made.stored.spec["config"]["isActive"] is False
        assert services.authenticate(text) is None
        apply(TOKENS, acme.actor, key())
        assert services.authenticate(text) is not None

    def test_deleting_revokes_and_frees_the_name(self):
        acme = tenant("acme")
        text = apply(TOKENS, acme.actor, key()).reveal["key"].get_secret_value()

        TOKENS.delete(acme.actor, TOKEN, "pipeline", expected_version=None)

        assert services.authenticate(text) is None
        assert TOKENS.get(acme.actor, TOKEN, "pipeline") is None
        assert apply(TOKENS, acme.actor, key()).action == "created"
        assert services.authenticate(text) is None
        assert ApiKey.all_accounts.count() == 2

    def test_is_for_users_of_the_account(self):
        acme, other = tenant("acme"), tenant("other")

        foreign = refused(apply, TOKENS, acme.actor, key(username="other_admin"))
        absent = refused(apply, TOKENS, acme.actor, key(username="nobody"))

        assert foreign.problems == absent.problems
        assert ApiKey.for_account(other.account).count() == 0

    def test_needs_an_administrator_and_the_scope(self):
        acme = tenant("acme")
        bob = member(acme.account, "bob", "member")
        _, text = services.create_api_key(acme.account, acme.admin, "plain")

        assert refused(apply, TOKENS, actor_of(bob, acme.account), key(username="bob")).status == 403
        assert refused(apply, TOKENS, services.authenticate(text.get_secret_value()), key()).status == 403

    def test_members_see_their_own_keys_and_tenants_nothing_foreign(self):
        acme, other = tenant("acme"), tenant("other")
        bob = member(acme.account, "bob", "member")
        apply(TOKENS, acme.actor, key("of_admin"))
        apply(TOKENS, acme.actor, key("of_bob", username="bob"))
        seen = TOKENS.list(actor_of(bob, acme.account), TOKEN, limit=10, offset=0)

        assert ([stored.name for stored in seen[0]], seen[1]) == (["of_bob"], 1)
        assert TOKENS.list(other.actor, TOKEN, limit=10, offset=0) == ([], 0)
        assert TOKENS.get(other.actor, TOKEN, "of_bob") is None
        assert refused(TOKENS.delete, other.actor, TOKEN, "of_bob", expected_version=None).status == 404
