"""Who may talk to whom in an account's namespace: nobody, but for what serving a model takes."""

from typing import Any

from smarter.core.facts import Environment
from smarter.core.objects import KubernetesObject
from smarter.render.deployment import FETCHES_LABEL
from smarter.render.pod import PORT_NAME

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
# What is not the public internet: private, shared, loopback, link-local (cloud metadata), documentation, multicast.
_NOT_PUBLIC_V4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
)
# NAT64, 6to4 and Teredo are ways back to IPv4 addresses, private ones among them.
_NOT_PUBLIC_V6 = (
    "::/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
)
_METADATA_V4 = ("100.100.100.200/32", "169.254.0.0/16", "192.0.0.192/32")
_METADATA_V6 = ("fd00:ec2::/32", "fe80::/10")


def policies(metadata: Any, environment: Environment) -> list[KubernetesObject]:
    """`metadata` makes the metadata of an object of this name."""
    return [
        _policy(metadata("default-deny"), {}, ["Ingress", "Egress"]),
        _policy(metadata("allow-dns"), {}, ["Egress"], egress=[_dns()]),
        _policy(metadata("allow-serving"), {}, ["Ingress"], ingress=[_serving(environment)]),
        _policy(
            metadata("allow-fetch"),
            {"matchLabels": {FETCHES_LABEL: "true"}},
            ["Egress"],
            egress=[_fetching(environment)],
        ),
    ]


def _policy(metadata: dict[str, Any], pods: dict[str, Any], types: list[str], **rules: Any) -> KubernetesObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata,
        "spec": {"podSelector": pods, "policyTypes": types, **rules},
    }


def _dns() -> dict[str, Any]:
    return {
        "to": [{"namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: "kube-system"}}}],
        "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
    }


def _serving(environment: Environment) -> dict[str, Any]:
    """From the ingress controller and from pods of the same account, to the serving port alone; and from the workers
    that ask servers for a token, where some do."""
    spaces = [environment.ingress_namespace, *([environment.asking_namespace] if environment.asking_namespace else [])]
    return {
        "from": [
            *({"namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: name}}} for name in spaces),
            {"podSelector": {}},
        ],
        "ports": [{"port": PORT_NAME, "protocol": "TCP"}],
    }


def _fetching(environment: Environment) -> dict[str, Any]:
    """To public addresses by https; where the operator trusts others, to all of them but the clouds' metadata."""
    if environment.trusted_sources:
        return {
            "to": [
                {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(_METADATA_V4)}},
                {"ipBlock": {"cidr": "::/0", "except": list(_METADATA_V6)}},
            ]
        }
    return {
        "to": [
            {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(_NOT_PUBLIC_V4)}},
            {"ipBlock": {"cidr": "::/0", "except": list(_NOT_PUBLIC_V6)}},
        ],
        "ports": [{"port": 443, "protocol": "TCP"}],
    }
