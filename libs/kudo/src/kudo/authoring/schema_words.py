"""What single words of a JSON Schema are in packages: types, allowed values, and bounds.

Definitions inside a definition are in `schema_parameters`. A word that has no counterpart is noted
as a loss, and one that is no JSON Schema is refused.
"""

from collections.abc import Mapping
from math import floor, isfinite
from typing import Final

from kudo.api import JsonObject, bounds
from kudo.api.problems import kind_of_value, one_line
from kudo.authoring.json_schema import NULLABLE, Document, Schema, Word, is_number
from kudo.parameters.bounds import pattern_fault
from kudo.parameters.formats import FORMATS
from kudo.parameters.sources import go_text
from kudo.parameters.types import is_container, scalar_fault

NUMBERS: Final = ("integer", "number")

_TYPES: Final = {
    **{name: name for name in ("string", *NUMBERS, "boolean", "array")},
    "object": "map",
}
"""Types of parameters by those of JSON Schema."""
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "minItems", "maxItems"),
    "map": ("properties", "required", "additionalProperties"),
}
"""The words that are for values of a type, by which a type that is not said is guessed."""
TYPED_WORDS: Final = frozenset(word for words in _WORDS.values() for word in words)
_FORMATS: Final = {
    "duration": "is one of ISO 8601 here, and one of Go in packages",
    "password": "is no bound; in packages, secret: true keeps a value out of sight",
    "hostname": "allows upper case, which dns-name does not",
}
"""Why formats of JSON Schema are no formats of packages, where that is not plain."""
_INT64: Final = range(-(2**63), 2**63)
_EXACT: Final = 2**53
"""Below it, every whole number is a float."""
_SHOWN: Final = 60


def shown_value(value: object) -> str:
    """Return a value as messages show it."""
    return one_line(value if isinstance(value, str) else go_text(value), _SHOWN)


def read_type(document: Document, schema: Schema, depth: int) -> tuple[str, bool]:
    """Take the type: as parameters have it, empty for any, and whether null is a value, too.

    Args:
        document: The file.
        schema: Of the value.
        depth: 0 for a parameter, whose type is guessed if none is said.
    """
    word, nullable = schema.take("type"), schema.take(NULLABLE)
    is_nullable = nullable is not None and nullable.value is True
    names = [] if word is None else word.value if isinstance(word.value, list) else [word.value]
    pointer = schema.pointer if word is None else word.pointer
    for name in names:
        if name not in (*_TYPES, "null", "any"):
            types = f"types are {', '.join(_TYPES)} and null"
            document.refuse(pointer, f"{shown_value(name)} is no type; {types}")
    is_nullable = is_nullable or "null" in names
    kinds = [_TYPES[name] for name in names if name in _TYPES]
    if {*NUMBERS} <= {*kinds}:
        kinds.remove("integer")
    if not kinds:
        return ("" if depth else _guess(document, schema)), is_nullable
    if len(kinds) == 1:
        return kinds[0], is_nullable
    what = "any is allowed" if depth else "the parameter is a string"
    document.lose(pointer, f"{' or '.join(kinds)}: a value has one type; {what}")
    # A bound concerns one of the types, and the text of a value of another one would break it.
    for words in _WORDS.values():
        for each in words if not depth else ():
            lost = schema.take(each)
            if lost is not None:
                document.lose(lost.pointer, f"{each} is for one of several types; left out")
    return ("" if depth else "string"), is_nullable


def _guess(document: Document, schema: Schema) -> str:
    """Return the type of a parameter whose schema says none."""
    values = _allowed(document, schema)
    kinds = {_type_of(value) for value in values}
    if values:
        return kinds.pop() if len(kinds) == 1 else "number" if kinds == {*NUMBERS} else "string"
    for kind, words in _WORDS.items():
        said = next((word for word in words if word in schema.words), "")
        if said:
            text = f"no type is said; {kind} is taken, because of {said}"
            document.lose(schema.pointer, text)
            return kind
    default = schema.words.get("default")
    kind = "" if default is None else _type_of(default.value)
    because = f"{kind} is taken, because of its default" if kind else "any text is allowed"
    document.lose(schema.pointer, f"no type is said; {because}")
    return kind


def _type_of(value: object) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return (kinds | {list: "array", dict: "map"}).get(type(value), "")


