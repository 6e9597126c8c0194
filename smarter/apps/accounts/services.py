"""Writes of accounts, users and keys, and the check of a key. Stores, commands and authentication call these."""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.accounts.actor import DEFAULT_SCOPES, SCOPES, AccountRole, Actor
from smarter.apps.accounts.holders import holder_of
from smarter.apps.accounts.models import Account, ApiKey, Membership, User
from smarter.apps.accounts.tokens import new_token, parse_token, same_digest
from smarter.core.errors import Refused
from smarter.core.naming import SAM_NAMES

KEY_LIFETIME = timedelta(days=90)
LAST_USED_STEP = timedelta(minutes=1)
PLATFORM_NUMBER = "0000-0000-0001"
PLATFORM_NAME = "platform"
PLATFORM_USERNAME = "platform"
DEMO_NUMBER = "1000-2000-3000"
DEMO_NAME = "demo"
DEMO_USERNAME = "demo"
_ROLES: dict[str, AccountRole] = {"viewer": "viewer", "member": "member", "admin": "admin"}


def new_account_number() -> str:
    digits = f"{secrets.randbelow(9 * 10**11) + 10**11}"
    return f"{digits[:4]}-{digits[4:8]}-{digits[8:]}"


def is_account_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{4}-[0-9]{4}-[0-9]{4}", text) is not None


def create_account(name: str, company_name: str, *, number: str | None = None, **fields: Any) -> Account:
    """A number is drawn where none is given. 409 where the name or the given number is taken."""
    for _ in range(5):
        try:
            with transaction.atomic():
                return Account.all_accounts.create(
                    name=name, company_name=company_name, number=number or new_account_number(), **fields
                )
        except IntegrityError:
            if number is not None or Account.all_accounts.filter(name=name).exists():
                break
    raise Refused(409, "conflict", "There is an account with this name or number already.")


def create_user(username: str, email: str, *, home_account: Account | None = None, **fields: Any) -> User:
    """Without a password: such a user signs in by key, or once somebody sets one. 409 where the name is taken."""
    user = User(username=username, email=email, home_account=home_account, **fields)
    user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise Refused(409, "conflict", "This username cannot be used. Choose another.") from error
    return user


def add_member(account: Account, user: User, role: str = "member", *, name: str | None = None) -> Membership:
    """Joins, or changes the role of somebody who is in the account already. 409 where the name is taken."""
    wanted = name or SAM_NAMES.suggest(user.username) or "user"
    try:
        membership, created = Membership.all_accounts.get_or_create(
            account=account, user=user, defaults={"role": role, "name": wanted}
        )
    except IntegrityError as error:
        raise Refused(409, "conflict", "There is a User with this name in the account already.") from error
    if not created and membership.role != role:
        membership.role = role
        membership.save(update_fields=["role"])
    return membership


def create_api_key(
    account: Account,
    user: User,
    name: str,
    *,
    scopes: Iterable[str] = DEFAULT_SCOPES,
    expires_at: datetime | None = None,
    **fields: Any,
) -> tuple[ApiKey, SecretStr]:
    """The row, and the key itself, which exists nowhere else from here on."""
    wanted = [scope for scope in SCOPES if scope in set(scopes)]
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not wanted:
        raise Refused(422, "invalid", f"Scopes are one or more of: {', '.join(SCOPES)}.")
    if not Membership.for_account(account).filter(user=user).exists():
        raise Refused(422, "invalid", "The user of a key must be in its account.")
    token = new_token()
    try:
        with transaction.atomic():
            key = ApiKey.all_accounts.create(
                account=account,
                user=user,
                name=name,
                key_id=token.key_id,
                digest=token.digest,
                scopes=wanted,
                expires_at=expires_at or timezone.now() + KEY_LIFETIME,
                **fields,
            )
    except IntegrityError as error:
        raise Refused(409, "conflict", "There is an API key with this name already.") from error
    return key, SecretStr(token.text)


def revoke_api_key(key: ApiKey) -> None:
    """Works for the very next request: nothing remembers that a key was good."""
    ApiKey.all_accounts.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())


