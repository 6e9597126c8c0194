"""What a cluster offers besides nodes: storage classes, the policy behind the fate `unschedulable`, and a mark."""

from typing import Any

MARK = "smarter-test-control-plane"
UNSCHEDULABLE = "unschedulable-on-request"


def storage() -> list[dict[str, Any]]:
    return [
        storage_class("kwok-volume", "true"),
        storage_class("kwok-volume-rwx", "false"),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": "kwok.x-k8s.io"},
            "spec": {"attachRequired": False, "podInfoOnMount": False},
        },
    ]


def storage_class(name: str, is_default: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": is_default}},
        "provisioner": "kwok.x-k8s.io",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }


def mark(fates: list[str]) -> dict[str, Any]:
    """By this ConfigMap a test recognises a cluster on which pods can be given a fate."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": MARK, "namespace": "kube-system"},
        "data": {"fates": " ".join(fates)},
    }


def unschedulable_policy() -> list[dict[str, Any]]:
    """Pods with the fate `unschedulable` get a node selector that no node has; the real scheduler refuses them."""
    expression = '[JSONPatch{op: "add", path: "/spec/nodeSelector", value: {"smarter.sh/test-fate": "unschedulable"}}]'
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": UNSCHEDULABLE},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ],
                "objectSelector": {"matchLabels": {"smarter.sh/test-fate": "unschedulable"}},
            },
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": UNSCHEDULABLE},
        "spec": {"policyName": UNSCHEDULABLE},
    }
    return [policy, binding]
