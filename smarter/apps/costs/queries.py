"""Reads of the ledger. Sums are made in the database, in NUMERIC; an open interval counts until `now`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection

from smarter.core.cost import rounded


@dataclass(frozen=True, slots=True)
class Spent:
    """What one resource has cost so far. `pod_hours` is the running time of all its pods."""

    cost: Decimal
    pod_hours: Decimal
    currency: str


NOTHING = Spent(Decimal(0), Decimal(0), "USD")

_SPENT = """
SELECT resource_uid,
       sum(extract(epoch FROM coalesce(upper(period), %(now)s) - lower(period)) * price_per_hour * share) / 3600,
       sum(extract(epoch FROM coalesce(upper(period), %(now)s) - lower(period))) / 3600,
       min(currency)
  FROM costs_usageinterval
 WHERE account_id = %(account)s AND resource_uid = ANY(%(uids)s) AND lower(period) < %(now)s
 GROUP BY resource_uid
"""


def spent(account_id: int, resource_uids: Iterable[UUID], now: datetime) -> dict[UUID, Spent]:
    """By resource; those without usage are absent. Rounded here, once."""
    with connection.cursor() as cursor:
        cursor.execute(_SPENT, {"now": now, "account": account_id, "uids": list(resource_uids)})
        return {uid: Spent(rounded(cost), rounded(hours), currency) for uid, cost, hours, currency in cursor.fetchall()}
