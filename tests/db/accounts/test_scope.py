import pytest
from django.apps import apps
from django.db import models

from smarter.apps.accounts.models import Account, ApiKey, Membership, User
from smarter.apps.accounts.scope import AccountScope
from tests.db.accounts.builders import tenant

OURS = [model for label in ("accounts", "secrets", "clusters") for model in apps.get_app_config(label).get_models()]


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_no_model_has_a_manager_that_forgets_the_account(model):
    names = {manager.name for manager in model._meta.managers if getattr(model, manager.name) is not None}
    has_account = any(field.name == "account" for field in model._meta.fields)

    assert getattr(model, "objects", None) is None
    assert names == ({"all_accounts", "for_account"} if has_account else {"all_accounts"})
    if has_account:
        assert isinstance(model.for_account, AccountScope)


@pytest.mark.django_db
def test_rows_come_for_one_account_only():
    one, other = tenant("one"), tenant("other")

    assert [row.account for row in Membership.for_account(one.account)] == [one.account]
    assert [row.account for row in Membership.for_account(other.account)] == [other.account]


@pytest.mark.parametrize("account", [None, Account(), 0, "1"])
def test_no_account_is_an_error_and_not_all_accounts(account):
    with pytest.raises(ValueError, match="stored account"):
        ApiKey.for_account(account)


def test_the_scoped_manager_has_no_way_round():
    for method in ("all", "first", "count", "exists"):
        with pytest.raises(RuntimeError, match="name the account"):
            getattr(ApiKey.for_account, method)()
    with pytest.raises(RuntimeError, match="name the account"):
        ApiKey.for_account.filter(name="x")


def test_django_finds_users_by_the_platforms_manager():
    assert isinstance(User._default_manager, models.Manager)
    assert User._default_manager.name == "all_accounts"
