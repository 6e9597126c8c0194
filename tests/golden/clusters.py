"""Leaving a cluster as it was, for tests that use the namespace of an account."""

import time

from smarter.cluster.port import Cluster
from smarter.core.objects import ObjectRef

PATIENCE_SECONDS = 120


def clear(cluster: Cluster, namespace: ObjectRef) -> None:
    """Returns when the namespace is gone: what comes next may need one of the same name, and one that is just going
    takes nothing in."""
    cluster.delete(namespace)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while cluster.get(namespace) is not None:
        assert time.monotonic() < deadline, f"{namespace} does not go"
        time.sleep(0.5)
