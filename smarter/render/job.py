"""The Job that brings weights to a volume which many nodes share, before any replica starts.

One pod brings them for all replicas, on a node without GPUs where there is one, and it alone holds the token and may
reach the outside. Its name tells what it does: other weights, or another way to bring them, are another Job, since the
template of a Job can never change.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from smarter.core.engine import User
from smarter.core.objects import AFTER_ANNOTATION, WEIGHTS_LABEL, KubernetesObject
from smarter.core.source import verification
from smarter.render.deployment import FETCHES_LABEL
from smarter.render.identity import Identity
from smarter.render.pod import FETCH_USER, Pod, Resources, pod_spec

_CPU_MILLIS = 500
_MEMORY_BYTES = 2 * 2**30
"""The program takes a hundred megabytes; the rest is room for pages on their way to the volume."""
_RESTARTS = 10_000
"""The container is started again with ever longer pauses, as the container of a replica would be; the kubelet waits
five minutes at most, so this is a month. A Job that gave up would have to be removed before it could go on."""
_GRACE_SECONDS = 30


def weights_job(identity: Identity, pod: Pod, avoid: Mapping[str, str]) -> KubernetesObject:
    """`avoid` are labels of nodes that are too dear to wait for a download."""
    spec = {
        "backoffLimit": _RESTARTS,
        "template": {
            "metadata": {
                "labels": {**identity.labels(), FETCHES_LABEL: "true", WEIGHTS_LABEL: pod.weights.key},
            },
            "spec": _pod(pod, avoid),
        },
    }
    mark = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    metadata = identity.metadata(f"{identity.name}-{mark}")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def held_until(body: KubernetesObject, job: KubernetesObject) -> KubernetesObject:
    """The object with a mark that it comes after the Job; `core/plan.py` reads it."""
    annotations = {**body["metadata"].get("annotations", {}), AFTER_ANNOTATION: job["metadata"]["name"]}
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


def looking_only(pod: Pod) -> Pod:
    """A replica after the Job: it looks whether the weights are there, and needs no token for that."""
    return replace(pod, weights=verification(pod.weights))


def _pod(pod: Pod, avoid: Mapping[str, str]) -> dict[str, Any]:
    """The fetch container of a replica, in a pod of its own."""
    small = Resources(cpu_millis=_CPU_MILLIS, memory_bytes=_MEMORY_BYTES, shm_bytes=0, gpu_count=0, gpu_resource="")
    whole = pod_spec(replace(pod, resources=small, user=_user(pod.user)))
    containers = whole["initContainers"]
    used = {mount["name"] for container in containers for mount in container["volumeMounts"]}
    spec = {name: whole[name] for name in ("automountServiceAccountToken", "enableServiceLinks", "securityContext")}
    spec |= {
        "containers": containers,
        "restartPolicy": "OnFailure",
        "serviceAccountName": whole["serviceAccountName"],
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "volumes": [volume for volume in whole["volumes"] if volume["name"] in used],
    }
    if "tolerations" in whole:
        spec["tolerations"] = whole["tolerations"]
    if avoid:
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": _elsewhere(avoid)}}
    return spec


def _user(user: User) -> User:
    """No server runs here, so nothing needs root."""
    return user if user.uid else replace(user, uid=FETCH_USER, gid=FETCH_USER, waiver="")


def _elsewhere(avoid: Mapping[str, str]) -> list[dict[str, Any]]:
    wish = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in sorted(avoid.items())]
    return [{"weight": 100, "preference": {"matchExpressions": wish}}]
