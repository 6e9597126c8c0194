"""
Manifest model of the kind Secret, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/Secret.json and run the program again.
"""
from __future__ import annotations

# A bound such as conint(ge=1) is a call, which a type checker does not accept as a type, and the default of an enum
# is the plain text that the attribute holds.
# mypy: disable-error-code="valid-type,assignment"

from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import ConfigDict, Field, SecretStr, constr
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


class SAMSecretMetadata(SAMModel):
    """What identifies and describes the Secret."""

    model_config = ConfigDict(
        extra="forbid",
    )
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this Secret is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the Secret, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class SAMSecretConfig(SAMModel):
    """The value and how long it may be used."""

    model_config = ConfigDict(
        extra="forbid",
    )
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what the value is for."""
    expiration_date: datetime | None = Field(None, title="Expiration_date")
    """When the value stops being usable. A time without a zone is taken as UTC."""
    value: SecretStr = Field(..., title="Value")
    """The value itself. It can be written, but not read back."""


class SAMSecretStatus(SAMModel):
    """What is known about the stored value, never the value itself. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: str = Field(..., title="Accountnumber")
    """The number of the account that owns this Secret."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this Secret was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    last_accessed: datetime | None = Field(None, title="Last_accessed")
    """When the value was last handed to a workload."""
    modified: datetime = Field(..., title="Modified")
    """When this Secret was last changed by a manifest."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    username: str = Field(..., title="Username")
    """The user who created this Secret."""


class SAMSecretSpec(SAMModel):
    """The value and how long it may be used."""

    model_config = ConfigDict(
        extra="forbid",
    )
    config: SAMSecretConfig
    """The value and how long it may be used."""


class SAMSecret(SAMModel):
    """A value that only programs should see, such as a token. It is stored encrypted and never shown again."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: Secret."""
    metadata: SAMSecretMetadata
    """What identifies and describes the Secret."""
    spec: SAMSecretSpec
    """The value and how long it may be used."""
    status: SAMSecretStatus | None = None
    """The state of the Secret. Smarter writes it; what a manifest says here is ignored."""
