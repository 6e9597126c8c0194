"""What the reconciler can tell about itself and about resources, for the API."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max
from django.utils import timezone

from smarter.apps.costs.queries import NOTHING, spent
from smarter.apps.reconcile.models import ClusterWatch, WorkerHeartbeat
from smarter.apps.resources.models import Resource
from smarter.core.cost import hours_between, rounded
from smarter.kinds import KINDS


def worker_age_seconds() -> float | None:
    """Seconds since any worker last finished a task; None when none ever did."""
    seen_at: datetime | None = WorkerHeartbeat.objects.aggregate(last=Max("seen_at"))["last"]
    return None if seen_at is None else (timezone.now() - seen_at).total_seconds()


def live_fields(resources: Sequence[Resource], now: datetime) -> dict[int, dict[str, Any]]:
    """Status fields that are views of the ledger and the clock, by primary key: what they cost so far, how long they
    are up, when they were looked at. All resources must be of one account; two queries for any number."""
    running = [resource for resource in resources if KINDS[resource.kind_key].deployable]
    if not running:
        return {}
    watches = {watch.cluster_id: watch.observed_at for watch in ClusterWatch.objects.all()}
    money = spent(running[0].account_id, [resource.uid for resource in running], now)
    return {resource.pk: _fields(resource, money.get(resource.uid, NOTHING), watches, now) for resource in running}


def _fields(resource: Resource, money: Any, watches: dict[int, datetime | None], now: datetime) -> dict[str, Any]:
    observed_at = watches.get(resource.cluster_id) if resource.cluster_id else None
    up = resource.deployed and resource.deployed_at is not None
    return {
        "estimatedCost": float(money.cost),
        "uptimeHours": float(rounded(hours_between(resource.deployed_at, now))) if up else 0.0,
        "deployedAt": resource.deployed_at.isoformat() if resource.deployed_at else None,
        "lastCheckedAt": observed_at.isoformat() if observed_at else None,
    }
