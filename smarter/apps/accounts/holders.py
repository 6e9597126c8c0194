"""Who holds an API key: the one question that every request asks before anything else. `services.authenticate` is the
caller.

The statement is written out, because to have it built anew each time cost more than the rest of a read of one
manifest. It reads what nearly all requests need; whatever else of account or user is asked for is read then.
"""

from dataclasses import dataclass

from django.db import connection

from smarter.apps.accounts.models import Account, ApiKey, User


@dataclass(frozen=True, slots=True)
class Holder:
    """`role` is the one in the key's account; None for somebody who is not, or no longer, a member there."""

    key: ApiKey
    account: Account
    user: User
    role: str | None


_KEY = (
    "id", "account_id", "user_id", "key_id", "digest", "scopes", "expires_at", "last_used_at", "revoked_at",
    "is_active",
)  # fmt: skip
_ACCOUNT = ("id", "uid", "name", "number", "company_name", "is_active", "is_platform")
_USER = ("id", "uid", "username", "email", "is_active", "is_superuser")
_HOLDER = """
SELECT key.id, key.account_id, key.user_id, key.key_id, key.digest, key.scopes, key.expires_at, key.last_used_at,
       key.revoked_at, key.is_active,
       account.id, account.uid, account.name, account.number, account.company_name, account.is_active,
       account.is_platform,
       person.id, person.uid, person.username, person.email, person.is_active, person.is_superuser,
       (SELECT role FROM accounts_membership AS membership
         WHERE membership.account_id = key.account_id AND membership.user_id = key.user_id AND membership.is_active
         LIMIT 1)
  FROM accounts_apikey AS key
  JOIN accounts_account AS account ON account.id = key.account_id
  JOIN accounts_user AS person ON person.id = key.user_id
 WHERE key.key_id = %s
"""


def holder_of(key_id: str) -> Holder | None:
    with connection.cursor() as cursor:
        cursor.execute(_HOLDER, [key_id])
        row = cursor.fetchone()
    if row is None:
        return None
    alias, after_key, after_account = connection.alias, len(_KEY), len(_KEY) + len(_ACCOUNT)
    return Holder(
        ApiKey.from_db(alias, _KEY, row[:after_key]),
        Account.from_db(alias, _ACCOUNT, row[after_key:after_account]),
        User.from_db(alias, _USER, row[after_account:-1]),
        row[-1],
    )
