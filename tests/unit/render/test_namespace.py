"""The walls of an account's namespace."""

import dataclasses
import ipaddress
from typing import Any

import pytest

from smarter.core.engine import User
from smarter.core.facts import Environment
from smarter.engines import ENGINES
from smarter.render.deployment import FETCHES_LABEL
from smarter.render.namespace import bootstrap, pod_security
from tests.llm_hosts import ACCOUNT, LLAMA, host, kinds_of, objects, one

OBJECTS = bootstrap(ACCOUNT, Environment(ingress_namespace="edge", gpu_quota=4))


def policy(name: str) -> dict[str, Any]:
    (found,) = [
        body["spec"] for body in OBJECTS if body["kind"] == "NetworkPolicy" and body["metadata"]["name"] == name
    ]
    return dict(found)


def test_order_of_creation() -> None:
    assert kinds_of(OBJECTS)[:4] == ["Namespace", "ServiceAccount", "ResourceQuota", "LimitRange"]


def test_nobody_talks_to_anybody() -> None:
    assert policy("default-deny") == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_workers_that_ask_for_a_token_are_let_in_where_some_do() -> None:
    def spaces(environment: Environment) -> list[str]:
        bodies = {body["metadata"]["name"]: body for body in bootstrap(ACCOUNT, environment)}
        peers = bodies["allow-serving"]["spec"]["ingress"][0]["from"]
        return [label for peer in peers for label in peer.get("namespaceSelector", {}).get("matchLabels", {}).values()]

    assert spaces(Environment()) == ["traefik"]
    assert spaces(Environment(asking_namespace="smarter")) == ["traefik", "smarter"]


def test_serving_port_from_the_ingress_controller_and_the_account() -> None:
    spec = policy("allow-serving")
    (rule,) = spec["ingress"]
    assert rule["ports"] == [{"port": "http", "protocol": "TCP"}]
    assert rule["from"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "edge"}}},
        {"podSelector": {}},
    ]


def allowed(address: str) -> bool:
    (rule,) = policy("allow-fetch")["egress"]
    target = ipaddress.ip_address(address)
    for peer in rule["to"]:
        block = peer["ipBlock"]
        inside = target in ipaddress.ip_network(block["cidr"])
        if inside and not any(target in ipaddress.ip_network(cidr) for cidr in block["except"]):
            return True
    return False


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "10.96.0.1", "172.31.0.1", "192.168.0.1", "127.0.0.1", "100.100.100.200", "0.0.0.0",
     "224.0.0.1", "::1", "fe80::1", "fd00::1", "fd00:ec2::254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "ff02::1"],
)  # fmt: skip
def test_a_fetch_reaches_nothing_private(address: str) -> None:
    assert not allowed(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111"])
def test_a_fetch_reaches_the_public(address: str) -> None:
    assert allowed(address)


def test_exceptions_lie_within_their_block() -> None:
    """Otherwise the server refuses the whole policy."""
    (rule,) = policy("allow-fetch")["egress"]
    for peer in rule["to"]:
        block = ipaddress.ip_network(peer["ipBlock"]["cidr"])
        for cidr in peer["ipBlock"]["except"]:
            inner = ipaddress.ip_network(cidr)
            assert inner.version == block.version
            assert inner.prefixlen > block.prefixlen
    assert rule["ports"] == [{"port": 443, "protocol": "TCP"}]


def test_only_pods_that_fetch_may_leave() -> None:
    assert policy("allow-fetch")["podSelector"] == {"matchLabels": {FETCHES_LABEL: "true"}}
    fetching = one(objects(host()), "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert fetching[FETCHES_LABEL] == "true"
    volume = {"model.source": "pvc", "model.repository": "a.gguf", "model.file": None, "storage.existingClaim": "b"}
    assert (
        FETCHES_LABEL not in one(objects(host(volume, LLAMA)), "Deployment")["spec"]["template"]["metadata"]["labels"]
    )


def test_limits() -> None:
    hard = one(OBJECTS, "ResourceQuota")["spec"]["hard"]
    assert hard["requests.nvidia.com/gpu"] == "4"
    assert hard["services.loadbalancers"] == hard["services.nodeports"] == "0"
    assert one(OBJECTS, "ServiceAccount")["automountServiceAccountToken"] is False


def test_security_profile_follows_the_engines() -> None:
    """One that must be root lowers what the cluster itself holds up to, and not what is warned of."""
    labels = one(OBJECTS, "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
    strict = [engine for engine in ENGINES.values() if not engine.user.waiver]
    assert pod_security(strict)["pod-security.kubernetes.io/enforce"] == "restricted"
    weaker = dataclasses.replace(strict[0], user=User(uid=0, gid=0, fs_group=0, waiver="its files are root's"))
    relaxed = pod_security([*strict, weaker])
    assert relaxed["pod-security.kubernetes.io/enforce"] == "baseline"
    assert relaxed["pod-security.kubernetes.io/warn"] == "restricted"


def test_a_fetch_that_may_go_anywhere_still_never_asks_for_metadata() -> None:
    found = bootstrap(ACCOUNT, Environment(trusted_sources=True))
    rules = next(body for body in found if body["metadata"]["name"] == "allow-fetch")["spec"]["egress"]
    assert len(rules) == 1
    assert "ports" not in rules[0]
    blocks = [(ipaddress.ip_network(to["ipBlock"]["cidr"]), to["ipBlock"]["except"]) for to in rules[0]["to"]]

    def reaches(text: str) -> bool:
        address = ipaddress.ip_address(text)
        return any(
            address in network and not any(address in ipaddress.ip_network(one) for one in closed)
            for network, closed in blocks
            if network.version == address.version
        )

    assert all(map(reaches, ("10.0.0.7", "192.168.1.1", "8.8.8.8", "fd12::1")))
    assert not any(map(reaches, ("169.254.169.254", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fe80::1")))
