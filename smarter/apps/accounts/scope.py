"""The wall between accounts in the object mapper: rows are reached through an account or not at all.

Every model with an `account` has `for_account = AccountScope()` and no `objects`. `Model.for_account(account)` is a
query set of that account's rows; anything else on the manager fails. Work of the platform itself, which crosses
accounts, says so by the name of the other manager, `all_accounts`.
"""

from typing import Any

from django.db import models


class AccountScope(models.Manager):
    def __call__(self, account: Any) -> models.QuerySet:
        if getattr(account, "pk", None) is None:
            raise ValueError("rows are read for a stored account")
        return super().get_queryset().filter(account=account)

    def get_queryset(self) -> models.QuerySet:
        raise RuntimeError("name the account: Model.for_account(account)")
