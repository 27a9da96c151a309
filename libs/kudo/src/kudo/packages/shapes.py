"""What the fields of the files of a package hold, read from the models that describe them."""

import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel

from kudo.packages.fields import Fields

_Model = TypeVar("_Model", bound=BaseModel)
_BOUNDS = frozenset({"maxItems", "maxLength", "maxProperties"})
"""Keywords of schemas."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a field holds.

    Attributes:
        kind: `map` is a mapping with any keys.
        below: Shape of the items of a list, and of the values of a map.
        model: The model of a mapping.
        most: How many characters or items it may have where it is stored; None if any number.
        minimum: The smallest value of an integer; None if any.
        maximum: The largest one.
    """

    kind: Literal["text", "flag", "integer", "anything", "mapping", "list", "map"]
    below: "Shape | None" = None
    model: type[BaseModel] | None = None
    most: int | None = None
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class FileField:
    """A field of a mapping.

    Attributes:
        name: Its key in the file.
        attribute: Its name in the model.
        optional: Whether it is None where it is absent.
        default: What it is where it is absent, if it is not None.
        description: Of the model.
    """

    name: str
    attribute: str
    shape: Shape
    optional: bool
    default: object
    description: str


@lru_cache
def fields_of(model: type[BaseModel]) -> tuple[FileField, ...]:
    """Return the fields of a mapping, in the order of the model; excluded ones are not in files."""
    return tuple(
        FileField(
            field.alias or name,
            name,
            _bounded(_shape(field.annotation), field),
            type(None) in get_args(field.annotation),
            field.default,
            field.description or "",
        )
        for name, field in model.model_fields.items()
        if not field.exclude
    )


def read(model: type[_Model], fields: Fields) -> _Model:
    """Return a mapping of a file as its model, with Go's leniency; problems are noted."""
    values = {field.attribute: _value(field, fields) for field in fields_of(model)}
    return model.model_construct(None, **values)


def _value(field: FileField, fields: Fields) -> object:
    found: object = None
    name, below = field.name, field.shape.below
    match field.shape.kind:
        case "text":
            found = fields.text(name) or None
        case "flag":
            found = fields.flag(name)
        case "integer":
            found = fields.integer(name)
        case "anything":
            found = fields.get(name)
        case "mapping":
            found = _read(field.shape, fields.child(name))
        case "map":
            named = fields.named(name)
            found = named and {key: _read(below, one) for key, one in named.items()}
        case "list" if below is not None and below.kind == "text":
            found = fields.texts(name)
        case "list" if below is not None and below.kind == "anything":
            found = fields.values_of(name)
        case "list":
            children = fields.children(name)
            found = children and tuple(_read(below, one) for one in children)
    return field.default if found is None and not field.optional else found


def _read(shape: Shape | None, fields: Fields) -> BaseModel:
    assert shape is not None
    assert shape.model is not None
    return read(shape.model, fields)


def _bounded(shape: Shape, *notes: object) -> Shape:
    """Return a shape with the bounds that notes of its schema give."""
    for note in notes:
        extra = getattr(note, "json_schema_extra", None) or {}
        for keyword in _BOUNDS & extra.keys():
            shape = replace(shape, most=extra[keyword])
        if shape.kind == "integer":
            limits = {key: extra[key] for key in ("minimum", "maximum") if key in extra}
            shape = replace(shape, **limits)
    return shape


def _shape(hint: object) -> Shape:
    """Return the shape of what a type hint allows, whether it may be absent or not."""
    if get_origin(hint) in {Union, types.UnionType}:
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        return _bounded(_shape(inner), *notes)
    origin = get_origin(hint)
    if origin is tuple:
        return Shape("list", _shape(get_args(hint)[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Shape("map", _shape(get_args(hint)[1]))
    if hint is str:
        return Shape("text")
    if hint is bool:
        return Shape("flag")
    if hint is int:
        return Shape("integer")
    if hint is object:
        return Shape("anything")
    return Shape("mapping", model=cast("type[BaseModel]", hint))
