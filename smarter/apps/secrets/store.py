"""The kind Secret in its own table. The value goes in and never comes out: answers show VALUE_MASK."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from pydantic import SecretStr

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.rows import locked, page, save_changes
from smarter.apps.accounts.store import (
    Applied,
    Store,
    Stored,
    check_version,
    common_status,
    invalid,
    metadata_of,
    not_found,
    spec_of,
)
from smarter.apps.secrets import data_keys, services
from smarter.apps.secrets.models import Secret
from smarter.core.errors import Refused
from smarter.core.kind import Kind
from smarter.core.manifest import ParsedManifest

API_VERSION, KIND = "smarter.sh/v1", "Secret"
VALUE_MASK = "********"
VALUE_PATH = "spec.config.value"


class SecretStore:
    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None:
        actor.require("viewer", "read")
        row = self._rows(actor).filter(name=name).first()
        return None if row is None else _stored(actor, row)

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        actor.require("viewer", "read")
        rows, total = page(self._rows(actor), limit=limit, offset=offset, name_filter=name_filter)
        return [_stored(actor, row) for row in rows], total

    def apply(self, actor: Actor, parsed: ParsedManifest, *, expected_version: str | None) -> Applied:
        actor.require(parsed.kind.writer, "secrets:write")
        config = spec_of(parsed)["config"]
        value = _value(parsed, config)
        fields = {
            "description": config.get("description") or "",
            "expires_at": _in_utc(config.get("expiration_date")),
        }
        with transaction.atomic():
            data_keys.lock_writes(actor.account)
            row = locked(self._rows(actor), parsed.name)
            check_version(row.resource_version if row else None, expected_version)
            if row is None:
                row = _create(actor, parsed, value, fields)
                return Applied(_stored(actor, row), "created")
            fields |= services.fields_for_value(actor.account, row, value)
            action = save_changes(row, fields, metadata_of(parsed))
            return Applied(_stored(actor, row), action)

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None:
        actor.require(kind.writer, "secrets:write")
        with transaction.atomic():
            row = locked(self._rows(actor), name)
            if row is None:
                raise not_found(kind, name)
            check_version(row.resource_version, expected_version)
            services.delete(actor.account, name)

    def _rows(self, actor: Actor) -> Any:
        return Secret.for_account(actor.account).select_related("owner").defer("envelope")


STORES: dict[tuple[str, str], Store] = {(API_VERSION, KIND): SecretStore()}


def _value(parsed: ParsedManifest, config: dict[str, Any]) -> SecretStr:
    value = config["value"]
    secret = value if isinstance(value, SecretStr) else SecretStr(value)
    if secret.get_secret_value() == VALUE_MASK:
        message = "this is what Smarter shows in place of a value; write the value itself, or leave the Secret as it is"
        raise invalid(parsed, VALUE_PATH, message, code="masked_value")
    try:
        services.check_size(secret)
    except Refused as error:
        raise invalid(parsed, VALUE_PATH, error.detail) from error
    return secret


def _create(actor: Actor, parsed: ParsedManifest, value: SecretStr, fields: dict[str, Any]) -> Secret:
    row = Secret(
        uid=uuid4(),
        account=actor.account,
        owner=actor.user,
        name=parsed.name,
        metadata=metadata_of(parsed),
        **fields,
    )
    for field, content in services.fields_for_value(actor.account, row, value).items():
        setattr(row, field, content)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise Refused(409, "conflict", f"There is a Secret {parsed.name!r} already.") from error
    return row


def _in_utc(moment: datetime | None) -> datetime | None:
    """A time without a zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _stored(actor: Actor, row: Secret) -> Stored:
    config: dict[str, Any] = {"value": VALUE_MASK}
    if row.description:
        config["description"] = row.description
    if row.expires_at:
        config["expiration_date"] = row.expires_at.isoformat()
    number, username = actor.account.number, row.owner.username
    status = common_status(
        KIND, row.uid, account_number=number, username=username, created=row.created, modified=row.modified
    )
    status["last_accessed"] = row.last_used_at.isoformat() if row.last_used_at else None
    status["observedGeneration"] = row.generation
    return Stored(
        api_version=API_VERSION,
        kind=KIND,
        name=row.name,
        uid=str(row.uid),
        metadata={"name": row.name, **row.metadata},
        spec={"config": config},
        status=status,
        generation=row.generation,
        resource_version=row.resource_version,
        account_number=number,
        username=username,
        created=row.created,
        modified=row.modified,
    )
