"""The kind SmarterAuthToken: an API key of the account. The answer to the apply that makes it reveals the key, once."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import ApiKey, Membership, User
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
from smarter.core.problems import warning

API_VERSION, KIND = "smarter.sh/v1", "SmarterAuthToken"
REVEALED = "key"


class TokenStore:
    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None:
        actor.require("viewer", "read")
        row = _readable(actor).filter(name=name).first()
        return None if row is None else _stored(actor, row)

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        actor.require("viewer", "read")
        rows, total = page(_readable(actor), limit=limit, offset=offset, name_filter=name_filter)
        return [_stored(actor, row) for row in rows], total

    def apply(self, actor: Actor, parsed: ParsedManifest, *, expected_version: str | None) -> Applied:
        actor.require("admin", "admin")
        config = spec_of(parsed)["config"]
        is_active = bool(config.get("isActive"))
        with transaction.atomic():
            row = locked(_rows(actor), parsed.name)
            check_version(row.resource_version if row else None, expected_version)
            if row is None:
                return _mint(actor, parsed, config["username"], is_active)
            if row.user.username != config["username"]:
                raise invalid(parsed, "spec.config.username", "a key stays with its user; make another key instead")
            action = save_changes(row, {"is_active": is_active}, metadata_of(parsed))
            return Applied(_stored(actor, row), action)

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None:
        actor.require("admin", "admin")
        with transaction.atomic():
            row = locked(_rows(actor), name)
            if row is None:
                raise not_found(kind, name)
            check_version(row.resource_version, expected_version)
            services.revoke_api_key(row)


def _rows(actor: Actor) -> QuerySet:
    return ApiKey.for_account(actor.account).filter(revoked_at=None).select_related("user", "created_by")


def _readable(actor: Actor) -> QuerySet:
    """Administrators see all keys of the account, others their own."""
    rows = _rows(actor)
    return rows if actor.role == "admin" or actor.is_platform_admin else rows.filter(user=actor.user)


def _mint(actor: Actor, parsed: ParsedManifest, username: str, is_active: bool) -> Applied:
    row, key = services.create_api_key(
        actor.account,
        _holder(actor, parsed, username),
        parsed.name,
        created_by=actor.user,
        is_active=is_active,
        metadata=metadata_of(parsed),
    )
    once = warning(
        "shown_once", "", f"The key is shown in this answer only, and works until {row.expires_at:%Y-%m-%d}."
    )
    return Applied(_stored(actor, row), "created", warnings=[once], reveal={REVEALED: key})


def _holder(actor: Actor, parsed: ParsedManifest, username: str) -> User:
    members = Membership.for_account(actor.account).select_related("user")
    membership = members.filter(user__username=username).first()
    if membership is None:
        raise invalid(parsed, "spec.config.username", "there is no such user in this account", code="not_found")
    user: User = membership.user
    if user.is_superuser and not actor.is_platform_admin:
        raise Refused(403, "forbidden", "A key for this user can only be made by the platform.")
    return user


def _stored(actor: Actor, row: ApiKey) -> Stored:
    number = actor.account.number
    username = row.created_by.username if row.created_by else row.user.username
    status: dict[str, Any] = common_status(
        KIND, row.uid, account_number=number, username=username, created=row.created, modified=row.modified
    )
    status["lastUsedAt"] = row.last_used_at.isoformat() if row.last_used_at else None
    status["observedGeneration"] = row.generation
    return Stored(
        api_version=API_VERSION,
        kind=KIND,
        name=row.name,
        uid=str(row.uid),
        metadata={"name": row.name, **row.metadata},
        spec={"config": {"isActive": row.is_active, "username": row.user.username}},
        status=status,
        generation=row.generation,
        resource_version=row.resource_version,
        account_number=number,
        username=username,
        created=row.created,
        modified=row.modified,
    )
