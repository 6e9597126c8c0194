"""
Manifest model of the kind SmarterAuthToken, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/SmarterAuthToken.json and run the program again.
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


class SAMSmarterAuthTokenMetadata(SAMModel):
    """What identifies and describes the SmarterAuthToken."""

    model_config = ConfigDict(
        extra="forbid",
    )
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this SmarterAuthToken is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the SmarterAuthToken, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class SAMSmarterAuthTokenConfig(SAMModel):
    """Whose key it is and whether it works."""

    model_config = ConfigDict(
        extra="forbid",
    )
    isActive: bool | None = Field(False, title="Isactive")
    """Whether the key is accepted."""
    username: constr(min_length=1, max_length=150) = Field(..., title="Username")
    """The user in whose name requests with this key are made."""


class SAMSmarterAuthTokenStatus(SAMModel):
    """What is known about the key, never the key itself. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: str = Field(..., title="Accountnumber")
    """The number of the account that owns this SmarterAuthToken."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this SmarterAuthToken was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    lastUsedAt: datetime | None = Field(None, title="Lastusedat")
    """When a request was last made with this key."""
    modified: datetime = Field(..., title="Modified")
    """When this SmarterAuthToken was last changed by a manifest."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    username: str = Field(..., title="Username")
    """The user who created this SmarterAuthToken."""


class SAMSmarterAuthTokenSpec(SAMModel):
    """Whose key it is and whether it works."""

    model_config = ConfigDict(
        extra="forbid",
    )
    config: SAMSmarterAuthTokenConfig
    """Whose key it is and whether it works."""


class SAMSmarterAuthToken(SAMModel):
    """A key with which a program uses the API in the name of a user."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: SmarterAuthToken."""
    metadata: SAMSmarterAuthTokenMetadata
    """What identifies and describes the SmarterAuthToken."""
    spec: SAMSmarterAuthTokenSpec
    """Whose key it is and whether it works."""
    status: SAMSmarterAuthTokenStatus | None = None
    """The state of the SmarterAuthToken. Smarter writes it; what a manifest says here is ignored."""
