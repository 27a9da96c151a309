"""The fields of the files of a package, read into the models that describe them, as Go reads them.

Keys match whatever their case, unknown ones are ignored, and a number or boolean where text is
declared becomes text (`Fields`). What cannot be read is noted as a problem that names file and
field, and read as if it were absent, so that one reading finds everything that is wrong.

What a field holds follows from the type hints of its model (`Shape`): a new field of a model is
read, checked and documented without further code.
"""

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite
from typing import Annotated, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel

from goyaml import format_float
from kudo.api.problems import Problem, kind_of_value

_Model = TypeVar("_Model", bound=BaseModel)
# Keywords of schemas.
_BOUNDS = frozenset({"maxItems", "maxLength", "maxProperties"})
_EXPECTED = {
    "flag": "true or false",
    "integer": "a whole number",
    "list": "a list",
    "map": "a mapping",
    "number": "a finite number",
}


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one mapping.

    Attributes:
        values: Their values, by key without regard to case.
        path: JSON path of the mapping in its file; empty for the whole file.
        file: Name of the file.
        problems: Where problems are noted; shared by all fields of a package.
        written: Where mappings and lists are written that stand somewhere else in the file than
            their path says, by that path; see `kudo.packages.short_form`.
    """

    values: Mapping[str, object]
    path: str
    file: str
    problems: list[Problem]
    written: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        value: object,
        path: str,
        file: str,
        problems: list[Problem],
        written: Mapping[str, str] | None = None,
    ) -> "Fields":
        """Return the fields of `value`, which should be a mapping; null has none."""
        fields = cls({}, path, file, problems, written or {})
        if isinstance(value, dict):
            # Of keys that differ in case only, Go lets the last one in byte order win.
            folded = {key.casefold(): value[key] for key in sorted(value)}
            return replace(fields, values=folded)
        if value is not None:
            fields.complain("", value, "a mapping")
        return fields

    def get(self, name: str) -> object:
        """Return the value as it is; None where it is absent."""
        return self.values.get(name.casefold())

    def has(self, name: str) -> bool:
        return name.casefold() in self.values

    def text(self, name: str, value: object) -> str:
        """Return a value that should be a text; empty where it is absent."""
        text = "" if value is None else text_of(value)
        if text is None:
            self.complain(name, value, "text")
        return text or ""

    def children(self, name: str) -> tuple["Fields", ...]:
        """Return a list of mappings; an empty one where it is absent."""
        items = self.get(name)
        if isinstance(items, list):
            return tuple(self.child(f"{name}[{n}]", item) for n, item in enumerate(items))
        if items is not None:
            self.complain(name, items, "a list")
        return ()

    def child(self, name: str, value: object) -> "Fields":
        """Return the fields of `value`, which should be the mapping at `name`."""
        return Fields.of(value, self._path(name), self.file, self.problems, self.written)

    def complain(self, name: str, value: object, expected: str) -> None:
        """Note that the field `name` should be `expected`."""
        subject = self._written(self._path(name)) or "the file"
        self.note(f"{subject} must be {expected}, not {kind_of_value(value)}")

    def note(self, message: str) -> None:
        """Note that something else is wrong."""
        self.problems.append(Problem("PackageInvalid", message, self.file))

    def _written(self, path: str) -> str:
        """Return where a field is written."""
        above = (
            place
            for place in self.written
            if path == place or path.startswith((f"{place}.", f"{place}["))
        )
        longest = max(above, key=len, default="")
        return self.written[longest] + path.removeprefix(longest) if longest else path

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path and name else self.path or name


def text_of(value: object) -> str | None:
    """Return the text that a scalar becomes where text is declared, as in Go; else None."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            # Go's YAML library writes a number for a field of type string with 32 bits.
            return format_float(value, bits=32)
    return None


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

    kind: Literal["text", "flag", "integer", "number", "anything", "mapping", "list", "map"]
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
    values = {}
    for described in fields_of(model):
        value = fields.get(described.name)
        if value is not None or not described.optional:
            value = _value(described.shape, fields, described.name, value)
        # An empty text is as good as none: KUDO 0.19 cannot tell them apart.
        if value is None or (described.shape.kind == "text" and not value):
            value = None if described.optional else described.default
        values[described.attribute] = value
    # Validation would refuse what the leniency above has accepted.
    return model.model_construct(None, **values)


def _value(shape: Shape, fields: Fields, name: str, value: object) -> object:
    """Return a value as what its field holds; None where it is absent or something else."""
    below = shape.below
    match shape.kind, value:
        case "text", _:
            return fields.text(name, value)
        case "mapping", _:
            assert shape.model is not None
            return read(shape.model, fields.child(name, value))
        case ("anything", _) | (_, None):
            return value
        case "flag", bool():
            # Text is not taken for one, as in Go.
            return value
        case "integer" | "number", bool():
            pass  # Python's booleans are integers.
        case "number", int() | float() if isfinite(value):
            return value
        case "integer", int():
            return value
        case "integer", float() if value.is_integer():
            return int(value)
        case "list", list() if below is not None:
            items = enumerate(value)
            return tuple(_value(below, fields, f"{name}[{n}]", item) for n, item in items)
        case "map", dict() if below is not None:
            pairs = value.items()
            return {key: _value(below, fields, f"{name}.{key}", item) for key, item in pairs}
    fields.complain(name, value, _EXPECTED[shape.kind])
    return None


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
        arms = [arm for arm in get_args(hint) if arm is not type(None)]
        if set(arms) == {int, float}:
            return Shape("number")
        (hint,) = arms
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
