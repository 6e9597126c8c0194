"""What is sent: one LLMHost, the raw custom resource with the same content, and the objects that it is rendered to."""

import json
from typing import Any

from smarter.cli.rendering import Settings, render_body
from smarter.core.objects import OBJECT_KINDS, KubernetesObject, ObjectKind, kind_of
from tests.bench.client import BenchError, Call

GROUP, VERSION, PLURAL = "bench.smarter.sh", "v1", "rawhosts"
FEATURES = frozenset({"cert-manager", "gateway-api", "keda"})
APPLY_QUERY = "fieldManager=bench&fieldValidation=Strict"


def host(name: str, replicas: int = 1) -> dict[str, Any]:
    """A host on processors, so that hundreds fit the quota of one account; its objects are those of any host without a
    public name."""
    return {
        "apiVersion": "smarter.sh/v1",
        "kind": "LLMHost",
        "metadata": {"name": name},
        "spec": {
            "model": {
                "repository": "Qwen/Qwen3-0.6B-GGUF",
                "file": "Qwen3-0.6B-Q8_0.gguf",
                "quantization": "gguf",
                "parameterCount": 600000000,
            },
            "engine": {"name": "llama_cpp", "contextLength": 8192, "maxConcurrentRequests": 2},
            "resources": {"cpu": "500m", "memory": "4Gi"},
            "storage": {"size": "5Gi", "accessMode": "ReadWriteOnce" if replicas == 1 else "ReadWriteMany"},
            "scaling": {"replicas": replicas},
        },
    }


def accept(name: str, *, deploy: bool = False) -> Call:
    path = "/api/v1/apply?deploy=true" if deploy else "/api/v1/apply"
    return Call("POST", path, json.dumps(host(name)).encode())


def definition() -> dict[str, Any]:
    """A custom resource with a schema for the fields that are sent, as a controller's author would write it."""
    text, number = {"type": "string", "maxLength": 253}, {"type": "integer", "minimum": 0}

    def block(**fields: Any) -> dict[str, Any]:
        return {"type": "object", "properties": fields}

    spec = block(
        model=block(repository=text, file=text, quantization=text, parameterCount=number),
        engine=block(
            name={"type": "string", "enum": ["llama_cpp", "vllm"]}, contextLength=number, maxConcurrentRequests=number
        ),
        resources=block(cpu=text, memory=text),
        storage=block(size=text, accessMode=text),
        scaling=block(replicas=number),
    )
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": free}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": "RawHost", "listKind": "RawHostList", "plural": PLURAL, "singular": "rawhost"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def raw_path(namespace: str, name: str = "") -> str:
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"
    return f"{path}/{name}" if name else path


def raw(namespace: str, name: str, status: dict[str, Any] | None = None) -> Call:
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "RawHost",
        "metadata": {"name": name.replace("_", "-")},
        "spec": host(name)["spec"],
        **({"status": status} if status else {}),
    }
    return Call("POST", raw_path(namespace), json.dumps(body).encode())


def rendered(account: str, names: list[str]) -> tuple[list[KubernetesObject], list[KubernetesObject]]:
    """What the namespace needs first, and the objects of all hosts, by the same pure functions as a worker's."""
    settings = Settings(account, features=FEATURES)
    first: list[KubernetesObject] = []
    objects: list[KubernetesObject] = []
    for name in names:
        answer = render_body(json.dumps(host(name)).encode(), settings)
        if answer.errors:
            raise BenchError("; ".join(str(error) for error in answer.errors))
        own = [body for body in answer.objects if name.replace("_", "-") in body["metadata"]["name"]]
        first = first or [body for body in answer.objects if body not in own]
        objects += own
    return first, objects


def server_side_apply(body: KubernetesObject) -> Call:
    """Sent again on 409: many creates at once make the server's own write of the namespace's quota collide."""
    kind = kind_of(body)
    path = collection_path(kind, body["metadata"].get("namespace", ""))
    return Call(
        "PATCH",
        f"{path}/{body['metadata']['name']}?{APPLY_QUERY}",
        json.dumps(body).encode(),
        "application/apply-patch+yaml",
        again=frozenset({409}),
    )


def collection_path(kind: ObjectKind, namespace: str) -> str:
    root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    inner = f"/namespaces/{namespace}" if kind.namespaced and namespace else ""
    return f"{root}{inner}/{kind.plural}"


def kinds_of(objects: list[KubernetesObject]) -> dict[ObjectKind, int]:
    """How many objects there are of each kind."""
    counts: dict[ObjectKind, int] = {}
    for body in objects:
        kind = OBJECT_KINDS[(body["apiVersion"], body["kind"])]
        counts[kind] = counts.get(kind, 0) + 1
    return counts
