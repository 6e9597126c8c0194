"""
Manifest model of the kind Cluster, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/Cluster.json and run the program again.
"""
from __future__ import annotations

# A bound such as conint(ge=1) is a call, which a type checker does not accept as a type, and the default of an enum
# is the plain text that the attribute holds.
# mypy: disable-error-code="valid-type,assignment"

from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import ConfigDict, Field, constr
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


class SAMClusterMetadata(SAMModel):
    """What identifies and describes the Cluster."""

    model_config = ConfigDict(
        extra="forbid",
    )
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this Cluster is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the Cluster, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class Type(Enum):
    """
    What stands behind the cluster.
    """

    kubernetes = "kubernetes"
    simulated = "simulated"


class SAMClusterStatus(SAMModel):
    """How the cluster is doing, as of the last time that it was asked. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: str = Field(..., title="Accountnumber")
    """The number of the account that owns this Cluster."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this Cluster was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    features: list[str] | None = Field(None, max_length=64, title="Features")
    """What was found on the cluster."""
    gpus: int | None = Field(None, title="Gpus")
    """How many GPUs its nodes have."""
    lastCheckedAt: datetime | None = Field(None, title="Lastcheckedat")
    """When the cluster was last asked."""
    message: str | None = Field(None, title="Message")
    """Why the cluster is in its state, and what to do about it."""
    modified: datetime = Field(..., title="Modified")
    """When this Cluster was last changed by a manifest."""
    nodes: int | None = Field(None, title="Nodes")
    """How many nodes it has."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    reachable: bool | None = Field(None, title="Reachable")
    """Whether it answered."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    username: str = Field(..., title="Username")
    """The user who created this Cluster."""
    version: str | None = Field(None, title="Version")
    """The version of Kubernetes that it runs."""


class SAMClusterSpec(SAMModel):
    """How Smarter reaches the cluster, and which of its classes new objects use."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiDomain: constr(max_length=253) | None = Field(None, title="Apidomain")
    """The domain under which public host names are made on this cluster. Left out, it is that of the platform."""
    clusterIssuer: constr(max_length=253) | None = Field(None, title="Clusterissuer")
    """The cert-manager ClusterIssuer that signs certificates."""
    default: bool | None = Field(False, title="Default")
    """Whether hosts run here when nothing else decides."""
    features: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=32, title="Features")
    """What is installed on the cluster, for example cert-manager or gateway-api. Left out, Smarter finds out."""
    ingressClass: constr(max_length=253) | None = Field(None, title="Ingressclass")
    """The ingress class of public addresses. Left out, it is the default of the cluster."""
    kubeconfigSecret: constr(max_length=128) | None = Field(None, title="Kubeconfigsecret")
    """The name of the Secret that holds the kubeconfig. Needed for the type kubernetes."""
    storageClass: constr(max_length=253) | None = Field(None, title="Storageclass")
    """The storage class of volumes for weights. Left out, it is the default of the cluster."""
    type: Type = Field(..., title="Type")
    """What stands behind the cluster: a real one, or one that only exists inside Smarter."""


class SAMCluster(SAMModel):
    """A Kubernetes cluster that hosts run on."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: Cluster."""
    metadata: SAMClusterMetadata
    """What identifies and describes the Cluster."""
    spec: SAMClusterSpec
    """How Smarter reaches the cluster, and which of its classes new objects use."""
    status: SAMClusterStatus | None = None
    """The state of the Cluster. Smarter writes it; what a manifest says here is ignored."""
