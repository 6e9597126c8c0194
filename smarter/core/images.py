"""The table of default images: which image runs an engine on which hardware.

A file of data and not of code, so that a version changes without touching a program. Engines read their row at import;
a table that cannot be right stops the start, since a host would otherwise find out.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[1] / "engines" / "images.toml"
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/-]*:(?P<tag>[\w][\w.-]{0,127})(?:@sha256:[0-9a-f]{64})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Images:
    """Default images, pinned. `gpu` is for `nvidia.com/gpu`; None: the engine has none for that hardware.
    `by_capability` holds better ones for GPUs of one compute capability, such as `8.9`."""

    gpu: str | None
    cpu: str | None
    by_capability: Mapping[str, str] = field(default_factory=dict)

    def hardware(self, *, gpus: bool, capability: Decimal | None = None) -> str:
        """The word under which the image for this hardware stands: `cpu`, `gpu`, or a compute capability."""
        if not gpus:
            return "cpu"
        return str(capability) if str(capability) in self.by_capability else "gpu"

    def image(self, hardware: str) -> str | None:
        return {"cpu": self.cpu, "gpu": self.gpu, **self.by_capability}[hardware]


def images_of(engine: str) -> Images:
    return images_in(TABLE.read_text(), engine)


@cache
def images_in(table: str, engine: str) -> Images:
    """The row of an engine. ValueError tells what is wrong with it."""
    rows = tomllib.loads(table)
    if engine not in rows:
        raise ValueError(f"the table of images has no row {engine}")
    row: dict[str, Any] = rows[engine]
    unknown = set(row) - {"gpu", "cpu", "by_capability"}
    if unknown:
        raise ValueError(f"the images of {engine} have unknown entries: {', '.join(sorted(unknown))}")
    special = row.get("by_capability", {})
    for image in (row.get("gpu"), row.get("cpu"), *special.values()):
        _check(engine, image)
    for capability in special:
        _check_capability(engine, capability)
    return Images(row.get("gpu"), row.get("cpu"), special)


def _check(engine: str, image: str | None) -> None:
    match = _IMAGE.fullmatch(image) if image is not None else None
    if image is not None and (match is None or match["tag"] == "latest"):
        raise ValueError(f"{image!r} for {engine} is not an image with a fixed version")


def _check_capability(engine: str, capability: str) -> None:
    try:
        Decimal(capability)
    except InvalidOperation:
        raise ValueError(f"{capability!r} of {engine} is not a compute capability such as 8.9") from None
