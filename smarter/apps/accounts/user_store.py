"""The kind User: a person's place in the account, with the person behind it.

An account's administrator decides who is in and in which role. Names and addresses belong to the user's home account,
since the same person may be in others. Nothing here can make a superuser.
"""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import Account, ApiKey, Membership, User
from smarter.apps.accounts.rows import locked, page, save_changes
from smarter.apps.accounts.store import (
    Applied,
    Stored,
    check_version,
    common_status,
    invalid,
    metadata_of,
    not_found,
    spec_of,
)
from smarter.core.errors import Refused
from smarter.core.kind import Kind
from smarter.core.manifest import ParsedManifest

API_VERSION, KIND = "smarter.sh/v1", "User"


class UserStore:
    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None:
        actor.require("viewer", "read")
        row = _rows(actor).filter(name=name).first()
        return None if row is None else _stored(actor, row)

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        actor.require("viewer", "read")
        rows, total = page(_rows(actor), limit=limit, offset=offset, name_filter=name_filter)
        return [_stored(actor, row) for row in rows], total

    def apply(self, actor: Actor, parsed: ParsedManifest, *, expected_version: str | None) -> Applied:
        actor.require("admin", "admin")
        config = spec_of(parsed)["config"]
        profile = {
            "email": config["email"],
            "first_name": config.get("firstName") or "",
            "last_name": config.get("lastName") or "",
        }
        with transaction.atomic():
            row = locked(_rows(actor), parsed.name)
            check_version(row.resource_version if row else None, expected_version)
            if row is None:
                row = _join(actor, parsed, profile, config)
                return Applied(_stored(actor, row), "created")
            if row.user.username != parsed.metadata["username"]:
                raise invalid(parsed, "metadata.username", "the username never changes")
            _refuse_above(actor, row.user)
            fields = {"role": _role(row.role, config), "is_active": config["isActive"]}
            if row.role == "admin" and row.is_active and fields != {"role": "admin", "is_active": True}:
                _keep_an_admin(actor.account, row)
            profile_changed = _save_profile(actor, parsed, row.user, profile)
            action = save_changes(row, fields, metadata_of(parsed), force=profile_changed)
            return Applied(_stored(actor, row), action)

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None:
        """Takes the user out of the account; the person's keys for it stop at once. The user itself stays, because
        resources and audit entries name it."""
        actor.require("admin", "admin")
        with transaction.atomic():
            row = locked(_rows(actor), name)
            if row is None:
                raise not_found(kind, name)
            check_version(row.resource_version, expected_version)
            _refuse_above(actor, row.user)
            if row.role == "admin" and row.is_active:
                _keep_an_admin(actor.account, row)
            keys = ApiKey.for_account(actor.account).filter(user=row.user, revoked_at=None)
            keys.update(revoked_at=timezone.now())
            row.delete()


def _rows(actor: Actor) -> QuerySet:
    return Membership.for_account(actor.account).select_related("user")


def _role(current: str, config: dict[str, Any]) -> str:
    """`isStaff` speaks of administrators only; without it a viewer stays a viewer."""
    if config.get("isStaff"):
        return "admin"
    return "member" if current == "admin" else current


def _join(actor: Actor, parsed: ParsedManifest, profile: dict[str, str], config: dict[str, Any]) -> Membership:
    user = _user_to_join(actor, parsed, profile)
    try:
        with transaction.atomic():
            row: Membership = Membership.all_accounts.create(
                account=actor.account,
                user=user,
                name=parsed.name,
                role=_role("member", config),
                is_active=config["isActive"],
                metadata=metadata_of(parsed),
            )
            return row
    except IntegrityError as error:
        raise Refused(409, "conflict", "This user is in the account already, under another name.") from error


def _user_to_join(actor: Actor, parsed: ParsedManifest, profile: dict[str, str]) -> User:
    """A new user, or one that was here before. A platform administrator may also bring in somebody from elsewhere."""
    username = parsed.metadata["username"]
    user: User | None = User.all_accounts.filter(username=username).first()
    at_home = user is not None and user.home_account_id == actor.account.pk
    if user is None or not (at_home or actor.is_platform_admin):
        # For a name that somebody elsewhere has this is refused, in the words for any name that is taken.
        return services.create_user(username, home_account=actor.account, **profile)
    _refuse_above(actor, user)
    _save_profile(actor, parsed, user, profile)
    return user


def _refuse_above(actor: Actor, user: User) -> None:
    if user.is_superuser and not actor.is_platform_admin:
        raise Refused(403, "forbidden", "This user can only be changed by the platform.")


def _keep_an_admin(account: Account, leaving: Membership) -> None:
    # The lock makes two administrators who remove each other wait for one another.
    Account.all_accounts.select_for_update().get(pk=account.pk)
    others = Membership.for_account(account).exclude(pk=leaving.pk)
    if not others.filter(role="admin", is_active=True, user__is_active=True).exists():
        raise Refused(409, "conflict", "This is the last administrator of the account. Make somebody else one first.")


def _save_profile(actor: Actor, parsed: ParsedManifest, user: User, profile: dict[str, str]) -> bool:
    differing = {field: value for field, value in profile.items() if getattr(user, field) != value}
    if not differing:
        return False
    if user.home_account_id != actor.account.pk and not actor.is_platform_admin:
        raise invalid(
            parsed, "spec.config", "names and address of this user are kept by another account", code="forbidden"
        )
    for field, value in differing.items():
        setattr(user, field, value)
    user.save(update_fields=list(differing))
    return True


def _stored(actor: Actor, row: Membership) -> Stored:
    number, username = actor.account.number, row.user.username
    status = common_status(
        KIND, row.uid, account_number=number, username=username, created=row.created, modified=row.modified
    )
    # The vocabulary spells this one field of this one kind so.
    status["account_number"] = status.pop("accountNumber")
    status["observedGeneration"] = row.generation
    config: dict[str, Any] = {
        "email": row.user.email,
        "isStaff": row.role == "admin",
        "isActive": row.is_active and row.user.is_active,
    }
    names = {"firstName": row.user.first_name, "lastName": row.user.last_name}
    config |= {field: value for field, value in names.items() if value}
    return Stored(
        api_version=API_VERSION,
        kind=KIND,
        name=row.name,
        uid=str(row.uid),
        metadata={**row.metadata, "name": row.name, "username": username},
        spec={"config": config},
        status=status,
        generation=row.generation,
        resource_version=row.resource_version,
        account_number=number,
        username=username,
        created=row.created,
        modified=row.modified,
    )
