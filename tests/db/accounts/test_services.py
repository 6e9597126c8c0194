import io
import re

import pytest
from django.core.management import CommandError, call_command

from smarter.apps.accounts import services
from smarter.apps.accounts.models import Account, ApiKey, Membership, User
from smarter.apps.accounts.tokens import TOKEN_PATTERN

pytestmark = pytest.mark.django_db


def run(*args: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*args, stdout=out, stderr=err, skip_checks=True)
    return out.getvalue().strip(), err.getvalue()


def test_the_demonstration_is_set_up_once():
    first = services.ensure_demo()
    text = first.key.get_secret_value()
    second = services.ensure_demo(text)

    actor = services.authenticate(text)
    assert (actor.account.number, actor.may("admin"), actor.may("platform")) == ("1000-2000-3000", True, False)
    assert second.key is None
    assert (Account.all_accounts.count(), User.all_accounts.count(), ApiKey.all_accounts.count()) == (2, 2, 1)


def test_a_lost_key_of_the_demonstration_is_replaced_and_stops():
    lost = services.ensure_demo().key.get_secret_value()
    new = services.ensure_demo("not a key").key.get_secret_value()

    assert services.authenticate(lost) is None
    assert services.authenticate(new) is not None


def test_the_platforms_user_cannot_sign_in():
    _, user = services.ensure_platform()

    assert not user.has_usable_password()
    assert not user.is_superuser


def test_commands_make_an_account_and_print_a_key_once():
    number, _ = run("create_account", "acme", "--admin", "ann", "--email", "ann@example.com")
    text, words = run("create_api_key", number, "ann", "pipeline", "--scope", "read", "--days", "7")

    assert re.fullmatch(TOKEN_PATTERN, text)
    assert text not in words
    actor = services.authenticate(text)
    assert (actor.account.number, actor.role, actor.scopes) == (number, "admin", frozenset({"read"}))


@pytest.mark.parametrize(
    "args",
    [
        ["create_account", "Not A Name"],
        ["create_account", "acme", "--number", "123"],
        ["create_account", "platform"],
        ["create_account", "acme", "--admin", "platform"],
        ["create_api_key", "9999-9999-9999", "ann", "k"],
        ["create_api_key", "0000-0000-0001", "platform", "k", "--days", "0"],
    ],
)
def test_commands_say_what_is_wrong_and_leave_nothing(args):
    services.ensure_platform()

    with pytest.raises(CommandError):
        run(*args)

    assert (Account.all_accounts.count(), User.all_accounts.count(), ApiKey.all_accounts.count()) == (1, 1, 0)


def test_a_membership_gets_a_name_that_manifests_can_have():
    account = services.ensure_platform_account()
    user = services.create_user("First.User@Example.com", "")

    services.add_member(account, user, "viewer")
    services.add_member(account, user, "member")

    membership = Membership.for_account(account).get(user=user)
    assert (membership.name, membership.role) == ("first_user_example_com", "member")
