"""The kind Account in its own table. Everybody sees the account that they act in, a platform administrator all."""

from typing import Any

from django.db import transaction
from django.db.models import OuterRef, ProtectedError, QuerySet, Subquery

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import Account, Membership
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

API_VERSION, KIND = "smarter.sh/v1", "Account"

_COLUMNS = {
    "companyName": "company_name",
    "phoneNumber": "phone_number",
    "address1": "address1",
    "address2": "address2",
    "city": "city",
    "state": "state",
    "postalCode": "postal_code",
    "country": "country",
    "language": "language",
    "timezone": "timezone",
    "currency": "currency",
}


class AccountStore:
    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None:
        actor.require("viewer", "read")
        row = _rows(actor).filter(name=name).first()
        return None if row is None else _stored(row)

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        actor.require("viewer", "read")
        rows, total = page(_rows(actor), limit=limit, offset=offset, name_filter=name_filter)
        return [_stored(row) for row in rows], total

    def apply(self, actor: Actor, parsed: ParsedManifest, *, expected_version: str | None) -> Applied:
        actor.require("platform", "admin")
        fields = _fields(spec_of(parsed)["config"])
        metadata = metadata_of(parsed)
        number = metadata.pop("accountNumber", None)
        with transaction.atomic():
            row = locked(_rows(actor), parsed.name)
            check_version(row.resource_version if row else None, expected_version)
            if row is None:
                row = services.create_account(parsed.name, number=number, metadata=metadata, **fields)
                return Applied(_stored(row), "created")
            if number is not None and number != row.number:
                raise invalid(
                    parsed, "metadata.accountNumber", f"the number of an account never changes; it is {row.number}"
                )
            action = save_changes(row, fields, metadata)
            return Applied(_stored(row), action)

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None:
        actor.require("platform", "admin")
        with transaction.atomic():
            row = locked(_rows(actor), name)
            if row is None:
                raise not_found(kind, name)
            check_version(row.resource_version, expected_version)
            if row.is_platform:
                raise Refused(409, "in_use", "The platform's own account cannot be deleted.")
            try:
                with transaction.atomic():
                    row.delete()
            except ProtectedError as error:
                raise Refused(409, "in_use", f"The Account {name!r} still owns resources.") from error


def _rows(actor: Actor) -> QuerySet:
    admin = Membership.all_accounts.filter(account=OuterRef("pk"), role="admin", is_active=True).order_by("created")
    rows = Account.all_accounts.annotate(admin_username=Subquery(admin.values("user__username")[:1]))
    return rows if actor.may("platform") else rows.filter(pk=actor.account.pk)


def _fields(config: dict[str, Any]) -> dict[str, Any]:
    """Columns by name. What is left out or null gets the column's own default."""
    return {
        column: config[name] if config.get(name) is not None else Account._meta.get_field(column).get_default()
        for name, column in _COLUMNS.items()
    }


def _stored(row: Account) -> Stored:
    admin_username = getattr(row, "admin_username", None)
    username = admin_username or services.PLATFORM_USERNAME
    status = common_status(
        KIND, row.uid, account_number=row.number, username=username, created=row.created, modified=row.modified
    )
    status["adminAccount"] = admin_username
    status["observedGeneration"] = row.generation
    config = {name: getattr(row, column) for name, column in _COLUMNS.items() if getattr(row, column)}
    return Stored(
        api_version=API_VERSION,
        kind=KIND,
        name=row.name,
        uid=str(row.uid),
        metadata={"name": row.name, **row.metadata, "accountNumber": row.number},
        spec={"config": config},
        status=status,
        generation=row.generation,
        resource_version=row.resource_version,
        account_number=row.number,
        username=username,
        created=row.created,
        modified=row.modified,
    )
