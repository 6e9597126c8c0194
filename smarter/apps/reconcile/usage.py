"""From pods to the ledger: when each pod started and ended, by its own timestamps.

A pod's time begins when its node takes it in. It ends when its deletion is asked for, or when its last container
finished, whichever is first; both are known to the cluster, so the answer is the same whenever a poll comes. Of a pod
that came and went between two polls the cluster's events tell the end for an hour; after that the last pass that saw
it is taken, which never bills too much.
"""

from collections.abc import Callable, Container, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from smarter.apps.costs import services
from smarter.apps.costs.services import Payer, PodTimes
from smarter.apps.resources.models import Resource
from smarter.cluster.port import Cluster
from smarter.core.kind import Placement
from smarter.core.objects import COMPUTE_LABEL, EVENT, KubernetesObject

_ENDED_PHASES = frozenset({"Succeeded", "Failed"})
_ENDING_REASONS = frozenset({"Killing", "Evicted", "Preempted", "TaintManagerEviction", "NodeShutdown"})


def payer_of(resource: Resource, cluster_uid: UUID) -> Payer:
    return Payer(resource.account_id, resource.uid, resource.kind, resource.name, cluster_uid)


def pod_times(pod: KubernetesObject) -> PodTimes | None:
    """None for a pod that no node has taken in."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    started_at = _time(status.get("startTime"))
    if started_at is None:
        return None
    return PodTimes(
        uid=metadata["uid"],
        name=metadata["name"],
        node=(pod.get("spec") or {}).get("nodeName") or "",
        started_at=started_at,
        ended_at=_ended_at(metadata, status),
    )


def record(
    payer: Payer, pods: Iterable[KubernetesObject], opened: Container[str], placement: Callable[[], Placement | None]
) -> None:
    """Opens and closes the intervals of one resource's pods. `opened` are the pods with an open interval;
    `placement` is asked only when a pod is new. Pods that are not on a compute, such as those that bring weights, have
    no price and no share of one."""
    placed = (pod for pod in pods if COMPUTE_LABEL in (pod["metadata"].get("labels") or {}))
    times = [found for found in map(pod_times, placed) if found is not None]
    fresh = [pod for pod in times if pod.uid not in opened]
    if fresh:
        where = placement()
        if where is not None:
            services.open_intervals(payer, where, fresh)
    services.close_intervals({pod.uid: pod.ended_at for pod in times if pod.ended_at and pod.uid in opened})


def close_vanished(port: Cluster, pods: dict[str, tuple[str, str]], last_seen: datetime) -> None:
    """Closes the intervals of pods that the cluster no longer has. `pods` maps a uid to its namespace and name."""
    ends: dict[str, datetime] = {}
    for namespace in sorted({namespace for namespace, _ in pods.values()}):
        named = {name: uid for uid, (where, name) in pods.items() if where == namespace}
        for event in port.list(EVENT, namespace=namespace):
            uid = _ended_pod(event, named)
            at = _time(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"))
            if uid in pods and at is not None:
                ends[uid] = min(at, ends.get(uid, at))
    services.close_intervals({uid: ends.get(uid, last_seen) for uid in pods})


def _ended_pod(event: KubernetesObject, named: dict[str, str]) -> str:
    """The uid of the pod that an event reports the end of, empty for other events."""
    involved = event.get("involvedObject") or {}
    if event.get("reason") in _ENDING_REASONS and involved.get("kind") == "Pod":
        return str(involved.get("uid") or "")
    if event.get("reason") == "SuccessfulDelete":
        return named.get(str(event.get("message", "")).rpartition(" ")[2], "")
    return ""


def _ended_at(metadata: KubernetesObject, status: KubernetesObject) -> datetime | None:
    ends: list[datetime | None] = []
    deletion = _time(metadata.get("deletionTimestamp"))
    if deletion is not None:
        ends.append(deletion - timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0))
    if status.get("phase") in _ENDED_PHASES:
        ends.append(_finished_at(status) or _last_transition(status))
    return min((end for end in ends if end is not None), default=None)


def _finished_at(status: KubernetesObject) -> datetime | None:
    states = [
        (container.get("state") or {}).get("terminated") or {} for container in status.get("containerStatuses") or []
    ]
    return max((end for end in (_time(state.get("finishedAt")) for state in states) if end), default=None)


def _last_transition(status: KubernetesObject) -> datetime | None:
    times = [_time(condition.get("lastTransitionTime")) for condition in status.get("conditions") or []]
    return max((moment for moment in times if moment), default=_time(status.get("startTime")))


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
