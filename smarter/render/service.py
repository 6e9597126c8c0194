"""The address of a workload inside the cluster."""

from smarter.core.objects import KubernetesObject
from smarter.render.identity import Identity
from smarter.render.pod import PORT_NAME


def service(identity: Identity) -> KubernetesObject:
    port = {"name": PORT_NAME, "port": 80, "protocol": "TCP", "targetPort": PORT_NAME}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": identity.metadata(),
        "spec": {"type": "ClusterIP", "selector": identity.selector(), "ports": [port]},
    }


def internal_url(identity: Identity, path: str = "") -> str:
    return f"http://{identity.name}.{identity.namespace}.svc.cluster.local{path}"
