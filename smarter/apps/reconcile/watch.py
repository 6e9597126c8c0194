"""When each cluster is looked at: fast while something moves there, slowly otherwise."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection

from smarter.apps.reconcile.claim import worker_name


@dataclass(frozen=True, slots=True)
class Watch:
    cluster_id: int
    token: int
    fail_count: int
    info_at: datetime | None
    observed_at: datetime | None


# Writes nothing where the cluster is due already, so that a burst of changes costs no commit.
_WAKE = """
WITH woken AS (
     UPDATE reconcile_clusterwatch SET next_observe_at = clock_timestamp()
      WHERE cluster_id = %(cluster)s AND next_observe_at > clock_timestamp())
INSERT INTO reconcile_clusterwatch (cluster_id, next_observe_at, lease_owner, lease_token, fail_count)
SELECT %(cluster)s, clock_timestamp(), '', 0, 0
 WHERE NOT EXISTS (SELECT FROM reconcile_clusterwatch WHERE cluster_id = %(cluster)s)
    ON CONFLICT (cluster_id) DO NOTHING
"""

_ENROL = """
INSERT INTO reconcile_clusterwatch (cluster_id, next_observe_at, lease_owner, lease_token, fail_count)
SELECT id, clock_timestamp(), '', 0, 0 FROM clusters_cluster
ON CONFLICT (cluster_id) DO NOTHING
"""

_CLAIM = """
WITH chosen AS MATERIALIZED (
     SELECT cluster_id FROM reconcile_clusterwatch
      WHERE next_observe_at <= clock_timestamp()
        AND (lease_until IS NULL OR lease_until < clock_timestamp())
        AND (%(cluster)s::bigint IS NULL OR cluster_id = %(cluster)s)
      ORDER BY next_observe_at
        FOR UPDATE SKIP LOCKED
      LIMIT 1)
UPDATE reconcile_clusterwatch AS watch
   SET lease_token = lease_token + 1, lease_owner = %(worker)s,
       lease_until = clock_timestamp() + make_interval(secs => %(seconds)s),
       next_observe_at = clock_timestamp() + make_interval(secs => %(seconds)s)
  FROM chosen
 WHERE watch.cluster_id = chosen.cluster_id
RETURNING watch.cluster_id, lease_token, fail_count, info_at, observed_at
"""

_RELEASE = """
UPDATE reconcile_clusterwatch
   SET next_observe_at = clock_timestamp() + make_interval(
         secs => CASE WHEN next_observe_at > clock_timestamp() THEN %(seconds)s ELSE least(%(fast)s, %(seconds)s) END),
       lease_until = NULL, fail_count = %(fail_count)s, info_at = %(info_at)s, observed_at = %(observed_at)s
 WHERE cluster_id = %(cluster)s AND lease_token = %(token)s
"""


def wake(cluster_id: int) -> None:
    """Something changed there: look as soon as a worker is free."""
    with connection.cursor() as cursor:
        cursor.execute(_WAKE, {"cluster": cluster_id})


def claim_watch(cluster_id: int | None = None) -> Watch | None:
    """A cluster that is due. None: nothing is due, or others have it."""
    parameters = {"worker": worker_name(), "seconds": settings.SMARTER.lease_seconds, "cluster": cluster_id}
    with connection.cursor() as cursor:
        cursor.execute(_ENROL)
        cursor.execute(_CLAIM, parameters)
        row = cursor.fetchone()
    return Watch(*row) if row else None


def release(
    held: Watch, *, seconds: float, fail_count: int, info_at: datetime | None, observed_at: datetime | None
) -> None:
    """Gives the lease back and sets the next look. One that was woken meanwhile is looked at soon, but not at once:
    while hosts are being deployed something changes all the time, and a worker would do nothing but look."""
    with connection.cursor() as cursor:
        cursor.execute(
            _RELEASE,
            {
                "seconds": seconds,
                "fast": settings.SMARTER.poll_fast_seconds,
                "fail_count": fail_count,
                "info_at": info_at,
                "observed_at": observed_at,
                "cluster": held.cluster_id,
                "token": held.token,
            },
        )
