"""
Manifest model of the kind User, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/User.json and run the program again.
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


class SAMUserMetadata(SAMModel):
    """What identifies and describes the User."""

    model_config = ConfigDict(
        extra="forbid",
    )
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this User is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the User, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    username: constr(min_length=1, max_length=150) = Field(..., title="Username")
    """The name that the user signs in with."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class SAMUserConfig(SAMModel):
    """Who the user is and what the user may do."""

    model_config = ConfigDict(
        extra="forbid",
    )
    email: constr(min_length=3, max_length=254) = Field(..., title="Email")
    """The electronic mail address."""
    firstName: constr(max_length=150) | None = Field(None, title="Firstname")
    """The first name."""
    isActive: bool = Field(..., title="Isactive")
    """Whether the user may sign in."""
    isStaff: bool | None = Field(False, title="Isstaff")
    """Whether the user administers the account."""
    lastName: constr(max_length=150) | None = Field(None, title="Lastname")
    """The last name."""


class SAMUserStatus(SAMModel):
    """What Smarter knows about the user. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    account_number: str = Field(..., title="Account_number")
    """The number of the account that the user belongs to."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this User was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    modified: datetime = Field(..., title="Modified")
    """When this User was last changed by a manifest."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    username: str = Field(..., title="Username")
    """The user who created this User."""


class SAMUserSpec(SAMModel):
    """Who the user is and what the user may do."""

    model_config = ConfigDict(
        extra="forbid",
    )
    config: SAMUserConfig
    """Who the user is and what the user may do."""


class SAMUser(SAMModel):
    """A person or a program that signs in to an account."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: User."""
    metadata: SAMUserMetadata
    """What identifies and describes the User."""
    spec: SAMUserSpec
    """Who the user is and what the user may do."""
    status: SAMUserStatus | None = None
    """The state of the User. Smarter writes it; what a manifest says here is ignored."""
