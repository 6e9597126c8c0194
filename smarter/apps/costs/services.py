"""Every write of the ledger. The reconciler calls it with what a cluster reported about pods.

Starts and ends come from the pods' own timestamps, so a poll that was missed, doubled or late changes no total: the
same facts arrive with a later one, and facts that are already known change nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from smarter.apps.costs.models import UsageInterval
from smarter.core.kind import Placement


@dataclass(frozen=True, slots=True)
class PodTimes:
    """`started_at` is when the node took the pod in; `ended_at` is None while it runs."""

    uid: str
    name: str
    node: str
    started_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays for the pods of one resource on one cluster."""

    account_id: int
    resource_uid: UUID
    resource_kind: str
    resource_name: str
    cluster_uid: UUID


def open_pods(cluster_uid: UUID) -> dict[str, UUID]:
    """Uids of the pods whose intervals are open on a cluster, with the resource that each belongs to."""
    rows = UsageInterval.all_accounts.filter(cluster_uid=cluster_uid, period__endswith__isnull=True)
    return dict(rows.values_list("pod_uid", "resource_uid"))


def open_intervals(payer: Payer, placement: Placement, pods: Iterable[PodTimes]) -> None:
    """Opens an interval for each pod that has none, at today's price. A compute without a price costs nothing, and
    its hours are kept all the same. A pod that ended before it was first seen is opened and closed at once."""
    compute = placement.compute
    intervals = [
        UsageInterval(
            account_id=payer.account_id,
            resource_uid=payer.resource_uid,
            resource_kind=payer.resource_kind,
            resource_name=payer.resource_name,
            cluster_uid=payer.cluster_uid,
            pod_uid=pod.uid,
            pod_name=pod.name,
            node_name=pod.node,
            compute=compute.name,
            price_per_hour=compute.price_per_hour if compute.price_per_hour is not None else Decimal(0),
            share=placement.share,
            currency=compute.currency,
            period=DateTimeTZRange(pod.started_at, pod.ended_at),
        )
        for pod in pods
        if pod.ended_at is None or pod.ended_at > pod.started_at
    ]
    UsageInterval.all_accounts.bulk_create(intervals, ignore_conflicts=True)


_CLOSE = """
UPDATE costs_usageinterval AS usage
   SET period = tstzrange(
           lower(usage.period), greatest(ended.at, lower(usage.period) + interval '1 microsecond'), '[)'
       ),
       confirmed = true
  FROM unnest(%s::text[], %s::timestamptz[]) AS ended(pod_uid, at)
 WHERE usage.pod_uid = ended.pod_uid AND upper_inf(usage.period)
"""


def close_intervals(ends: Mapping[str, datetime]) -> int:
    """Closes the open intervals of pods that ended; how many. One that is closed already stays as it is. A pod that
    never ran (its end is its start) keeps a microsecond, because an empty range has no start to bill by."""
    if not ends:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_CLOSE, [list(ends.keys()), list(ends.values())])
        return int(cursor.rowcount)


def mark_unconfirmed(cluster_uid: UUID, *, confirmed: bool) -> None:
    """Open intervals stay open while a cluster is silent, and say that nobody has confirmed them."""
    rows: Any = UsageInterval.all_accounts.filter(cluster_uid=cluster_uid, period__endswith__isnull=True)
    rows.exclude(confirmed=confirmed).update(confirmed=confirmed)


def open_of(resource_uid: UUID) -> list[str]:
    """Uids of the pods of one resource whose intervals are open."""
    rows = UsageInterval.all_accounts.filter(resource_uid=resource_uid, period__endswith__isnull=True)
    return list(rows.values_list("pod_uid", flat=True))


def names_of(pod_uids: Iterable[str]) -> dict[str, str]:
    """The pods' names, by uid."""
    rows = UsageInterval.all_accounts.filter(pod_uid__in=list(pod_uids))
    return dict(rows.values_list("pod_uid", "pod_name"))
