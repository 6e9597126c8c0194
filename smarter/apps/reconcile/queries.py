"""What the reconciler can tell about itself and about resources, for the API."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Max
from django.utils import timezone

from smarter.apps.costs.queries import NOTHING, Spent, spent
from smarter.apps.reconcile.models import ClusterWatch, WorkerHeartbeat
from smarter.apps.resources.models import Resource
from smarter.core.cost import hours_between, rounded
from smarter.kinds import KINDS


class _Live(NamedTuple):
    """Columns of a resource. Its manifest, which is what is large, has been read already."""

    uid: UUID
    api_version: str
    kind: str
    deployed: bool
    deployed_at: datetime | None
    cluster_id: int | None


def worker_age_seconds() -> float | None:
    """Seconds since any worker last finished a task; None when none ever did."""
    seen_at: datetime | None = WorkerHeartbeat.objects.aggregate(last=Max("seen_at"))["last"]
    return None if seen_at is None else (timezone.now() - seen_at).total_seconds()


def live_fields(account_id: int, uids: Iterable[UUID | str], now: datetime) -> dict[str, dict[str, Any]]:
    """Status fields that are views of the ledger and the clock, by uid: what a resource costs so far, how long it is
    up, when it was looked at. Only for kinds that run on clusters; three queries for any number."""
    rows = Resource.all_accounts.filter(account_id=account_id, uid__in=list(uids))
    running = [
        row
        for row in map(_Live._make, rows.values_list(*_Live._fields))
        if (kind := KINDS.get(row[1:3])) and kind.deployable
    ]
    if not running:
        return {}
    watches = {watch.cluster_id: watch.observed_at for watch in ClusterWatch.objects.all()}
    money = spent(account_id, [row.uid for row in running], now)
    return {str(row.uid): _fields(row, money.get(row.uid, NOTHING), watches, now) for row in running}


def _fields(resource: _Live, money: Spent, watches: dict[int, datetime | None], now: datetime) -> dict[str, Any]:
    observed_at = watches.get(resource.cluster_id) if resource.cluster_id else None
    since = resource.deployed_at if resource.deployed else None
    return {
        "estimatedCost": float(money.cost),
        "uptimeHours": float(rounded(hours_between(since, now))) if since else 0.0,
        "deployedAt": resource.deployed_at.isoformat() if resource.deployed_at else None,
        "lastCheckedAt": observed_at.isoformat() if observed_at else None,
    }
