"""Checks of the fields of `operator.yaml` and `params.yaml` as they are written.

Reading a package is as lenient as in KUDO 0.19: of a key that comes twice the last one counts,
unknown keys are ignored, and a number without quotes becomes the text that Go makes of it. Here the
author gets to know.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

import yaml

from goyaml import SecondDocument, YamlError, load
from kudo.api.problems import path_text, shown, shown_name
from kudo.packages.fields import Shape, fields_of, text_of
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.packages.model import Package, ParametersFile
from kudo.packages.source import Path, Position, Source, SourceEntry, source_of
from kudo.packages.written import WrittenOperatorFile
from kudo.parameters.sources import go_text
from kudo.verification.finding import Edit, Finding, Place, tolerated, warning

_DESCRIPTIVE: Final = frozenset({"description", "displayName", "hint", "group", "prio", "url"})
"""Fields that people read; what runs does not depend on them."""
_MERGE: Final = "<<"
_WORDS: Final = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
"""Plain scalars that begin with a letter and are no text."""
_EXTENSION: Final = "x-"
"""Begins the names of fields that other programs read."""


_SHAPES: Final[Mapping[str, Shape]] = {
    OPERATOR_FILE: Shape("mapping", model=WrittenOperatorFile),
    PARAMETERS_FILE: Shape("mapping", model=ParametersFile),
}


def keys_are_unique(package: Package) -> Iterator[Finding]:
    """Of a key that comes twice the last one counts, without a word."""
    for file, source in _sources(package):
        seen: dict[tuple[int, str], SourceEntry] = {}
        for entry in source.entries:
            name = entry.name if _shape_at(file, entry.path) is None else entry.name.casefold()
            if entry.name == _MERGE:
                continue
            first = seen.setdefault((id(entry.mapping), name), entry)
            if first is not entry:
                path = shown_name(path_text((*entry.path, entry.name)))
                message = (
                    f'key "{path}" is given twice, first in line {Position.of(first.key).line}; '
                    "only the last one counts"
                )
                same = yaml.serialize(first.value) == yaml.serialize(entry.value)
                make = warning if same or entry.name in _DESCRIPTIVE else tolerated
                yield make(
                    "KeyDuplicate", message, _key(file, entry), "remove or rename one of them"
                )


def documents_are_single(package: Package) -> Iterator[Finding]:
    """Of several documents the first counts, without a word."""
    for file in _SHAPES:
        yield from second_document(package.files.files.get(file, b""), file)


def second_document(text: str | bytes, file: str) -> Iterator[Finding]:
    """Yield the finding of what follows the first document of a text, which is read alone.

    Args:
        text: The text.
        file: Path of the file.
    """
    try:
        load(text, single=True)
    except SecondDocument as fault:
        message = "only the first document of the file is read, and another one follows"
        line = 0 if isinstance(text, str) else fault.line
        yield warning("DocumentIgnored", message, Place(file, line=line), "remove one of them")
    except YamlError:  # which another check reports
        return


def fields_are_known(package: Package) -> Iterator[Finding]:
    """A misspelt field is an error if what runs depends on the field that is meant."""
    for file, source in _sources(package):
        siblings: dict[int, set[str]] = {}
        for entry in source.entries:
            siblings.setdefault(id(entry.mapping), set()).add(entry.name)
        for entry in source.entries:
            shape = _shape_at(file, entry.path)
            if shape is None or shape.model is None:
                continue
            if entry.name == _MERGE or entry.name.startswith(_EXTENSION):
                continue
            fields = [field.name for field in fields_of(shape.model)]
            if entry.name.casefold() not in map(str.casefold, fields):
                plain = bool(source.plain(entry.key))
                # A field that is there is not the one that is meant.
                missing = [field for field in fields if field not in siblings[id(entry.mapping)]]
                close = get_close_matches(entry.name, missing, n=1, cutoff=0.7)
                meant = close[0] if close else ""
                yield _unknown(file, entry, meant, fields, plain=plain)


def _unknown(
    file: str, entry: SourceEntry, meant: str, fields: list[str], *, plain: bool
) -> Finding:
    name = path_text((*entry.path, entry.name))
    message = f'field "{shown_name(name)}" is unknown and is ignored'
    place = _key(file, entry)
    if not meant:
        suggestion = f"known fields are {', '.join(fields)}"
        return warning("FieldUnknown", message, place, suggestion)
    start = entry.key.start_mark.index
    summary = f'renamed field "{shown_name(entry.name)}" to "{meant}"'
    edit = Edit(file, start, start + len(entry.name), meant, summary) if plain else None
    make = warning if meant in _DESCRIPTIVE else tolerated
    return make("FieldUnknown", message, place, f'did you mean "{meant}"?', edit)


def texts_keep_their_spelling(package: Package) -> Iterator[Finding]:
    """`0.10` without quotes is the number 0.1, and `on` is true."""
    for file, source in _sources(package):
        for path, node, descriptive in _texts(file, source):
            written = source.plain(node)
            plain_value = None if written is None else _value(written)
            if written is None or plain_value is None:
                continue
            value = text_of(plain_value)
            if value is None or value == written:
                continue
            edit = Edit(
                file,
                node.start_mark.index,
                node.start_mark.index + len(written),
                f'"{written}"',
                f'put quotes around "{written}"',
            )
            message = f"{shown(written)} is read as {shown(value)}"
            make = warning if descriptive else tolerated
            suggestion = f'put quotes around it: "{shown(written)}"'
            yield make("TextUnquoted", message, _at(file, path, node), suggestion, edit)


def _texts(file: str, source: Source) -> Iterator[tuple[Path, yaml.Node, bool]]:
    """Yield path and node of the values that become text, and whether people alone read them."""
    for entry in source.entries:
        shape = _shape_at(file, entry.path)
        if shape is None:
            continue
        path = (*entry.path, entry.name)
        if shape.kind == "map":
            yield path, entry.key, False
            continue
        below = _below(shape, entry.name)
        if below is None:
            continue
        if below.kind == "text":
            yield path, entry.value, entry.name in _DESCRIPTIVE
        elif (
            below.kind == "list"
            and below.below is not None
            and below.below.kind == "text"
            and isinstance(entry.value, yaml.SequenceNode)
        ):
            yield from (((*path, n), item, False) for n, item in enumerate(entry.value.value))


def _value(written: str) -> object:
    """Return the value of a plain scalar; None if it has none."""
    if written[0].isalpha() and written.casefold() not in _WORDS:
        return written
    try:
        return load(written)
    except YamlError:
        return None


def defaults_keep_their_spelling(package: Package) -> Iterator[Finding]:
    """A default may be meant as a number or a boolean, so it is only warned of."""
    source = source_of(package.files.files.get(PARAMETERS_FILE, b""))
    for number, parameter in enumerate(package.parameters):
        if parameter.type not in {"", "string"}:
            continue
        path = ("parameters", number, "default")
        node = source.value(path)
        written = None if node is None else source.plain(node)
        value = None if written is None else _value(written)
        if node is None or written is None or value is None or go_text(value) == written:
            continue
        message = (
            f'the default of parameter "{parameter.name}" is written {shown(written)} and read as '
            f"{shown(go_text(value))}"
        )
        suggestion = f'put quotes around it if "{shown(written)}" is meant'
        yield warning("DefaultUnquoted", message, _at(PARAMETERS_FILE, path, node), suggestion)


def _sources(package: Package) -> Iterator[tuple[str, Source]]:
    for file in _SHAPES:
        yield file, source_of(package.files.files.get(file, b""))


def _shape_at(file: str, path: tuple[object, ...]) -> Shape | None:
    """Return what may stand at a path of a file; None where anything may."""
    shape: Shape | None = _SHAPES[file]
    for element in path:
        if shape is None:
            return None
        shape = _below(shape, element)
    return shape if shape is not None and shape.kind in {"mapping", "map"} else None


def _below(shape: Shape, element: object) -> Shape | None:
    """Return what may stand below a key of a mapping, or a position of a list."""
    if isinstance(element, int) or shape.kind == "map":
        return shape.below
    if shape.model is None or not isinstance(element, str):
        return None
    named = {field.name.casefold(): field.shape for field in fields_of(shape.model)}
    return named.get(element.casefold())


def _key(file: str, entry: SourceEntry) -> Place:
    return _at(file, (*entry.path, entry.name), entry.key)


def _at(file: str, path: Path, node: yaml.Node) -> Place:
    position = Position.of(node)
    return Place(file, path, position.line, position.column)
