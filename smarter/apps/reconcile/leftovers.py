"""Objects that nobody asks for any more, found while a whole cluster is looked at.

A worker that was held up between its last look at the lease and its write may write after a successor has finished
an undeploy or a deletion. Nothing can keep such a write from the cluster, so it is found and undone here.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import structlog

from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.reconcile.states import mark_touched
from smarter.apps.resources.models import Event, Resource, ResourceState
from smarter.cluster.port import Cluster
from smarter.core.objects import KubernetesObject, ref_of

log = structlog.get_logger(__name__)


def look_after(
    port: Cluster,
    cluster: ClusterRow,
    owned: Mapping[str, Sequence[KubernetesObject]],
    states: Iterable[ResourceState],
) -> None:
    """`owned` are live objects by the uid of their owner, `states` those that are known to have some. What belongs to
    a resource that this database has deleted is removed; what belongs to one that it never knew is left alone."""
    unknown = _uids(owned) - {state.resource.uid for state in states}
    if not unknown:
        return
    present = set(Resource.all_accounts.filter(cluster=cluster, uid__in=unknown).values_list("uid", flat=True))
    if present:
        mark_touched(cluster.pk, sorted(present))
    deleted = Event.all_accounts.filter(resource_uid__in=unknown - present, reason="Deleted")
    for uid in sorted(set(deleted.values_list("resource_uid", flat=True))):
        for body in owned[str(uid)]:
            log.warning("leftover_removed", resource=str(uid), object=str(ref_of(body)))
            port.delete(ref_of(body), uid=body["metadata"].get("uid"))


def _uids(texts: Iterable[str]) -> set[UUID]:
    """Labels are anybody's to write; what is no uid is nobody's."""
    found = set()
    for text in texts:
        try:
            found.add(UUID(text))
        except ValueError:
            continue
    return found
