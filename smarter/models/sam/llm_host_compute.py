"""
Manifest model of the kind LLMHostCompute, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/LLMHostCompute.json and run the program again.
"""
from __future__ import annotations

# A bound such as conint(ge=1) is a call, which a type checker does not accept as a type, and the default of an enum
# is the plain text that the attribute holds.
# mypy: disable-error-code="valid-type,assignment"

from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import ConfigDict, Field, confloat, conint, constr
from smarter.models.sam.base import SAMModel


class SAMDependency(SAMModel):
    """A resource that refers to the one in this manifest."""

    model_config = ConfigDict(
        extra="forbid",
    )
    kind: str = Field(..., title="Kind")
    """The kind of the resource that refers to this one, for example LLMHost."""
    name: str = Field(..., title="Name")
    """The name of the resource that refers to this one."""


class ConditionStatus(Enum):
    """
    How a watched aspect stands.
    """

    True_ = "True"
    False_ = "False"
    Unknown = "Unknown"


class SAMCondition(SAMModel):
    """One watched aspect of a resource, and how it stands."""

    model_config = ConfigDict(
        extra="forbid",
    )
    lastTransitionTime: datetime | None = Field(None, title="Lasttransitiontime")
    """When `status` last changed."""
    message: str | None = Field(None, title="Message")
    """What happened, and what to do about it."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that was judged."""
    reason: str | None = Field(None, title="Reason")
    """One word for the cause, stable and meant for programs."""
    status: ConditionStatus = Field(..., title="Status")
    """Whether the aspect holds. Unknown means that it could not be found out."""
    type: str = Field(..., title="Type")
    """The aspect, for example Ready."""


class SAMLLMHostComputeMetadata(SAMModel):
    """What identifies and describes the LLMHostCompute."""

    model_config = ConfigDict(
        extra="forbid",
    )
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this LLMHostCompute is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the LLMHostCompute, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class SAMLLMHostComputeGpu(SAMModel):
    """The GPUs of one node."""

    model_config = ConfigDict(
        extra="forbid",
    )
    count: conint(ge=1, le=16) = Field(..., title="Count")
    """How many GPUs one node has."""
    memoryGb: conint(ge=1, le=4096) = Field(..., title="Memorygb")
    """The memory of each GPU, in GB."""
    resource: constr(max_length=317) | None = Field("nvidia.com/gpu", title="Resource")
    """The name under which the cluster hands out these GPUs."""
    type: constr(min_length=1, max_length=64) = Field(..., title="Type")
    """The model of the GPU, for example L4 or H100."""


class CapacityType(Enum):
    """
    How a cloud provider sells a node.
    """

    ON_DEMAND = "ON_DEMAND"
    SPOT = "SPOT"


class Effect(Enum):
    """
    What a taint does to pods that do not tolerate it.
    """

    NoSchedule = "NoSchedule"
    PreferNoSchedule = "PreferNoSchedule"
    NoExecute = "NoExecute"


class Operator(Enum):
    """
    How a toleration is compared with a taint.
    """

    Equal = "Equal"
    Exists = "Exists"


class SAMLLMHostComputeToleration(SAMModel):
    """Lets pods run on nodes that carry a matching taint."""

    model_config = ConfigDict(
        extra="forbid",
    )
    effect: Effect | None = Field(None, title="Effect")
    """The effect of the taint. Left out, every effect matches."""
    key: constr(max_length=317) | None = Field(None, title="Key")
    """The key of the taint. Left out, every key matches, which needs the operator Exists."""
    operator: Operator | None = Field("Equal", title="Operator")
    """Whether the value counts as well."""
    value: constr(max_length=63) | None = Field(None, title="Value")
    """The value of the taint."""


class SAMLLMHostComputeNode(SAMModel):
    """What one node of this type offers."""

    model_config = ConfigDict(
        extra="forbid",
    )
    amiType: constr(max_length=64) | None = Field(None, title="Amitype")
    """The image that cloud nodes start from. Left out, it follows from whether the node has GPUs."""
    capacityType: CapacityType | None = Field("ON_DEMAND", title="Capacitytype")
    """How a cloud provider sells the node."""
    cpu: conint(ge=1, le=4096) = Field(..., title="Cpu")
    """The virtual processors of one node."""
    diskSizeGb: conint(ge=20, le=65536) | None = Field(100, title="Disksizegb")
    """The size of the disk of one node, in GiB."""
    gpu: SAMLLMHostComputeGpu | None = None
    """The GPUs of one node. Left out, it has none."""
    instanceType: constr(min_length=1, max_length=64) = Field(..., title="Instancetype")
    """The name of the machine type, for example g6.2xlarge."""
    labels: dict[constr(max_length=317), constr(max_length=63)] | None = Field(None, title="Labels")
    """Labels by which nodes of this type are told from others in the cluster."""
    memoryGb: conint(ge=1, le=65536) = Field(..., title="Memorygb")
    """The memory of one node, in GiB."""
    tolerations: list[SAMLLMHostComputeToleration] | None = Field(None, max_length=16, title="Tolerations")
    """Tolerations that pods need in order to run on these nodes."""


