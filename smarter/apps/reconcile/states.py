"""Writing what an observation of a cluster found, for many resources in one statement.

A row that a reconcile holds or has changed since it was read is left alone: the reconcile knows better.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from smarter.apps.resources.models import Event, ResourceState


@dataclass(frozen=True, slots=True)
class Finding:
    """`columns` are new values of the state, empty when only drift was found."""

    state: ResourceState
    columns: dict[str, Any]
    drifted: bool = False
    event: Event | None = None


_WRITE = """
UPDATE resources_resourcestate AS state
   SET status = found.status, phase = found.phase, ready = found.ready, in_transition = found.in_transition,
       seen_digest = found.seen_digest, observed_generation = found.generation
  FROM unnest(%s::bigint[], %s::bigint[], %s::jsonb[], %s::text[], %s::bool[], %s::bool[], %s::text[], %s::bigint[])
       AS found(resource_id, lease_token, status, phase, ready, in_transition, seen_digest, generation)
 WHERE state.resource_id = found.resource_id AND state.lease_token = found.lease_token
   AND (state.lease_until IS NULL OR state.lease_until < clock_timestamp())
"""

_DUE = """
UPDATE resources_resourcestate SET next_check_at = clock_timestamp()
 WHERE resource_id = ANY(%s) AND (next_check_at IS NULL OR next_check_at > clock_timestamp())
"""


_WAKE_FAILED = """
UPDATE resources_resourcestate AS state SET next_check_at = clock_timestamp()
  FROM resources_resource AS resource
 WHERE resource.id = state.resource_id AND resource.cluster_id = %s AND state.fail_count > 0
   AND state.next_check_at > clock_timestamp() AND (state.lease_until IS NULL OR state.lease_until < clock_timestamp())
"""

_WAKE_DEPLOYED = """
UPDATE resources_resourcestate AS state SET next_check_at = clock_timestamp()
  FROM resources_resource AS resource
 WHERE resource.id = state.resource_id AND resource.cluster_id = %s AND resource.deployed
"""

_TOUCHED = """
UPDATE resources_resourcestate AS state SET touched = true, next_check_at = clock_timestamp()
  FROM resources_resource AS resource
 WHERE resource.id = state.resource_id AND resource.cluster_id = %s AND resource.uid = ANY(%s) AND NOT state.touched
"""


def wake_failed(cluster_id: int) -> None:
    """The cluster answers again: what waits after a failure need not wait any longer."""
    _execute(_WAKE_FAILED, [cluster_id])


def wake_deployed(cluster_id: int) -> None:
    """The cluster can do something new, or no longer does: what runs there is rendered again."""
    _execute(_WAKE_DEPLOYED, [cluster_id])


def mark_touched(cluster_id: int, uids: Sequence[UUID]) -> None:
    """Objects of these resources exist although nothing was known of them: a write came late."""
    _execute(_TOUCHED, [cluster_id, list(uids)])


def _execute(statement: str, parameters: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def write_findings(findings: Sequence[Finding]) -> None:
    changed = [finding for finding in findings if finding.columns]
    drifted = [finding.state.pk for finding in findings if finding.drifted]
    with connection.cursor() as cursor:
        if changed:
            cursor.execute(_WRITE, _columns(changed))
        if drifted:
            cursor.execute(_DUE, [drifted])


def _columns(findings: Sequence[Finding]) -> list[list[Any]]:
    rows = [
        (
            finding.state.pk,
            finding.state.lease_token,
            json.dumps(finding.columns["status"]),
            finding.columns["phase"],
            finding.columns["ready"],
            finding.columns["in_transition"],
            finding.columns["seen_digest"],
            finding.columns["observed_generation"],
        )
        for finding in findings
    ]
    return [list(column) for column in zip(*rows, strict=True)]
