"""Parameters of a JSON Schema, such as the `values.schema.json` of a Helm chart.

Each property of the file becomes a parameter of the same name. One that is an object becomes a map
with the definitions of its properties, so templates say `.Params.image.tag` as charts say
`.Values.image.tag`. Every word is used or noted as a loss: what no function takes from a `Schema`
is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from kudo.api import JsonObject, bounds
from kudo.api.problems import kind_of_value, shown_name
from kudo.authoring.json_schema import Document, Loss, Part, Schema, Word
from kudo.authoring.schema_words import (
    NUMBERS,
    TYPED_WORDS,
    read_counts,
    read_enum,
    read_format,
    read_pattern,
    read_range,
    read_type,
    shown_value,
)
from kudo.packages.fields import Fields, read
from kudo.packages.files import PARAMETERS_FILE
from kudo.packages.model import PackageParameter
from kudo.parameters.definitions import definition_faults
from kudo.parameters.sources import go_text
from kudo.parameters.types import is_container
from kudo.verification.parameters import bounds_fault, declared, enum_fault, stored, type_fault

_TOO_DEEP: Final = f"more than {bounds.VALUE_DEPTH} levels inside the parameter; left out"
_OF_PACKAGE: Final = ("type", "title", "description", "examples", "example")
"""What the top of a file says, and a package says by itself."""
_LEFT_OUT: Final = {
    **dict.fromkeys(("anyOf", "oneOf"), "alternatives that differ in more than type or values"),
    **dict.fromkeys(("if", "then", "else", "not"), "conditions"),
    "multipleOf": "multiples of a number",
    "patternProperties": "keys by pattern",
}
"""What the words are that authors look for in vain; others are named as they are."""


@dataclass(frozen=True, slots=True)
class SchemaParameters:
    """What a JSON Schema becomes.

    Attributes:
        parameters: Items of `params.yaml`, in the order of the schema.
        losses: What it says and parameters cannot.
    """

    parameters: tuple[JsonObject, ...]
    losses: tuple[Loss, ...]

    def beside(self, existing: Sequence[PackageParameter]) -> tuple[list[JsonObject], list[str]]:
        """Return the parameters that a package lacks, and how those that it has differ."""
        missing, conflicts = [], []
        by_name = {parameter.name.casefold(): parameter for parameter in existing}
        for item in self.parameters:
            old = by_name.get(item["name"].casefold())
            if old is None:
                missing.append(item)
            elif differing := _differing(old, item):
                text = f'parameter "{shown_name(old.name)}" is kept; the schema differs in'
                conflicts.append(f"{text} {', '.join(differing)}")
        return missing, conflicts


def parameters_of(name: str, content: bytes) -> SchemaParameters:
    """Return the parameters that a JSON Schema describes.

    Args:
        name: Of the file, for messages.
        content: Its bytes.

    Raises:
        InvalidInput: it is no JSON Schema, describes no properties or more than packages may have,
            or allows no value.
    """
    document = Document(name, content)
    importer = _Importer(document)
    return SchemaParameters(tuple(importer.parameters()), tuple(document.losses))


@dataclass(frozen=True, slots=True)
class _Value:
    """A definition, and its default, which may be made of those of its properties."""

    fields: JsonObject
    default: Word | None


class _Importer:
    def __init__(self, document: Document) -> None:
        self._document = document
        # Items and properties of all parameters, and values of their enums.
        self._inner = 0

    def parameters(self) -> list[JsonObject]:
        root = self._document.root()
        given, others = root.take("properties"), root.take("additionalProperties")
        parts = given.value if given is not None else {}
        if given is None or not _is_properties(parts):
            self._document.refuse("", "the schema has no properties, of which parameters are made")
        if len(parts) > bounds.PARAMETERS:
            text = f"{len(parts)} properties, and a package has at most {bounds.PARAMETERS}"
            self._document.refuse(given.pointer, f"{text} parameters")
        required = self._names(root)
        for name in required.keys() - parts.keys():
            self._document.lose(
                required[name], f"there is no property {shown_name(name)}; left out"
            )
        # An Instance never has parameters that its package does not define.
        if others is not None and not isinstance(others.value, bool) and others.value != {}:
            self._document.lose(
                others.pointer, "what other values are has no counterpart; left out"
            )
        for word in _OF_PACKAGE:
            root.take(word)
        items = [
            self._parameter(name, each, is_required=name in required)
            for name, each in parts.items()
            if not self._is_forbidden(each)
        ]
        self._lose_rest(root)
        return items

    def _parameter(self, name: str, parts: list[Part], *, is_required: bool) -> JsonObject:
        schema = self._document.schema(parts)
        kind, is_nullable = read_type(self._document, schema, 0)
        is_required = self._says_required(schema) or is_required
        texts = {
            "displayName": self._text(schema, "title"),
            "description": self._text(schema, "description"),
            "type": kind,
        }
        hint = self._hint(schema)
        value = self._definition(schema, kind, 0)
        item: JsonObject = {"name": name, **_given(texts), **value.fields}
        default = self._checked(item, kind, value.default, schema.pointer)
        if default is not None:
            item["default"] = default
        elif not is_required or is_nullable:
            item["required"] = False
        elif is_container(kind):
            # Without the field these get null as their default.
            item["required"] = True
        self._lose_rest(schema)
        return item | _given({"hint": hint})

    def _definition(self, schema: Schema, kind: str, depth: int) -> _Value:
        """Take all that a definition says of values of its type; without one, of those of any."""
        document, is_any = self._document, depth > 0 and not kind
        fields: JsonObject = {}
        enum = read_enum(document, schema, kind, depth)
        self._count(schema, len(enum) if depth else 0)
        default = schema.take("default")
        if default is not None and default.value is None:
            default = None
        if enum:
            fields["enum"] = enum
        if is_any or kind in NUMBERS:
            fields |= read_range(document, schema, kind)
        if is_any or kind == "string":
            fields |= read_counts(document, schema, "minLength", "maxLength")
            fields |= read_pattern(document, schema)
        fields |= read_format(document, schema, kind or ("" if is_any else "string"))
        if is_any or kind == "array":
            fields |= read_counts(document, schema, "minItems", "maxItems")
            fields |= self._items(schema, depth)
        if is_any or kind == "map":
            more, defaults = self._properties(schema, depth)
            fields |= more
            if defaults:
                own = {} if default is None else default.value
                place = schema.pointer if default is None else default.pointer
                default = Word(_over(defaults, own), place)
        return _Value(fields, default)

    def _inner_value(self, parts: list[Part], depth: int) -> _Value:
        """Return the definition of an item or a property."""
        schema = self._document.schema(parts)
        self._count(schema, 1)
        kind, is_nullable = read_type(self._document, schema, depth)
        if is_nullable:
            self._document.lose(schema.pointer, "null is no value here; leave the key out instead")
        about = dict.fromkeys([self._text(schema, "title"), self._text(schema, "description")])
        texts = {"type": kind, "description": ": ".join(filter(None, about))}
        fields: JsonObject = {"required": True} if self._says_required(schema) else {}
        value = self._definition(schema, kind, depth)
        self._lose_rest(schema)
        return _Value({**_given(texts), **fields, **value.fields}, value.default)

    def _items(self, schema: Schema, depth: int) -> JsonObject:
        given = schema.take("items")
        if given is None or given.value in (True, {}):
            return {}
        if isinstance(given.value, list) or given.value is False:
            self._document.lose(
                given.pointer, "items by their position have no counterpart; left out"
            )
            return {}
        if depth == bounds.VALUE_DEPTH:
            self._document.lose(given.pointer, _TOO_DEEP)
            return {}
        item = self._inner_value([(given.value, given.pointer)], depth + 1)
        if item.default is not None:
            self._document.lose(item.default.pointer, "an item has no default; left out")
        return {"items": item.fields}

    def _properties(self, schema: Schema, depth: int) -> tuple[JsonObject, dict[str, object]]:
        """Take what is said of keys; return it, and the defaults of properties."""
        words = [schema.words.get(each) for each in ("properties", "required")]
        given, others = schema.take("properties"), schema.take("additionalProperties")
        parts = given.value if given is not None and _is_properties(given.value) else {}
        required = self._names(schema)
        if depth == bounds.VALUE_DEPTH:
            for word in (*words, others):
                if word is not None and word.value not in (True, {}, []):
                    self._document.lose(word.pointer, _TOO_DEEP)
            return {}, {}
        names = dict.fromkeys([*parts, *required])
        if len(names) > bounds.PROPERTIES:
            text = f"{len(names)} properties, and a map defines at most {bounds.PROPERTIES}"
            self._document.refuse(schema.pointer, text)
        fields: JsonObject = {}
        properties: JsonObject = {}
        defaults: dict[str, object] = {}
        for name in names:
            property_ = parts.get(name, [(True, schema.pointer)])
            if self._is_forbidden(property_):
                continue
            value = self._inner_value(property_, depth + 1)
            needed = {"required": True} if name in required else {}
            properties[name] = {**value.fields, **needed}
            if value.default is not None:
                defaults[name] = value.default.value
        if properties:
            fields["properties"] = properties
        if others is not None and others.value is False and properties:
            fields["additionalProperties"] = False
        elif others is not None and others.value not in (True, {}):
            self._document.lose(others.pointer, "what other keys are; they may be anything")
        return fields, defaults

    def _checked(self, item: JsonObject, kind: str, default: Word | None, place: str) -> object:
        """Return the default if the definition of the parameter allows it; else None.

        Raises:
            InvalidInput: the definition allows no value.
        """
        parameter = read(PackageParameter, Fields.of(item, "", PARAMETERS_FILE, []))
        value_bounds = declared(parameter).bounds
        for path, fault in definition_faults(kind, value_bounds) if value_bounds else ():
            self._document.refuse(place, f"{'.'.join(map(str, path))}: {fault}")
        if default is None:
            return None
        value = default.value
        if kind in {"", "string"} and not isinstance(value, dict | list | str):
            value = go_text(value)
        wrong = type_fault(value, kind or "string")
        wrong = wrong or enum_fault(parameter, value) or bounds_fault(parameter, value)
        if wrong:
            self._document.lose(default.pointer, f"the default is not allowed: {wrong}; left out")
        return None if wrong else value

    def _count(self, schema: Schema, more: int) -> None:
        self._inner += more
        if self._inner > bounds.VALUES_IN_ALL:
            text = f"more than {bounds.VALUES_IN_ALL} items, properties and values of enums inside"
            self._document.refuse(schema.pointer, f"{text} parameters; import a smaller schema")

    def _names(self, schema: Schema) -> dict[str, str]:
        """Take the keys that a map must have; return the pointer of the word by key."""
        word = schema.take("required")
        if word is None:
            return {}
        names = word.value if isinstance(word.value, list) else [word.value]
        for name in names:
            if not isinstance(name, str):
                kind = kind_of_value(name)
                self._document.refuse(word.pointer, f"must be a list of names; {kind} is none")
        return dict.fromkeys(names, word.pointer)

    def _says_required(self, schema: Schema) -> bool:
        """Take `required` of a property itself: of draft 3, and of charts of any draft."""
        word = schema.words.get("required")
        if word is None or not isinstance(word.value, bool):
            return False
        del schema.words["required"]
        return word.value

    def _is_forbidden(self, parts: list[Part]) -> bool:
        forbidding = [pointer for value, pointer in parts if value is False]
        for pointer in forbidding:
            self._document.lose(pointer, "false allows no value; left out")
        return bool(forbidding)

    def _text(self, schema: Schema, word: str) -> str:
        given = schema.take(word)
        if given is not None and not isinstance(given.value, str):
            self._document.lose(given.pointer, f"{shown_value(given.value)} is no text; left out")
        return str(given.value).strip() if given and isinstance(given.value, str) else ""

    def _hint(self, schema: Schema) -> str:
        """Take examples."""
        many, one = schema.take("examples"), schema.take("example")
        values = many.value if many is not None and isinstance(many.value, list) else []
        values = values if one is None else [*values, one.value]
        texts = [shown_value(each) for each in values if not isinstance(each, dict | list | None)]
        for word in (many, one):
            if word is not None and len(texts) < len(values):
                self._document.lose(word.pointer, "examples of lists and mappings; left out")
        return f"for example {', '.join(texts)}" if texts else ""

    def _lose_rest(self, schema: Schema) -> None:
        for word, said in schema.words.items():
            text = f"{shown_name(word)} has no counterpart in packages"
            if word in _LEFT_OUT:
                text = f"{_LEFT_OUT[word]} have no counterpart in packages"
            elif word in TYPED_WORDS:
                text = f"{word} is for values of another type"
            self._document.lose(said.pointer, f"{text}; left out")


def _is_properties(value: object) -> TypeGuard[dict[str, list[Part]]]:
    """Return whether a value is that of the word `properties` of a `Schema`, and not empty."""
    return isinstance(value, dict) and bool(value)


def _given(texts: dict[str, str]) -> JsonObject:
    return {key: text for key, text in texts.items() if text}


def _over(defaults: dict[str, object], own: object) -> object:
    """Return a default with those of properties where it has none."""
    if not isinstance(own, dict):
        return own
    merged = {**defaults, **own}
    for key in defaults.keys() & own.keys():
        inner = defaults[key]
        merged[key] = _over(inner, own[key]) if isinstance(inner, dict) else own[key]
    return merged


def _differing(old: PackageParameter, item: JsonObject) -> list[str]:
    """Return the fields in which a parameter of a package is not what a schema says."""
    new = read(PackageParameter, Fields.of(item, "", PARAMETERS_FILE, []))
    before, after = (
        each.model_dump(by_alias=True) | {"default": stored(each, each.default)}
        for each in (old, new)
    )
    return [field for field in item if before[field] != after[field]]
