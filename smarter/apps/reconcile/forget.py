"""Removing the record of what cannot be removed from its cluster, because the cluster is gone for good or something
holds an object there for ever.

A platform administrator does it by `?force=true`; everybody else waits for the cluster's word. What may be left there
is told, and is removed should the cluster ever be seen again (`leftovers.py`). Its cost ends where the cluster was
heard of last, so that nobody pays for what nobody has seen.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import check_version, not_found
from smarter.apps.costs.services import close_intervals, open_of
from smarter.apps.reconcile.models import ClusterWatch
from smarter.apps.resources import lifecycle
from smarter.apps.resources.audit import Entry, record
from smarter.apps.resources.dependents import refuse_while_used
from smarter.apps.resources.locks import lock_account
from smarter.apps.resources.models import Resource
from smarter.apps.resources.tables import is_table_kind
from smarter.core.errors import Refused
from smarter.core.kind import Kind

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`remains` are objects as last seen on the cluster."""

    remains: tuple[str, ...]
    message: str


def forget(actor: Actor, kind: Kind, name: str, *, expected_version: str | None = None) -> Forgotten:
    """403 for everybody but a platform administrator, 409 while something refers to it."""
    actor.require("platform", "admin")
    if is_table_kind(kind):
        raise Refused(422, "not_forced", f"A {kind.name} has nothing on a cluster; delete it without force.")
    with transaction.atomic():
        quota = lock_account(actor.account)
        rows = Resource.for_account(actor.account).select_related("account", "cluster", "state")
        row = rows.filter(api_group=kind.group, kind=kind.name, name=name).first()
        if row is None:
            raise not_found(kind, name)
        check_version(row.resource_version, expected_version)
        refuse_while_used(actor, row)
        found = _forgotten(row)
        close_intervals(dict.fromkeys(open_of(row.uid), _heard_of(row)))
        entry = Entry("delete", row.kind, row.name, str(row.uid), "forced", before_hash=row.spec_hash)
        lifecycle.remove(row, f"Forced by {actor.user.username}. {found.message}", warning=True)
        record(quota, actor, [entry])
    return found


def _forgotten(row: Resource) -> Forgotten:
    if row.cluster is None or not row.state.touched:
        return Forgotten((), "Nothing of it was on a cluster.")
    remains = tuple(sorted(row.state.fingerprint))
    told = ", ".join(remains[:MAX_NAMED]) or "none that is known"
    message = f"These objects may remain on the cluster {row.cluster.name!r}: {told}."
    return Forgotten(remains, message)


def _heard_of(row: Resource) -> datetime:
    now = timezone.now()
    if row.cluster is None or row.cluster.reachable is not False:
        return now
    watch = ClusterWatch.objects.filter(cluster=row.cluster).first()
    return watch.observed_at if watch and watch.observed_at else now
