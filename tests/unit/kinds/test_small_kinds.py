"""The kinds that are mostly records: three bad manifests of each, and what the platform brings of its own."""

from decimal import Decimal
from typing import Any

import pytest
import yaml

from smarter.core.kind import Kind
from smarter.core.placement import GIB
from smarter.kinds import KINDS
from smarter.models.sam.base import load, validate
from tests.llm_hosts import spec_with

BY_NAME = {kind.name: kind for kind in KINDS.values()}
COMPUTE = BY_NAME["LLMHostCompute"]


def changed(kind: Kind, changes: dict[str, Any]) -> Any:
    document = yaml.safe_load(kind.example)
    return load(kind.model, spec_with(document, changes))


@pytest.mark.parametrize(
    ("name", "changes", "path", "level"),
    [
        ("Account", {"spec.config.country": "D1"}, "spec.config.country", "error"),
        ("Account", {"spec.config.language": "de_DE!"}, "spec.config.language", "error"),
        ("Account", {"spec.config.timezone": "Europe/../Berlin"}, "spec.config.timezone", "error"),
        ("User", {"spec.config.email": "nobody"}, "spec.config.email", "error"),
        ("User", {"spec.config.email": "a b@example.com"}, "spec.config.email", "error"),
        ("User", {"metadata.username": "a b"}, "metadata.username", "error"),
        ("Secret", {"spec.config.value": "   "}, "spec.config.value", "error"),
        ("Secret", {"spec.config.value": "a\x07b"}, "spec.config.value", "error"),
        ("Cluster", {"spec.type": "kubernetes"}, "spec.kubeconfigSecret", "error"),
        ("Cluster", {"spec.kubeconfigSecret": "x"}, "spec.kubeconfigSecret", "warning"),
        ("Cluster", {"spec.ingressClass": "Bad Class"}, "spec.ingressClass", "error"),
        ("Cluster", {"spec.apiDomain": "https://x"}, "spec.apiDomain", "error"),
        ("LLMHostCompute", {"spec.node.gpu.resource": "gpu"}, "spec.node.gpu.resource", "error"),
        ("LLMHostCompute", {"spec.node.labels": {"a b": "c"}}, "spec.node.labels", "error"),
        ("LLMHostCompute", {"spec.node.labels": {"node-role.kubernetes.io/control-plane": ""}}, "spec.node.labels",
         "error"),
        ("LLMHostCompute", {"spec.node.tolerations": [{"operator": "Exists"}]}, "spec.node.tolerations[0]", "error"),
        ("LLMHostCompute", {"spec.node.tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
         "spec.node.tolerations[0]", "error"),
        ("LLMHostCompute", {"spec.cost": None}, "spec.cost.perHour", "warning"),
    ],
)  # fmt: skip
def test_bad_manifests(name: str, changes: dict[str, Any], path: str, level: str) -> None:
    kind = BY_NAME[name]
    assert [(problem.path, problem.level) for problem in kind.admit(changed(kind, changes), None)] == [(path, level)]
    assert kind.admit(changed(kind, {}), None) == []


def test_a_secret_value_is_no_part_of_a_message() -> None:
    kind = BY_NAME["Secret"]
    (problem,) = kind.admit(changed(kind, {"spec.config.value": "canary\x07"}), None)
    assert "canary" not in str(problem)
    assert kind.secret_fields == ("spec.config.value",)


def test_references_of_a_cluster() -> None:
    kind = BY_NAME["Cluster"]
    manifest = changed(kind, {"spec.type": "kubernetes", "spec.kubeconfigSecret": "kc"})
    assert [(one.kind, one.name) for one in kind.references(manifest)] == [("Secret", "kc")]
    assert kind.references(changed(kind, {})) == ()


def test_plurals_and_names_are_distinct() -> None:
    assert len({kind.plural for kind in KINDS.values()}) == len(KINDS)
    assert all(kind.plural == kind.plural.lower() for kind in KINDS.values())


@pytest.mark.parametrize("built_in", COMPUTE.built_ins, ids=lambda built_in: built_in["metadata"]["name"])
def test_built_in_computes(built_in: dict[str, Any]) -> None:
    manifest, faults = validate(COMPUTE.model, built_in)
    assert faults == []
    assert COMPUTE.admit(manifest, None) == []
    assert COMPUTE.compute_fact is not None
    fact = COMPUTE.compute_fact(manifest)
    assert fact.price_per_hour is not None
    assert fact.price_per_hour > 0
    assert fact.price_source
    assert fact.price_date >= "2026-08-06"
    assert (fact.gpu_count > 0) == ("node.kubernetes.io/instance-type" in fact.node_labels)


def test_a_price_is_exact() -> None:
    facts = {
        built_in["metadata"]["name"]: COMPUTE.compute_fact(load(COMPUTE.model, built_in))  # type: ignore[misc] # it is set
        for built_in in COMPUTE.built_ins
    }
    assert facts["gpu_l40s_4x"].price_per_hour == Decimal("10.49264")
    assert facts["gpu_a100_40_8x"].price_per_hour == Decimal("21.957642")
    l4 = facts["gpu_l4_1x"]
    assert (l4.instance_type, l4.cpu_millis, l4.memory_bytes) == ("g6.2xlarge", 8000, 32 * GIB)
    assert (l4.gpu_count, l4.gpu_type, l4.gpu_memory_bytes) == (1, "L4", 24 * GIB)
    assert l4.node_labels == {"node.kubernetes.io/instance-type": "g6.2xlarge"}
    assert facts["cpu_small"].node_labels == {}
    assert facts["cpu_small"].tolerations == (
        {"key": "smarter.sh/compute", "operator": "Equal", "value": "cpu_small", "effect": "NoSchedule"},
    )
