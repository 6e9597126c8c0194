"""Objects for the contract suite, as small as an API server takes them."""

from typing import Any

from smarter.core.objects import KubernetesObject

FATE_LABEL = "smarter.sh/test-fate"
DELAY_ANNOTATION = "smarter.sh/test-delay"
NODE_LABEL = "smarter.sh/contract-node"
GPU = "nvidia.com/gpu"


def namespace(name: str, **labels: str) -> KubernetesObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def config_map(namespace: str, name: str = "settings", data: Any = None, **metadata: Any) -> KubernetesObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "data": {"colour": "blue"} if data is None else data,
    }


def secret(namespace: str, name: str = "key", **content: Any) -> KubernetesObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **content}


def container(name: str = "main", image: str = "example.com/engine:1", **content: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **content}


def restricted_container(name: str = "main", **content: Any) -> dict[str, Any]:
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return container(name, securityContext=security, **content)


def pod_spec(*containers: dict[str, Any], gpus: int = 0, node: KubernetesObject | None = None, **content: Any) -> Any:
    spec: dict[str, Any] = {"containers": list(containers) or [container()], **content}
    if gpus:
        spec["containers"][0]["resources"] = {"limits": {GPU: gpus}}
        spec.setdefault("tolerations", [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}])
    if node is not None:
        spec["nodeSelector"] = {NODE_LABEL: node["metadata"]["name"]}
    return spec


def deployment(
    namespace: str,
    name: str = "host",
    *,
    spec: dict[str, Any] | None = None,
    fate: str = "",
    delay: str = "",
    **content: Any,
) -> KubernetesObject:
    labels = {"app": name, **({FATE_LABEL: fate} if fate else {})}
    metadata: dict[str, Any] = {"labels": labels}
    if delay:
        metadata["annotations"] = {DELAY_ANNOTATION: delay}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": metadata, "spec": spec or pod_spec()},
            **content,
        },
    }


def job(namespace: str, name: str = "fetch", **content: Any) -> KubernetesObject:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(restartPolicy="Never")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": template, **content},
    }


def service(namespace: str, name: str = "host", **content: Any) -> KubernetesObject:
    spec = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8000}], **content}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def claim(namespace: str, name: str = "weights", size: str = "10Gi", **content: Any) -> KubernetesObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **content}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def ingress(namespace: str, name: str = "host", **path: Any) -> KubernetesObject:
    backend = {"service": {"name": "host", "port": {"number": 80}}}
    rule = {
        "host": "a.example.com",
        "http": {"paths": [{"path": "/v1", "pathType": "Prefix", "backend": backend} | path]},
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ingressClassName": "traefik", "rules": [rule]},
    }


def network_policy(namespace: str, name: str = "default-deny", **spec: Any) -> KubernetesObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], **spec},
    }


def quota(namespace: str, **hard: Any) -> KubernetesObject:
    metadata = {"name": "account", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}


def limit_range(namespace: str, **limit: Any) -> KubernetesObject:
    metadata = {"name": "account", "namespace": namespace}
    limits = [{"type": "Container", **limit}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}}


def certificate(namespace: str, name: str = "host", fate: str = "", **content: Any) -> KubernetesObject:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if fate:
        metadata["labels"] = {FATE_LABEL: fate}
    spec = {"secretName": f"{name}-tls", "dnsNames": ["a.example.com"], "issuerRef": {"name": "letsencrypt"}, **content}
    return {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata, "spec": spec}


def node(name: str, gpus: int = 0, cpus: int = 4, taint: bool = False, labels: Any = None) -> KubernetesObject:
    amounts = {"cpu": str(cpus), "memory": "16Gi", "pods": "20", "ephemeral-storage": "100Gi"}
    if gpus:
        amounts[GPU] = str(gpus)
    # The taint keeps away the pods of everybody who does not ask for this node; a GPU node has its usual one.
    taints = [{"key": GPU, "value": "present", "effect": "NoSchedule"}] if gpus or taint else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {NODE_LABEL: name, "kubernetes.io/hostname": name, **(labels or {})},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": taints},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def condition(body: KubernetesObject, kind: str) -> str:
    """The status of a condition, empty where there is none."""
    return str(condition_part(body, kind, "status"))


def condition_part(body: KubernetesObject, kind: str, part: str) -> str:
    conditions = (body.get("status") or {}).get("conditions") or []
    return str(next((one.get(part, "") for one in conditions if one["type"] == kind), ""))


def waiting_reason(pod: KubernetesObject) -> str:
    states = pod["status"].get("containerStatuses") or []
    return str(
        next((state["state"]["waiting"].get("reason", "") for state in states if "waiting" in state["state"]), "")
    )
