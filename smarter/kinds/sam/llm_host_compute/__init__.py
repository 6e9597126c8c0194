"""LLMHostCompute: a type of node that hosts run on, with what one of it costs."""

import re
from decimal import Decimal

from smarter.core.defaults import filled
from smarter.core.facts import ComputeFact
from smarter.core.kind import Column, Kind
from smarter.core.placement import GIB
from smarter.core.problems import Problem, warning
from smarter.kinds.sam.llm_host_compute.built_ins import BUILT_INS
from smarter.models.sam.llm_host_compute import SAMLLMHostCompute, SAMLLMHostComputeToleration

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: LLMHostCompute
metadata:
  name: team_l4
  description: Our own nodes with one L4 GPU.
  version: 1.0.0
spec:
  node:
    instanceType: g6.2xlarge
    cpu: 8
    memoryGb: 32
    gpu:
      type: L4
      count: 1
      memoryGb: 24
    labels:
      node.kubernetes.io/instance-type: g6.2xlarge
  cost:
    perHour: 0.9776
    currency: USD
    source: AWS price list, us-east-1
    date: "2026-08-17"
"""
_LABEL_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_LABEL_NAME}", re.ASCII)
_LABEL_VALUE = re.compile(rf"(?:{_LABEL_NAME})?", re.ASCII)
_RESOURCE = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_SYSTEM_ROLE = "node-role.kubernetes.io/"


def admit(manifest: SAMLLMHostCompute, _stored: SAMLLMHostCompute | None) -> list[Problem]:
    spec = filled(manifest.spec)
    problems = []
    if spec.node.gpu and not _RESOURCE.fullmatch(spec.node.gpu.resource or ""):
        words = "This is not the name of an extended resource such as nvidia.com/gpu."
        problems.append(Problem("gpu_resource", "spec.node.gpu.resource", words))
    for key, value in (spec.node.labels or {}).items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value) or key.startswith(_SYSTEM_ROLE):
            words = (
                "A label has a key or value that Kubernetes does not take, or stands for a role of the cluster's own."
            )
            problems.append(Problem("label", "spec.node.labels", words))
    for index, toleration in enumerate(spec.node.tolerations or ()):
        fault = _toleration_fault(toleration)
        if fault:
            problems.append(Problem("toleration", f"spec.node.tolerations[{index}]", fault))
    if spec.cost is None or spec.cost.perHour is None:
        words = "Without a price, hosts on these nodes count as free, and the nodes are chosen last."
        problems.append(warning("no_price", "spec.cost.perHour", words))
    return problems


def _toleration_fault(toleration: SAMLLMHostComputeToleration) -> str | None:
    if not toleration.key or not _LABEL_KEY.fullmatch(toleration.key) or toleration.key.startswith(_SYSTEM_ROLE):
        return "A toleration must name the key of one taint, and no role of the cluster's own."
    if str(toleration.operator) == "Exists" and toleration.value:
        return "With the operator Exists there is no value."
    if toleration.value and not _LABEL_VALUE.fullmatch(toleration.value):
        return "The value must be one that a label can have."
    return None


def compute_fact(manifest: SAMLLMHostCompute) -> ComputeFact:
    spec = filled(manifest.spec)
    node, gpu, cost = spec.node, spec.node.gpu, spec.cost
    return ComputeFact(
        name=manifest.metadata.name,
        instance_type=node.instanceType,
        cpu_millis=node.cpu * 1000,
        memory_bytes=node.memoryGb * GIB,
        gpu_count=gpu.count if gpu else 0,
        gpu_type=gpu.type if gpu else "",
        gpu_memory_bytes=gpu.memoryGb * GIB if gpu else 0,
        gpu_resource=(gpu.resource if gpu else None) or "nvidia.com/gpu",
        # By its text, so that 0.1 is a tenth.
        price_per_hour=Decimal(str(cost.perHour)) if cost and cost.perHour is not None else None,
        currency=(cost.currency if cost else None) or "USD",
        price_source=(cost.source if cost else None) or "",
        price_date=(cost.date if cost else None) or "",
        max_nodes=(spec.nodeGroup.maxNodes if spec.nodeGroup else None) or 1,
        node_labels=dict(sorted((node.labels or {}).items())),
        tolerations=tuple(_toleration(entry) for entry in node.tolerations or ()),
    )


def _toleration(entry: SAMLLMHostComputeToleration) -> dict[str, str]:
    fields = {"key": entry.key, "operator": entry.operator, "value": entry.value, "effect": entry.effect}
    return {name: str(value) for name, value in fields.items() if value}


KIND = Kind(
    api_version="smarter.sh/v1",
    name="LLMHostCompute",
    plural="llmhostcomputes",
    model=SAMLLMHostCompute,
    summary="A type of node that hosts run on, with its price.",
    example=EXAMPLE,
    columns=(
        Column("INSTANCE", "spec.node.instanceType"),
        Column("GPU", "spec.node.gpu.type"),
        Column("GPUS", "spec.node.gpu.count"),
        Column("CPU", "spec.node.cpu"),
        Column("MEMORY", "spec.node.memoryGb"),
        Column("PRICE/H", "spec.cost.perHour"),
    ),
    # A price decides what hosts cost, so those who run hosts do not set it.
    writer="admin",
    shared=True,
    admit=admit,
    compute_fact=compute_fact,
    built_ins=BUILT_INS,
)
