"""The volume that keeps weights: a PersistentVolumeClaim of the workload's own."""

from smarter.core.objects import KubernetesObject
from smarter.core.quantities import format_bytes
from smarter.render.identity import Identity


def claim(identity: Identity, access_mode: str, size_bytes: int, storage_class: str | None) -> KubernetesObject:
    spec: KubernetesObject = {
        "accessModes": [access_mode],
        "resources": {"requests": {"storage": format_bytes(size_bytes)}},
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": identity.metadata(), "spec": spec}
