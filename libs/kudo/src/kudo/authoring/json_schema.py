"""JSON Schemas, drafts 4 to 2020-12: reads a file, and joins all that it says of one value.

References within the file (`$ref`), `allOf`, and alternatives (`anyOf`, `oneOf`) that differ only
in type or in allowed values become words of one `Schema`. What cannot be joined is noted as a
`Loss`.

Files are input of anybody: their bytes, and the schemas looked at, are bounded. A reference counts
each time, since a few that name each other stand for any number of schemas.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeGuard
from urllib.parse import unquote

from kudo.api import bounds
from kudo.api.problems import InvalidInput, Problem, kind_of_value, one_line, shown_name

MOST_BYTES: Final = 4 << 20
"""Bytes of a file."""
MOST_SCHEMAS: Final = 20_000
"""Schemas that are looked at, references included."""
NULLABLE: Final = "nullable"
"""A word of OpenAPI, here also for values that may be null in another way."""

_MOST_LEVELS: Final = 100
"""Mappings and lists inside each other."""
_SHOWN: Final = 300
"""Characters of a pointer in messages."""
_MOST_FOLLOWED: Final = 50
_ALL_OF: Final = "allOf"
_ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples", "example"})
"""What the place that is nearest to the value says best: beside a reference, not behind it."""
_OF_DOCUMENT: Final = frozenset(
    {"$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary"}
)
"""Words about the file, which say nothing of values."""
_TIGHTER: Final = {
    **dict.fromkeys(("minimum", "minLength", "minItems"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems"), min),
}
"""Which of two values of a bound holds for both."""

Part = tuple[object, str]
"""A schema, and its pointer."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a schema says and a parameter cannot.

    Attributes:
        pointer: Where, as a JSON pointer (RFC 6901).
        text: What, and what becomes of it.
    """

    pointer: str
    text: str

    def __str__(self) -> str:
        return f"#{one_line(self.pointer, _SHOWN)}: {self.text}"


@dataclass(frozen=True, slots=True)
class Word:
    """What a schema says with one word.

    Attributes:
        value: That of the word; of `properties`, the `Part`s of each.
        pointer: Where it stands.
    """

    value: object
    pointer: str


@dataclass(slots=True)
class Schema:
    """All that a file says of one value, by word. Who uses a word takes it; the rest is lost.

    Attributes:
        pointer: Where the schema stands that was asked for.
        words: What is not taken yet.
    """

    pointer: str
    words: dict[str, Word] = field(default_factory=dict)

    def take(self, word: str) -> Word | None:
        return self.words.pop(word, None)


class Document:
    """A file with a JSON Schema.

    Attributes:
        name: Of the file, for messages.
        losses: What was lost so far, once each, in the order in which it was found.
    """

    def __init__(self, name: str, content: bytes) -> None:
        """Read a file.

        Raises:
            InvalidInput: it is no JSON, too large, or not a mapping.
        """
        self.name = name
        self.losses: dict[Loss, None] = {}
        self._looked_at = 0
        self._root = self._parsed(content)

    def root(self) -> Schema:
        """Return what the file says of all values together."""
        return self.schema([(self._root, "")])

    def schema(self, parts: list[Part]) -> Schema:
        """Return what the schemas of one value say together.

        Args:
            parts: The schemas, of which the first counts most.

        Raises:
            InvalidInput: one of them, or what it refers to, is none, or there are too many.
        """
        schema = Schema(parts[0][1])
        for value, pointer in parts:
            self._collect(value, pointer, schema.words, ())
        self._choose(schema)
        return schema

    def lose(self, pointer: str, text: str) -> None:
        self.losses[Loss(pointer, text)] = None

    def refuse(self, pointer: str, text: str) -> NoReturn:
        """Raise InvalidInput: the schema cannot be used.

        Raises:
            InvalidInput: always.
        """
        place = f"{self.name}#{one_line(pointer, _SHOWN)}"
        raise InvalidInput([Problem("PackageInvalid", text, place)])

    def _parsed(self, content: bytes) -> object:
        if len(content) > MOST_BYTES:
            text = f"the file has more than {MOST_BYTES} bytes; import a smaller schema"
            raise InvalidInput([Problem("PackageTooLarge", text, self.name)])
        try:
            root = json.loads(
                content, object_pairs_hook=_without_duplicates, parse_constant=_no_number
            )
        except json.JSONDecodeError as error:
            place, fault = f"{self.name}:{error.lineno}", f"column {error.colno}: {error.msg}"
        except RecursionError:
            place, fault = self.name, "mappings and lists are too deep inside each other"
        except ValueError as error:
            # No UTF-8, a key twice, or a number of thousands of digits.
            place, fault = self.name, str(error)
        else:
            if not isinstance(root, dict):
                self.refuse("", f"a JSON Schema is a mapping, not {kind_of_value(root)}")
            level: list[object] = [root]
            for _ in range(_MOST_LEVELS):
                level = [value for each in level for value in _values(each)]
            if level:
                text = f"more than {_MOST_LEVELS} mappings and lists inside each other"
                self.refuse("", f"{text}; import a flatter schema")
            return root
        raise InvalidInput([Problem("PackageInvalid", f"not valid JSON: {fault}", place)])

    def _collect(
        self, value: object, pointer: str, into: dict[str, Word], followed: tuple[str, ...]
    ) -> None:
        """Add the words of a schema, and of those that it refers to, to the ones that are there."""
        if len(followed) > _MOST_FOLLOWED:
            text = f"more than {_MOST_FOLLOWED} references or allOf behind each other; join some"
            self.refuse(pointer, text)
        self._looked_at += 1
        if self._looked_at > MOST_SCHEMAS:
            text = f"more than {MOST_SCHEMAS} schemas, where each reference counts; import a part"
            self.refuse(pointer, text)
        if isinstance(value, bool):
            # True allows everything; what false forbids is said where it stands.
            if not value:
                self.lose(pointer, "false allows no value; left out")
            return
        if not isinstance(value, dict):
            self.refuse(pointer, f"a schema is a mapping, not {kind_of_value(value)}")
        for word, content in value.items():
            if word not in _OF_DOCUMENT | {"$ref", "allOf"}:
                self._join(into, word, self._word(word, content, below(pointer, word)))
        if "$ref" in value:
            self._follow(value["$ref"], below(pointer, "$ref"), into, followed)
        for part, place in self.parts(value.get("allOf", []), below(pointer, "allOf")):
            self._collect(part, place, into, (*followed, _ALL_OF))

    def _word(self, word: str, content: object, pointer: str) -> Word:
        if word != "properties":
            return Word(content, pointer)
        if not isinstance(content, dict):
            self.refuse(pointer, f"must be a mapping, not {kind_of_value(content)}")
        return Word({key: [(each, below(pointer, key))] for key, each in content.items()}, pointer)

    def parts(self, value: object, pointer: str) -> Iterator[Part]:
        """Yield the schemas of a list.

        Raises:
            InvalidInput: it is no list.
        """
        if not isinstance(value, list):
            self.refuse(pointer, f"must be a list, not {kind_of_value(value)}")
        yield from ((part, below(pointer, str(number))) for number, part in enumerate(value))

    def _follow(
        self, reference: object, pointer: str, into: dict[str, Word], followed: tuple[str, ...]
    ) -> None:
        if not isinstance(reference, str):
            self.refuse(pointer, f"must be a text, not {kind_of_value(reference)}")
        if not (reference == "#" or reference.startswith("#/")):
            text = f"{shown_name(reference)} is not a JSON pointer within the file; left out"
            self.lose(pointer, f"{text}: nothing is downloaded")
        elif reference in followed:
            self.lose(pointer, f"{shown_name(reference)} leads back to itself; left out")
        else:
            place = unquote(reference.removeprefix("#"))
            target = self._at(place, pointer)
            self._collect(target, place, into, (*followed, reference))

    def _at(self, place: str, pointer: str) -> object:
        value = self._root
        for key in place.split("/")[1:]:
            name = key.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                self.refuse(pointer, f"there is no #{one_line(place, _SHOWN)} in the file")
        return value

    def _join(self, into: dict[str, Word], word: str, new: Word) -> None:
        """Add a word to those of the same value, which come first."""
        old = into.get(word)
        if old is None:
            into[word] = new
        elif word == "properties":
            assert isinstance(old.value, dict)
            assert isinstance(new.value, dict)
            both = dict(old.value)
            for key, parts in new.value.items():
                both[key] = [*both.get(key, []), *parts]
            if len(both) > bounds.PARAMETERS:
                self.refuse(new.pointer, f"more than {bounds.PARAMETERS} properties")
            into[word] = Word(both, old.pointer)
        elif word == "required" and isinstance(old.value, list) and isinstance(new.value, list):
            more = [name for name in new.value if name not in old.value]
            into[word] = Word([*old.value, *more], old.pointer)
        elif word in _TIGHTER and is_number(old.value) and is_number(new.value):
            tighter = _TIGHTER[word](old.value, new.value)
            into[word] = old if tighter == old.value else new
        elif word not in _ANNOTATIONS and old.value != new.value:
            text = f"{word} stands at #{one_line(old.pointer, _SHOWN)}, too, and only that counts"
            self.lose(new.pointer, text)

    def _choose(self, schema: Schema) -> None:
        """Join alternatives that say only what one schema can say."""
        for word in ("anyOf", "oneOf"):
            given = schema.words.get(word)
            if given is None:
                continue
            choices = []
            for part, place in self.parts(given.value, given.pointer):
                choices.append(dict[str, Word]())
                self._collect(part, place, choices[-1], ())
            real = [each for each in choices if not _is_null(each)]
            joined = _as_one(real)
            if joined is None:
                continue
            del schema.words[word]
            if len(real) < len(choices):
                joined[NULLABLE] = Word(True, given.pointer)
            for name, content in joined.items():
                self._join(schema.words, name, content)


def below(pointer: str, key: str) -> str:
    """Return the pointer of what stands at a key."""
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_null(words: Mapping[str, Word]) -> bool:
    """Return whether an alternative is null and nothing else."""
    said = {word: each.value for word, each in words.items() if word not in _ANNOTATIONS}
    return said in ({"type": "null"}, {"type": ["null"]}, {"const": None}, {"enum": [None]})


def _as_one(choices: list[dict[str, Word]]) -> dict[str, Word] | None:
    """Return alternatives as the words of one schema; None if one cannot say it."""
    if len(choices) == 1:
        return choices[0]
    if not choices:
        return None
    said = [choice.keys() - _ANNOTATIONS for choice in choices]
    pointer = next(iter(choices[0].values())).pointer if choices[0] else ""
    if all(words == {"type"} for words in said):
        types = [each["type"].value for each in choices]
        flat = [name for each in types for name in (each if isinstance(each, list) else [each])]
        return {"type": Word(list(dict.fromkeys(map(str, flat))), pointer)}
    values = [_allowed(choice) for choice in choices]
    types = [choice["type"].value for choice in choices if "type" in choice]
    # One type for all, or none.
    if None in values or any(each != types[0] for each in types):
        return None
    enum = Word([value for each in values for value in each or ()], pointer)
    return {"enum": enum, **({"type": choices[0]["type"]} if len(types) == len(choices) else {})}


def _allowed(choice: Mapping[str, Word]) -> list[object] | None:
    """Return the values that an alternative allows if it says nothing else; None if it does."""
    words = choice.keys() - _ANNOTATIONS - {"type"}
    if words == {"const"}:
        return [choice["const"].value]
    enum = choice["enum"].value if words == {"enum"} else None
    return enum if isinstance(enum, list) else None


def _values(container: object) -> Iterable[object]:
    if isinstance(container, dict):
        return container.values()
    return container if isinstance(container, list) else ()


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f'a mapping has the key "{shown_name(twice)}" twice')
    return values


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")