def authenticate(text: str) -> Actor | None:
    """The holder of a key, by one query. None without a reason, whatever is wrong."""
    token = parse_token(text)
    if token is None:
        return None
    held = holder_of(token.key_id)
    if held is None or not same_digest(held.key.digest, token.digest):
        return None
    now = timezone.now()
    if not (held.key.works_at(now) and held.account.is_active and held.user.is_active):
        return None
    key = held.key
    actor = _actor(held.user, held.account, held.role, key_id=key.key_id, scopes=frozenset(key.scopes))
    if actor is not None:
        _note_use(key, now)
    return actor


def actor_for(user: User, account: Account) -> Actor | None:
    """For a person's session and for commands: all scopes. None for somebody who is not in the account."""
    if not (user.is_active and account.is_active):
        return None
    membership = Membership.for_account(account).filter(user=user, is_active=True).first()
    return _actor(user, account, membership.role if membership else None)


def acting_in(actor: Actor, number: str) -> Actor | None:
    """The same platform administrator in another account. None where that is not allowed or there is none."""
    if number == actor.account.number:
        return actor
    if not actor.may("platform"):
        return None
    account = Account.all_accounts.filter(number=number, is_active=True).first()
    if account is None:
        return None
    return Actor(actor.user, account, "admin", is_platform_admin=True, key_id=actor.key_id, scopes=actor.scopes)


def _actor(user: User, account: Account, role: str | None, **key: Any) -> Actor | None:
    """A platform administrator is one only in the platform's own account: the key of a superuser in a tenant's account
    is worth no more than the role there."""
    is_platform_admin = account.is_platform and (user.is_superuser or role == "admin")
    known = _ROLES.get("admin" if is_platform_admin else role or "")
    return None if known is None else Actor(user, account, known, is_platform_admin=is_platform_admin, **key)


def _note_use(key: ApiKey, now: datetime) -> None:
    before = now - LAST_USED_STEP
    if key.last_used_at is None or key.last_used_at < before:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=before)
        ApiKey.all_accounts.filter(stale, pk=key.pk).update(last_used_at=now)


def ensure_platform_account() -> Account:
    return ensure_platform()[0]


def ensure_platform() -> tuple[Account, User]:
    """The account that owns what all may use, and the user in whose name that is made; nobody can sign in as it."""
    account, _ = Account.all_accounts.get_or_create(
        is_platform=True,
        defaults={"name": PLATFORM_NAME, "number": PLATFORM_NUMBER, "company_name": "Platform"},
    )
    user = User.all_accounts.filter(username=PLATFORM_USERNAME, home_account=account).first()
    if user is None:
        user = create_user(PLATFORM_USERNAME, "", home_account=account)
    add_member(account, user, "admin")
    return account, user


@dataclass(frozen=True, slots=True)
class Demo:
    """`key` is None where the given one still works."""

    platform: Account
    platform_user: User
    account: Account
    user: User
    key: SecretStr | None


def ensure_demo(current_key: str | None = None) -> Demo:
    """The platform, one account with one administrator, and a key that works there. Safe to repeat: a key that still
    works is kept, and any other key of the demonstration is revoked when a new one is made."""
    platform, platform_user = ensure_platform()
    account = Account.all_accounts.filter(number=DEMO_NUMBER).first()
    if account is None:
        account = create_account(DEMO_NAME, "Demo", number=DEMO_NUMBER)
    user = User.all_accounts.filter(username=DEMO_USERNAME, home_account=account).first()
    if user is None:
        user = create_user(DEMO_USERNAME, "demo@example.com", home_account=account)
    add_member(account, user, "admin")
    actor = authenticate(current_key) if current_key else None
    key = None
    if actor is None or actor.account != account:
        with transaction.atomic():
            for old in ApiKey.for_account(account).filter(name=DEMO_NAME, revoked_at=None):
                revoke_api_key(old)
            _, key = create_api_key(account, user, DEMO_NAME, scopes=SCOPES)
    return Demo(platform, platform_user, account, user, key)
