"""The Deployment of a workload: how many pods, and how an update replaces them."""

from dataclasses import dataclass
from typing import Any

from smarter.core.objects import CHECKSUM_ANNOTATION, COMPUTE_LABEL, KubernetesObject
from smarter.render.identity import Identity
from smarter.render.pod import Pod, pod_spec

FETCHES_LABEL = "smarter.sh/fetches"
"""On pods that may reach public addresses, because they bring their weights from there."""
_PULL_SECONDS = 600
"""Time for a node to come up and for images of ten gigabytes to arrive, in the progress deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    replicas: int
    exclusive_volume: bool
    """Only one node can hold the volume: the old pod must be gone before the new one can start."""
    scarce: bool
    """There may be no room for one more pod, as with GPUs."""
    surge: bool | None = None
    """Whether there was room for one more when the pods were changed last. None: nobody looked."""


def deployment(
    identity: Identity, pod: Pod, rollout: Rollout, *, compute: str, checksum: str | None, fetches: bool
) -> KubernetesObject:
    labels = {**identity.labels(), COMPUTE_LABEL: compute}
    if fetches:
        labels[FETCHES_LABEL] = "true"
    template: dict[str, Any] = {"labels": labels}
    if checksum:
        template["annotations"] = {CHECKSUM_ANNOTATION: checksum}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": identity.metadata(),
        "spec": {
            "replicas": rollout.replicas,
            "revisionHistoryLimit": 2,
            "progressDeadlineSeconds": progress_deadline_seconds(pod),
            "selector": {"matchLabels": identity.selector()},
            "strategy": _strategy(rollout),
            "template": {"metadata": template, "spec": pod_spec(pod)},
        },
    }


def progress_deadline_seconds(pod: Pod) -> int:
    """Longer than everything that may take its time: loading, and before it bringing the weights, which the startup
    probe does not see and which may take as long again."""
    startup = pod.probes.startup_timeout_seconds
    return startup + (startup if pod.weights.fetch else 0) + _PULL_SECONDS


def _strategy(rollout: Rollout) -> dict[str, Any]:
    if rollout.exclusive_volume:
        return {"type": "Recreate"}
    if rollout.surge is False and rollout.replicas == 1:
        return {"type": "Recreate"}
    may_surge = not rollout.scarce if rollout.surge is None else rollout.surge
    surge, unavailable = (1, 0) if may_surge else (0, 1)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
