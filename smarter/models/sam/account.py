"""
Manifest model of the kind Account, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/Account.json and run the program again.
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


class SAMAccountMetadata(SAMModel):
    """What identifies and describes the Account."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: constr(pattern=r"^[0-9]{4}-[0-9]{4}-[0-9]{4}$", max_length=14) | None = Field(
        None, title="Accountnumber"
    )
    """The number of the account, for example 1234-5678-9012. Left out, a new account is given one."""
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this Account is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the Account, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class SAMAccountConfig(SAMModel):
    """Facts about the organisation."""

    model_config = ConfigDict(
        extra="forbid",
    )
    address1: constr(max_length=255) | None = Field(None, title="Address1")
    """The first line of the postal address."""
    address2: constr(max_length=255) | None = Field(None, title="Address2")
    """The second line of the postal address."""
    city: constr(max_length=255) | None = Field(None, title="City")
    """The city."""
    companyName: constr(min_length=1, max_length=255) = Field(..., title="Companyname")
    """The name of the organisation."""
    country: constr(max_length=2) | None = Field("US", title="Country")
    """The country, as a two-letter ISO 3166 code."""
    currency: constr(pattern=r"^[A-Z]{3}$") | None = Field("USD", title="Currency")
    """The currency, as a three-letter ISO 4217 code."""
    language: constr(max_length=35) | None = Field("en-US", title="Language")
    """The language, as a BCP 47 tag."""
    phoneNumber: constr(max_length=32) | None = Field(None, title="Phonenumber")
    """The telephone number."""
    postalCode: constr(max_length=32) | None = Field(None, title="Postalcode")
    """The postal code."""
    state: constr(max_length=255) | None = Field(None, title="State")
    """The state or province."""
    timezone: constr(max_length=64) | None = Field("America/New_York", title="Timezone")
    """The time zone, by its IANA name."""


class SAMAccountStatus(SAMModel):
    """What Smarter knows about the account. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: str = Field(..., title="Accountnumber")
    """The number of the account that owns this Account."""
    adminAccount: str | None = Field(None, title="Adminaccount")
    """The user who administers the account."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this Account was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    modified: datetime = Field(..., title="Modified")
    """When this Account was last changed by a manifest."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    username: str = Field(..., title="Username")
    """The user who created this Account."""


class SAMAccountSpec(SAMModel):
    """Facts about the organisation."""

    model_config = ConfigDict(
        extra="forbid",
    )
    config: SAMAccountConfig
    """Facts about the organisation."""


class SAMAccount(SAMModel):
    """An organisation that uses Smarter. Accounts see nothing of one another."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: Account."""
    metadata: SAMAccountMetadata
    """What identifies and describes the Account."""
    spec: SAMAccountSpec
    """Facts about the organisation."""
    status: SAMAccountStatus | None = None
    """The state of the Account. Smarter writes it; what a manifest says here is ignored."""
