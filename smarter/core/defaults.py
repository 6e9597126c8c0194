"""A manifest with everything at its default that it leaves out, so that rules and renderers ask one question only.

Fields of manifests are optional and nullable, and `null` means the same as leaving a field out. Kinds call `filled`
before they look at a spec.
"""

from functools import cache
from types import UnionType
from typing import TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def filled(model: Model) -> Model:
    """The same, with defaults in place of None, and with every optional block that can stand empty. What the document
    itself named is still told by `model_fields_set`."""
    values = {name: _value(getattr(model, name), default, block) for name, default, block in _fields(type(model))}
    said = {name for name in model.model_fields_set if getattr(model, name) is not None}
    return type(model).model_construct(_fields_set=said, **values)


def _value(value: object, default: object, block: type[BaseModel] | None) -> object:
    if value is None:
        value = block.model_construct(_fields_set=set()) if block else default
    return filled(value) if isinstance(value, BaseModel) else value


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, object, type[BaseModel] | None], ...]:
    """Name, default and, where the field holds an optional block without required fields, the block's class."""
    return tuple(
        (name, None if field.is_required() else field.get_default(call_default_factory=True), _block(field.annotation))
        for name, field in model.model_fields.items()
    )


def _block(annotation: object) -> type[BaseModel] | None:
    if get_origin(annotation) not in (Union, UnionType):
        return None
    for choice in get_args(annotation):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            required = any(field.is_required() for field in choice.model_fields.values())
            return None if required else choice
    return None
