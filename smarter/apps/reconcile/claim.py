"""Leases with a fencing token, by the database's clock.

A claim is one short statement. Work then happens outside any transaction, and what it found is saved only while the
token is still the claimant's: whoever lost the lease in the meantime, by a pause or a partition, changes nothing.
"""

import math
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Case, DateTimeField, F, Value, When
from django.db.models.functions import Now

from smarter.apps.resources.models import ResourceState

# The one that also counts while the machine sleeps, where there is such a clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def worker_name() -> str:
    """Of this very process: Celery's children are forks of a parent that has loaded this module already."""
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Claim:
    """`due` is when the row falls due again if the claimant dies: the end of its first lease."""

    resource_id: int
    token: int
    fail_count: int
    due: datetime


# The choice is made in a materialised step of its own: as a subquery it may be run again for each row that is looked
# at, and would then lease many rows where one was asked for.
_CLAIM = """
WITH chosen AS MATERIALIZED (
     SELECT resource_id FROM resources_resourcestate
      WHERE next_check_at <= clock_timestamp()
        AND (lease_until IS NULL OR lease_until < clock_timestamp())
        AND (%(resource)s::bigint IS NULL OR resource_id = %(resource)s)
      ORDER BY next_check_at
        FOR UPDATE SKIP LOCKED
      LIMIT 1)
UPDATE resources_resourcestate AS state
   SET lease_token = lease_token + 1,
       lease_owner = %(worker)s,
       lease_until = clock_timestamp() + make_interval(secs => %(seconds)s),
       next_check_at = clock_timestamp() + make_interval(secs => %(seconds)s)
  FROM chosen
 WHERE state.resource_id = chosen.resource_id
RETURNING state.resource_id, lease_token, fail_count, next_check_at
"""


def claim(resource_id: int | None = None) -> Claim | None:
    """The given resource, or the one that has waited longest. None: nothing is due, or others have it."""
    parameters = {"worker": worker_name(), "seconds": settings.SMARTER.lease_seconds, "resource": resource_id}
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, parameters)
        row = cursor.fetchone()
    return Claim(*row) if row else None


_EXTEND = """
UPDATE resources_resourcestate SET lease_until = clock_timestamp() + make_interval(secs => %s)
 WHERE resource_id = %s AND lease_token = %s AND lease_until > clock_timestamp()
"""


def extend(held: Claim) -> bool:
    """Renews the lease from now on. False: it is lost, and the work must stop before its next write."""
    with connection.cursor() as cursor:
        cursor.execute(_EXTEND, [settings.SMARTER.lease_seconds, held.resource_id, held.token])
        return bool(cursor.rowcount)


def mark_touched(held: Claim) -> bool:
    """Notes, before the first write to a cluster, that objects may exist there; renews the lease in the same statement.
    False: the lease is lost."""
    rows = ResourceState.objects.filter(pk=held.resource_id, lease_token=held.token, lease_until__gt=Now())
    return bool(rows.update(touched=True, lease_until=Now() + timedelta(seconds=settings.SMARTER.lease_seconds)))


def clock() -> float:
    """Seconds of a clock that goes on while this process is stopped."""
    return time.clock_gettime(_CLOCK)


def keeper(held: Claim, renewed_at: float = -math.inf) -> Callable[[], bool]:
    """Answers before each write whether the lease is still held, and keeps it. The database is asked the first time and
    then once in a third of the lease, since a lease that was just renewed cannot be taken: every question is a commit,
    and those were a third of the time of a deploy. `renewed_at` is a time of `clock` before the last renewal."""
    asked = renewed_at

    def still_mine() -> bool:
        nonlocal asked
        now = clock()
        if now - asked < settings.SMARTER.lease_seconds / 3:
            return True
        if not extend(held):
            return False
        asked = now
        return True

    return still_mine


def save(held: Claim, fields: dict[str, Any], *, next_check_at: datetime | None) -> bool:
    """Writes what the work found and gives the lease back. False: the lease was lost, and nothing was written.

    An apply that came during the work has set `next_check_at` to its own time; that earlier look is kept."""
    rows = ResourceState.objects.filter(resource_id=held.resource_id, lease_token=held.token, lease_until__gt=Now())
    look_again = Case(
        When(next_check_at=held.due, then=Value(next_check_at, output_field=DateTimeField())),
        default=F("next_check_at"),
    )
    return bool(rows.update(**fields, next_check_at=look_again, lease_until=None))
