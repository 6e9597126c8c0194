"""Pods that failed as a whole, which a cluster keeps by the thousand.

For each one that a node put out or refused, the cluster makes a new one and leaves the old one lying, until 12,500 of
them have piled up. The newest tell what happens, so they stay; the look at the whole cluster removes the others, after
their times have gone into the ledger.
"""

from collections.abc import Sequence

import structlog

from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError
from smarter.core.objects import KubernetesObject, ref_of

log = structlog.get_logger(__name__)

KEPT = 3
MOST_AT_ONCE = 50
"""Of one resource in one pass, so that a pass stays short. Pods fail far more slowly than this."""


def remove_spent(port: Cluster, pods: Sequence[KubernetesObject]) -> None:
    """`pods` are those of one resource. Where the cluster does not allow it, they stay."""
    try:
        for pod in spent(pods)[:MOST_AT_ONCE]:
            port.delete(ref_of(pod), uid=pod["metadata"]["uid"])
    except PermanentError as refusal:
        log.warning("spent_pods_stay", reason=refusal.reason, message=refusal.message)


def spent(pods: Sequence[KubernetesObject]) -> list[KubernetesObject]:
    """The oldest first. A Job counts its own failed pods, so only those of Deployments are taken."""
    failed = [
        pod
        for pod in pods
        if (pod.get("status") or {}).get("phase") == "Failed"
        and not pod["metadata"].get("deletionTimestamp")
        and any(owner.get("kind") == "ReplicaSet" for owner in pod["metadata"].get("ownerReferences") or ())
    ]
    failed.sort(key=lambda pod: (str(pod["metadata"].get("creationTimestamp")), str(pod["metadata"]["uid"])))
    return failed[: max(len(failed) - KEPT, 0)]
