"""The order in which one account's writes happen: every service of this app locks the account's row first."""

from smarter.apps.accounts.models import Account
from smarter.apps.resources.models import AccountQuota


def lock_account(account: Account) -> AccountQuota:
    """The account's quota row, locked until the end of the transaction. Made on first use."""
    quota = AccountQuota.objects.select_for_update().filter(account=account).first()
    if quota is None:
        AccountQuota.objects.bulk_create([AccountQuota(account=account)], ignore_conflicts=True)
        quota = AccountQuota.objects.select_for_update().get(account=account)
    return quota