class SAMLLMHostComputeNodeGroup(SAMModel):
    """How many nodes there may be, and where."""

    model_config = ConfigDict(
        extra="forbid",
    )
    maxNodes: conint(ge=1, le=100) | None = Field(4, title="Maxnodes")
    """The most nodes that may exist at once."""
    subnetIds: list[constr(max_length=64)] | None = Field([], max_length=16, title="Subnetids")
    """The subnets of cloud nodes. An empty list means those of the platform."""


class SAMLLMHostComputeCost(SAMModel):
    """What one node costs."""

    model_config = ConfigDict(
        extra="forbid",
    )
    currency: constr(pattern=r"^[A-Z]{3}$") | None = Field("USD", title="Currency")
    """The currency as a three-letter code."""
    date: constr(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$") | None = Field(None, title="Date")
    """The day that the price was looked up, for example 2026-01-31."""
    perHour: confloat(ge=0.0, le=1000000.0) | None = Field(None, title="Perhour")
    """The price of one node for one hour. Left out, hosts on this compute have no estimated cost."""
    source: constr(max_length=2048) | None = Field(None, title="Source")
    """Where the price was found."""


class SAMWarning(SAMModel):
    """A remark on one field of the manifest."""

    model_config = ConfigDict(
        extra="forbid",
    )
    code: str = Field(..., title="Code")
    """What it is about, a stable word for programs."""
    message: str = Field(..., title="Message")
    """What was noticed, and what to do about it."""
    path: str = Field(..., title="Path")
    """The field, dotted, for example spec.engine.image. Empty for the whole manifest."""


class SAMLLMHostComputeStatus(SAMModel):
    """How the nodes are doing. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: str = Field(..., title="Accountnumber")
    """The number of the account that owns this LLMHostCompute."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this LLMHostCompute was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    desiredNodes: int | None = Field(None, title="Desirednodes")
    """How many nodes are wanted."""
    lastReconciledAt: datetime | None = Field(None, title="Lastreconciledat")
    """When the nodes were last looked at."""
    llmhosts: int | None = Field(None, title="Llmhosts")
    """How many hosts run on this compute."""
    message: str | None = Field(None, title="Message")
    """Why the nodes are in their state, and what to do about it."""
    modified: datetime = Field(..., title="Modified")
    """When this LLMHostCompute was last changed by a manifest."""
    nodeGroupName: str | None = Field(None, title="Nodegroupname")
    """The name of the node group in the cloud, if there is one."""
    nodeGroupStatus: str | None = Field(None, title="Nodegroupstatus")
    """The state of the node group, for example absent or ACTIVE."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    readyNodes: int | None = Field(None, title="Readynodes")
    """How many nodes are ready."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    username: str = Field(..., title="Username")
    """The user who created this LLMHostCompute."""
    warnings: list[SAMWarning] | None = Field(None, max_length=64, title="Warnings")
    """Remarks on the manifest that did not stop it."""


class SAMLLMHostComputeSpec(SAMModel):
    """The node, how many of it there may be, and its price."""

    model_config = ConfigDict(
        extra="forbid",
    )
    cost: SAMLLMHostComputeCost | None = None
    """What one node costs."""
    node: SAMLLMHostComputeNode
    """What one node offers."""
    nodeGroup: SAMLLMHostComputeNodeGroup | None = None
    """How many nodes there may be, and where."""


class SAMLLMHostCompute(SAMModel):
    """A type of node that hosts can run on, with its price."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: LLMHostCompute."""
    metadata: SAMLLMHostComputeMetadata
    """What identifies and describes the LLMHostCompute."""
    spec: SAMLLMHostComputeSpec
    """The node, how many of it there may be, and its price."""
    status: SAMLLMHostComputeStatus | None = None
    """The state of the LLMHostCompute. Smarter writes it; what a manifest says here is ignored."""
