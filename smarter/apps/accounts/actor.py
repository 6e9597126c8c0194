"""Who makes a request, in which account, and what that allows.

Authentication makes an Actor; every service of the apps above takes one and asks it. A role says what a person may do
in the account, a scope what a key may be used for; a request needs both.
"""

from dataclasses import dataclass
from typing import Literal

from smarter.apps.accounts.models import Account, User
from smarter.core.errors import Refused
from smarter.core.kind import Role

Scope = Literal["read", "apply", "deploy", "secrets:write", "admin"]
AccountRole = Literal["viewer", "member", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "apply", "deploy", "secrets:write", "admin")
DEFAULT_SCOPES: tuple[Scope, ...] = ("read", "apply", "deploy", "secrets:write")
ALL_SCOPES = frozenset(SCOPES)

_RANK: dict[str, int] = {"viewer": 0, "member": 1, "admin": 2, "platform": 3}
# The least that a key must be good for before its user's role counts at all: a key for reading never writes, even
# where a caller forgets to ask for the exact scope.
_FLOOR: dict[str, frozenset[str]] = {
    "viewer": ALL_SCOPES,
    "member": frozenset({"apply", "deploy", "secrets:write", "admin"}),
    "admin": frozenset({"secrets:write", "admin"}),
    "platform": frozenset({"admin"}),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """`role` is the role in `account`. `key_id` is None for a session of a person, which has all scopes."""

    user: User
    account: Account
    role: AccountRole
    is_platform_admin: bool = False
    key_id: str | None = None
    scopes: frozenset[str] = ALL_SCOPES

    def may(self, role: Role) -> bool:
        if not self.scopes & _FLOOR[role]:
            return False
        return self.is_platform_admin or _RANK[self.role] >= _RANK[role]

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def require(self, role: Role, scope: Scope) -> None:
        """Refused with 403 unless both the role and the scope are there."""
        if not self.may(role):
            raise Refused(403, "forbidden", f"This needs the role {role} in the account.")
        if not self.allows(scope):
            raise Refused(403, "forbidden", f"This API key does not have the scope {scope}.")