def read_enum(document: Document, schema: Schema, kind: str, depth: int) -> list[object]:
    """Take the only values allowed; there are none if any value is.

    They are texts in definitions inside a parameter, and values of its type at the parameter.

    Raises:
        InvalidInput: there are more than a package may have.
    """
    values = _allowed(document, schema)
    words = filter(None, (schema.take("const"), schema.take("enum")))
    pointer = next((word.pointer for word in words), "")
    if values and is_container(kind):
        document.lose(pointer, f"values of type {kind} have no enum; left out")
        return []
    most = bounds.VALUE_ENUM if depth else bounds.ENUM
    if len(values) > most:
        document.refuse(pointer, f"{len(values)} values, and an enum has at most {most} here")
    enum: dict[str, object] = {}
    for value in values:
        text = "" if isinstance(value, dict | list) else go_text(value)
        if isinstance(value, dict | list) or scalar_fault(kind, text) is not None:
            document.lose(pointer, f"{shown_value(value)} is not of type {kind}; left out")
        else:
            enum[text] = text if depth or kind not in {*NUMBERS, "boolean"} else value
    return list(enum.values())


def _allowed(document: Document, schema: Schema) -> list[object]:
    """Return the values of `const` or `enum`, without null."""
    const, enum = schema.words.get("const"), schema.words.get("enum")
    if enum is not None and not isinstance(enum.value, list):
        document.refuse(enum.pointer, f"must be a list, not {kind_of_value(enum.value)}")
    values = [const.value] if const is not None else enum.value if enum is not None else []
    assert isinstance(values, list)
    return [value for value in values if value is not None]


def read_range(document: Document, schema: Schema, kind: str) -> JsonObject:
    """Take `minimum` and `maximum`, and those that exclude their number."""
    fields: JsonObject = {}
    for word, exclusive, tighter, sign in (
        ("minimum", "exclusiveMinimum", max, 1),
        ("maximum", "exclusiveMaximum", min, -1),
    ):
        limit, beyond = schema.take(word), schema.take(exclusive)
        if beyond is not None and isinstance(beyond.value, bool):
            # Draft 4: whether the other word excludes its number.
            beyond = Word(limit.value, beyond.pointer) if limit and beyond.value else None
        numbers = [] if limit is None else [_number(document, limit)]
        if beyond is not None:
            number = _number(document, beyond)
            if kind == "integer" and abs(number) < _EXACT:
                number = sign * (floor(sign * number) + 1)
            else:
                document.lose(beyond.pointer, f"{go_text(number)} itself is allowed as well")
            numbers.append(number)
        if numbers:
            fields[word] = tighter(numbers)
    multiple = schema.words.get("multipleOf")
    if kind == "integer" and multiple is not None and multiple.value == 1:
        schema.take("multipleOf")
    return fields


def read_counts(document: Document, schema: Schema, *words: str) -> JsonObject:
    """Take `minLength`, `maxLength`, `minItems` or `maxItems`."""
    fields: JsonObject = {}
    for word in words:
        given = schema.take(word)
        if given is None:
            continue
        number = _number(document, given)
        if number < 0 or number != floor(number) or floor(number) not in _INT64:
            document.refuse(given.pointer, "must be a whole number from 0 on")
        fields[word] = floor(number)
    return fields


def _number(document: Document, word: Word) -> int | float:
    if not is_number(word.value):
        document.refuse(word.pointer, f"must be a number, not {kind_of_value(word.value)}")
    number: int | float = word.value
    try:
        # YAML has no longer integers.
        number = number if isinstance(number, float) or number in _INT64 else float(number)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        document.refuse(word.pointer, "the number is too large")
    return number


def read_pattern(document: Document, schema: Schema) -> JsonObject:
    """Take the pattern, if it is one of RE2, too: those of JSON Schema are of ECMAScript."""
    given = schema.take("pattern")
    if given is None:
        return {}
    if not isinstance(given.value, str):
        document.refuse(given.pointer, f"must be a text, not {kind_of_value(given.value)}")
    fault = pattern_fault(given.value)
    if fault:
        document.lose(given.pointer, f"the pattern cannot be used: {fault}; left out")
    return {} if fault else {"pattern": given.value}


def read_format(document: Document, schema: Schema, kind: str) -> JsonObject:
    """Take the format, if packages have it."""
    given = schema.take("format")
    # Integers have 64 bits anyway.
    if given is None or (kind == "integer" and given.value == "int64"):
        return {}
    name = str(given.value)
    if name in FORMATS and name not in _FORMATS and kind in {"", "string"}:
        return {"format": name}
    why = _FORMATS.get(name, f"is none of {', '.join(FORMATS)}")
    document.lose(given.pointer, f"format {shown_value(name)} {why}; left out")
    return {}
