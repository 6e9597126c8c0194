"""What the tables behind SAM kinds have in common: identity, metadata as sent, version numbers.

The models of accounts, secrets and clusters build on ManifestRow, and their stores write through `save_changes`.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Literal

from django.db import models
from django.utils import timezone


class ManifestRow(models.Model):
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    metadata = models.JSONField(default=dict, blank=True)
    generation = models.BigIntegerField(default=1)
    """Rises when the spec changes."""
    resource_version = models.BigIntegerField(default=1)
    """Rises with every change by a manifest."""
    created = models.DateTimeField(default=timezone.now, editable=False)
    modified = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True


def save_changes(
    row: ManifestRow, fields: Mapping[str, Any], metadata: dict[str, Any], *, force: bool = False
) -> Literal["changed", "unchanged"]:
    """Writes what differs. `force` counts a change that the fields do not show, such as a new secret value."""
    differing = {name: value for name, value in fields.items() if getattr(row, name) != value}
    if not differing and not force and row.metadata == metadata:
        return "unchanged"
    for name, value in differing.items():
        setattr(row, name, value)
    if differing or force:
        row.generation += 1
    row.metadata = metadata
    row.resource_version += 1
    row.modified = timezone.now()
    row.save()
    return "changed"


def page(rows: models.QuerySet, *, limit: int, offset: int, name_filter: str = "") -> tuple[list[Any], int]:
    """One page in the order of names, and how many rows there are in all."""
    if name_filter:
        rows = rows.filter(name__contains=name_filter)
    return list(rows.order_by("name")[offset : offset + limit]), rows.count()


def locked(rows: models.QuerySet, name: str) -> Any:
    """The row of this name, held until the end of the transaction; None where there is none."""
    return rows.select_for_update(of=("self",)).filter(name=name).first()
