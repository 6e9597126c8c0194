"""Which store keeps which kind of this app. `apps/resources` merges this with the stores of the apps above."""

from smarter.apps.accounts.account_store import AccountStore
from smarter.apps.accounts.store import Store
from smarter.apps.accounts.token_store import TokenStore
from smarter.apps.accounts.user_store import UserStore

STORES: dict[tuple[str, str], Store] = {
    ("smarter.sh/v1", "Account"): AccountStore(),
    ("smarter.sh/v1", "User"): UserStore(),
    ("smarter.sh/v1", "SmarterAuthToken"): TokenStore(),
}
