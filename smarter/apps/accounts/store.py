"""The four store functions that every kind has, whatever keeps its rows, and what they answer.

`apps/resources` calls a store by kind: a generic one for most kinds, and the table stores of accounts, secrets and
clusters. A store never decides over references, audit or events; its caller does that in the same transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import SecretStr

from smarter.apps.accounts.actor import Actor
from smarter.core.errors import Refused
from smarter.core.kind import Kind
from smarter.core.manifest import ParsedManifest
from smarter.core.problems import Problem

Action = Literal["created", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Stored:
    """One manifest as kept. `metadata` includes the name; `spec` never holds a secret value; `status` is complete."""

    api_version: str
    kind: str
    name: str
    uid: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    status: dict[str, Any]
    generation: int
    resource_version: int
    account_number: str
    username: str
    created: datetime
    modified: datetime
    applied_text: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """`reveal` holds values that are shown this once, such as a new API key; they are nowhere to be read again."""

    stored: Stored
    action: Action
    warnings: list[Problem] = field(default_factory=list)
    reveal: Mapping[str, SecretStr] = field(default_factory=dict)


class Store(Protocol):
    """All raise core.errors.Refused for a no: 403 forbidden, 404 not_found, 409 conflict or in_use,
    412 precondition_failed, 422 invalid. Rows of other accounts do not exist."""

    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None: ...

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        """One page in the order of names, and how many there are in all."""

    def apply(self, actor: Actor, parsed: ParsedManifest, *, expected_version: str | None) -> Applied: ...

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None: ...


def check_version(resource_version: int | None, expected_version: str | None) -> None:
    """`expected_version` comes from If-Match, None asks for nothing; `resource_version` is None for what is absent."""
    if expected_version == "*" and resource_version is not None:
        return
    if expected_version is not None and expected_version.strip('"') != str(resource_version):
        raise Refused(
            412, "precondition_failed", "The manifest has changed since it was read. Read it again, then change it."
        )


def not_found(kind: Kind, name: str) -> Refused:
    """The one answer for what is absent and for what belongs to somebody else."""
    return Refused(404, "not_found", f"There is no {kind.name} {name!r} in this account.")


def invalid(parsed: ParsedManifest, path: str, message: str, *, code: str = "invalid") -> Refused:
    place: tuple[str | int, ...] = tuple(path.split("."))
    return Refused(422, "invalid", "The manifest is not accepted.", [parsed.document.problem(code, place, message)])


def record_locator(kind_name: str, uid: object) -> str:
    return f"{kind_name.lower()}/{uid}"


def common_status(
    kind_name: str, uid: object, *, account_number: str, username: str, created: datetime, modified: datetime
) -> dict[str, Any]:
    """The fields that every SAM status has."""
    return {
        "accountNumber": account_number,
        "username": username,
        "recordLocator": record_locator(kind_name, uid),
        "created": created.isoformat(),
        "modified": modified.isoformat(),
    }


def metadata_of(parsed: ParsedManifest) -> dict[str, Any]:
    """Metadata as sent, without empty fields, so that leaving a field out and sending null compare equal."""
    return {key: value for key, value in parsed.metadata.items() if value is not None}


def spec_of(parsed: ParsedManifest) -> dict[str, Any]:
    """The spec with defaults, in the manifest's own names; times and secrets are still Python objects."""
    spec: dict[str, Any] = parsed.model.model_dump(by_alias=True)["spec"]
    return spec
