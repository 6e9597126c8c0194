"""Events about pods and volumes that do not get on: some faults (a volume that cannot be attached, a network that
cannot be set up) are told nowhere else.

Clusters have far more Events than objects, so they are never listed as a whole: only those about a pod that has been
prepared for some time, or about a volume that has not come, and of one pass only a few, each anew after some seconds.
`observe` and `look` call it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from smarter.apps.reconcile.tails import Budget
from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import EVENT, KubernetesObject

STUCK_AFTER = timedelta(seconds=15)
FRESH_SECONDS = 15.0
MOST_EVENTS = 20
"""About one object; the newest."""
_MOST_KNOWN = 2000
_known: OrderedDict[str, tuple[float, list[KubernetesObject]]] = OrderedDict()
_lock = threading.Lock()


def happenings(
    port: Cluster, live: Sequence[KubernetesObject], budget: Budget, now: datetime
) -> list[KubernetesObject]:
    """What is not read for want of budget is answered as it was last known."""
    found: list[KubernetesObject] = []
    for body in live:
        if _is_stuck(body, now):
            found += _events_of(port, body, budget)
    return found


def has_last_words(pods: Sequence[KubernetesObject]) -> bool:
    """Whether a status shows what a container wrote before it ended, which may hold anything that it knew."""
    for pod in pods:
        status = pod.get("status") or {}
        for state in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            for when in ("state", "lastState"):
                if ((state.get(when) or {}).get("terminated") or {}).get("message"):
                    return True
    return False


def _is_stuck(body: KubernetesObject, now: datetime) -> bool:
    metadata, status = body["metadata"], body.get("status") or {}
    try:
        young = now - datetime.fromisoformat(str(metadata.get("creationTimestamp"))) < STUCK_AFTER
    except ValueError:
        return False
    if young or metadata.get("deletionTimestamp"):
        return False
    if body["kind"] == "PersistentVolumeClaim":
        return status.get("phase") == "Pending"
    return body["kind"] == "Pod" and _is_prepared_for_long(body, status)


def _is_prepared_for_long(pod: KubernetesObject, status: dict[str, Any]) -> bool:
    """It has a node, and none of its containers has run yet."""
    if not (pod.get("spec") or {}).get("nodeName") or status.get("phase") != "Pending":
        return False
    states = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    waits = [(state.get("state") or {}).get("waiting") for state in states]
    return all(wait and wait.get("reason") in (None, "ContainerCreating", "PodInitializing") for wait in waits)


def _events_of(port: Cluster, body: KubernetesObject, budget: Budget) -> list[KubernetesObject]:
    uid = str(body["metadata"]["uid"])
    with _lock:
        known = _known.get(uid)
    if known is not None and time.monotonic() - known[0] < FRESH_SECONDS:
        return known[1]
    if not budget.take():
        return known[1] if known else []
    try:
        events = port.list(
            EVENT, namespace=body["metadata"].get("namespace"), field_selector=f"involvedObject.uid={uid}"
        )
    except (TemporaryError, PermanentError):
        return known[1] if known else []
    newest = sorted(events, key=lambda event: str(event.get("lastTimestamp") or ""))[-MOST_EVENTS:]
    with _lock:
        _known[uid] = (time.monotonic(), newest)
        _known.move_to_end(uid)
        while len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return newest
