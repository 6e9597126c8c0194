"""The base of all manifest models, and the one way to turn plain data into a model.

The generated modules beside this one inherit from SAMModel. `smarter.core.manifest` calls `validate` with what it
read from YAML or JSON and turns each Fault into a Problem with a line and a column.

Models are strict in the sense of JSON: text is never read as a number, a whole number may stand where a fraction is
expected, and enums and times are text. Pydantic applies these rules only to JSON input, while strict Python input
would refuse text for an enum. So `validate` writes the data as JSON and lets pydantic read that.
"""

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from smarter.models.sam.faults import Fault, Path, faults_of
from smarter.models.sam.schemas import plain, size_faults

__all__ = ["Fault", "SAMModel", "load", "validate"]


class SAMModel(BaseModel):
    """Frozen and strict. Attributes with an enum type hold the plain text of the member."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        use_enum_values=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )


M = TypeVar("M", bound=BaseModel)


def validate(model: type[M], data: Any) -> tuple[M | None, list[Fault]]:
    """Judge plain JSON-like data: the instance, or all faults at once and no instance.

    A `status` that a user sent has to be taken out before, because it is ignored and not judged.
    Faults never repeat a value, because it could be a secret.
    """
    cleaned, unfit = plain(data)
    text = json.dumps(cleaned)
    try:
        instance = model.model_validate_json(text)
    except ValidationError as error:
        found = faults_of(model, cleaned, error)
    else:
        found = []
    faults = _first_per_path([*found, *unfit, *size_faults(model, cleaned)])
    return (None, faults) if faults else (instance, [])


def load(model: type[M], data: Any) -> M:
    """Read data that was validated before it was stored. Raises ValueError when it no longer fits."""
    instance, faults = validate(model, data)
    if instance is None:
        places = "; ".join(f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in faults)
        raise ValueError(f"stored {model.__name__} does not fit its model: {places}")
    return instance


def _first_per_path(faults: Iterable[Fault]) -> list[Fault]:
    kept: dict[Path, Fault] = {}
    for fault in faults:
        kept.setdefault(fault.path, fault)
    return list(kept.values())
