"""Every read of manifests. Each takes the actor first, and sees that account and what the platform shares.

The API and the stores call these. A list costs the same few queries however long it is.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import Stored, common_status
from smarter.apps.resources.dependents import dependencies_of, dependencies_of_secret
from smarter.apps.resources.models import Event, Resource
from smarter.apps.resources.tables import TABLE_STORES
from smarter.core.errors import Refused
from smarter.core.kind import Kind

SORTS = {"name": "name", "created": "created", "modified": "modified"}
"""Of lists; with a leading `-` the other way round."""
_Row = TypeVar("_Row", Resource, "_Shown")
_NAME_FILTER = re.compile(r"[A-Za-z0-9_-]{0,63}")


class _Shown(NamedTuple):
    """What is shown of a row. A tuple, because models of row, state, account and owner were most of a list's time."""

    pk: int
    account_id: int
    number: str
    username: str | None
    uid: UUID
    api_version: str
    kind: str
    name: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    applied_text: str | None
    generation: int
    resource_version: int
    created: datetime
    modified: datetime
    state_status: dict[str, Any]
    observed_generation: int


_COLUMNS = (
    "pk", "account_id", "account__number", "owner__username", *_Shown._fields[4:15],
    "state__status", "state__observed_generation",
)  # fmt: skip


def get_stored(actor: Actor, kind: Kind, name: str) -> Stored | None:
    store = TABLE_STORES.get(kind.key)
    if store is None:
        actor.require("viewer", "read")
        found = _own_first(actor, _shown(_readable(actor, kind).filter(name=name)))
        return None if found is None else _stored_all(actor, [found])[0]
    stored = store.get(actor, kind, name)
    if stored is not None:
        stored.status.setdefault("dependencies", dependencies_of_secret(actor.account, stored.uid))
    return stored


def list_stored(
    actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = "", sort: str = "name"
) -> tuple[list[Stored], int]:
    """One page, and how many there are in all. Kinds with a table of their own are in the order of names only."""
    if sort.removeprefix("-") not in SORTS or not _NAME_FILTER.fullmatch(name_filter):
        raise Refused(400, "bad_request", f"Sort by one of {', '.join(SORTS)}; filter by a part of a name.")
    store = TABLE_STORES.get(kind.key)
    if store is not None:
        if sort != "name":
            raise Refused(400, "bad_request", f"A list of {kind.name} is sorted by name only.")
        return store.list(actor, kind, limit=limit, offset=offset, name_filter=name_filter)
    actor.require("viewer", "read")
    rows = _readable(actor, kind)
    if name_filter:
        rows = rows.filter(name__contains=name_filter)
    column = SORTS[sort.removeprefix("-")]
    ordered = rows.order_by(f"-{column}" if sort.startswith("-") else column, "pk")
    page = _shown(ordered[offset : offset + limit])
    total = offset + len(page) if page and len(page) < limit else rows.count()
    return _stored_all(actor, page), total


def find(actor: Actor, kind: Kind, name: str) -> Resource | None:
    """The account's own, else the platform's where the kind is shared. With its state, account, owner and cluster."""
    actor.require("viewer", "read")
    rows = list(_readable(actor, kind).filter(name=name).select_related("cluster"))
    return _own_first(actor, rows)


def _own_first(actor: Actor, rows: Sequence[_Row]) -> _Row | None:
    return max(rows, key=lambda row: row.account_id == actor.account.pk, default=None)


def _shown(rows: QuerySet) -> list[_Shown]:
    return [_Shown(*values) for values in rows.values_list(*_COLUMNS)]


def events_of(actor: Actor, kind: Kind, name: str, *, limit: int) -> list[Event]:
    """Of everything that had this name, deleted ones included; the newest first."""
    actor.require("viewer", "read")
    rows = Event.for_account(actor.account).filter(api_version=kind.api_version, kind=kind.name, name=name)
    return list(rows.order_by("-at", "-pk")[:limit])


def _readable(actor: Actor, kind: Kind) -> QuerySet:
    owner = Q(account=actor.account)
    if kind.shared:
        owner |= Q(account__is_platform=True)
    rows = Resource.all_accounts.filter(owner, api_group=kind.group, kind=kind.name)
    return rows.select_related("state", "account", "owner")


def _stored_all(actor: Actor, rows: Sequence[_Shown]) -> list[Stored]:
    dependencies = dependencies_of(actor.account, [row.pk for row in rows]) if rows else {}
    return [_stored(row, dependencies.get(row.pk, [])) for row in rows]


def _stored(row: _Shown, dependencies: list[dict[str, str]]) -> Stored:
    username = row.username or ""
    return Stored(
        api_version=row.api_version,
        kind=row.kind,
        name=row.name,
        uid=str(row.uid),
        metadata=row.metadata,
        spec=row.spec,
        status=_status(row, username, dependencies),
        generation=row.generation,
        resource_version=row.resource_version,
        account_number=row.number,
        username=username,
        created=row.created,
        modified=row.modified,
        applied_text=row.applied_text,
    )


def _status(row: _Shown, username: str, dependencies: list[dict[str, str]]) -> dict[str, Any]:
    status = {
        **row.state_status,
        **common_status(
            row.kind,
            row.uid,
            account_number=row.number,
            username=username,
            created=row.created,
            modified=row.modified,
        ),
        "dependencies": dependencies,
    }
    if row.observed_generation:
        status["observedGeneration"] = row.observed_generation
    if row.observed_generation != row.generation and "conditions" in status:
        status["conditions"] = [_outdated(condition) for condition in status["conditions"]]
    return status


def _outdated(condition: dict[str, Any]) -> dict[str, Any]:
    """Ready speaks of the newest generation or of none."""
    if condition.get("type") != "Ready" or condition.get("status") != "True":
        return condition
    message = "The newest generation has not been observed yet."
    return {**condition, "status": "Unknown", "reason": "NewerGeneration", "message": message}
