"""Reading YAML as `sigs.k8s.io/yaml` v1.2.0 on go-yaml v2.3.0 does, into plain Python values.

The scanner is libyaml's, through PyYAML; what its events mean is decided here, because PyYAML's
own resolver and constructors follow other rules. The text may come from anybody, so nesting,
aliases and sizes are bounded while reading, without recursion, and no tag ever makes an object.

Every mapping and list in a result is its own: values behind aliases are copies.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import yaml
from yaml import events as ev

from goyaml.limits import CALL_NODES, DEFAULT_LIMITS, Budget, Limits
from goyaml.scalars import Scalar, format_float, is_timestamp, resolve, spelled
from goyaml.text import BYTE_ORDER_MARK, NotTextError, decode, with_whole_characters

_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = "<<"
_TYPED: Final = frozenset({"bool", "int", "float", "null", "timestamp"})
_SHOWN: Final = 100  # characters of a value in a message
_DIRECTIVE: Final = re.compile(r"(?:\A|[\n\r\x85\u2028\u2029])%TAG")
_MARK: Final = re.compile(rf"\s*{BYTE_ORDER_MARK}")
_NO_START: Final = "did not find expected <document start>"
_KINDS: Final = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}


class YamlError(ValueError):
    """The text is not YAML, or exceeds a limit.

    Attributes:
        message: What is wrong, without the place.
        line: Line of the place, counted from 1.
        column: Column of the place, counted from 1.
        limit: Name of the exceeded field of `Limits`, else "".
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, *, limit: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column
        self.limit = limit


class SecondDocument(YamlError):
    """The text has more than the one document that is read."""


def load(
    text: str | bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    budget: Budget | None = None,
    spelling: bool = False,
    single: bool = False,
) -> object:
    """Return the value of the first document of `text`; None where there is none.

    The result consists of dict (string keys only), list, str, int, float, bool and None; floats are
    finite. Of keys given twice the last one counts.

    Args:
        text: The YAML.
        limits: What this call may cost.
        budget: What this call may cost together with others; then `limits` does not count.
        spelling: Whether floats remember how they are spelled: `0.10` is written as `0.10` again.
        single: Whether all of `text` is read, and a further document is an error unless it is
            empty. Otherwise further documents are ignored.

    Raises:
        YamlError: the text is not YAML, has a null or composite key, an infinity or NaN, or
            exceeds the limits.
        SecondDocument: there is another document, or something else behind the first one.
    """
    if budget is None:
        budget = Budget(limits)
    else:
        budget.nodes += CALL_NODES
    documents = _documents(text, budget, spelling=spelling)
    first = next(documents, None)
    if first is not None and single:
        for other in documents:
            if other.value is not None:
                message = "a second document begins here, and only one is read"
                raise SecondDocument(message, other.line)
    return None if first is None else first.value


def load_all(text: str | bytes, *, limits: Limits = DEFAULT_LIMITS) -> list[object]:
    """Return the values of all documents of `text`; see `load`.

    Raises:
        YamlError: as for `load`, wherever in the text.
    """
    return [document.value for document in _documents(text, Budget(limits))]


@dataclass(frozen=True, slots=True)
class _Document:
    """The value of a document, and the line in which it begins, from 1."""

    value: object
    line: int


def _documents(text: str | bytes, budget: Budget, *, spelling: bool = False) -> Iterator[_Document]:
    budget.size += len(text)
    if budget.size > budget.limits.size:
        message = f"the text is longer than {budget.limits.size} characters"
        raise YamlError(message, limit="size")
    text = _normalized(text)
    # Counted before the scanner starts, since nothing can interrupt it.
    if "%TAG" in text:
        budget.directives += sum(1 for _ in _DIRECTIVE.finditer(text))
    if budget.directives > budget.limits.directives:
        message = f"more than {budget.limits.directives} %TAG directives"
        raise YamlError(message, limit="directives")
    try:
        yield from _Reader(yaml.CBaseLoader(text), budget, spelling).documents()
    except yaml.MarkedYAMLError as error:
        raise _located(error) from error
    except yaml.reader.ReaderError as error:
        # The position counts bytes of the text as UTF-8.
        before = text.encode()[: error.position].decode(errors="replace")
        column = len(before) - before.rfind("\n")
        raise YamlError(error.reason, before.count("\n") + 1, column) from error
    except UnicodeError as error:
        raise YamlError("the text is not valid Unicode") from error


def _normalized(text: str | bytes) -> str:
    """Return a text without its byte order mark, and with escapes of JSON that YAML lacks."""
    if isinstance(text, bytes):
        try:
            text = decode(text)
        except NotTextError as error:
            raise YamlError(error.reason, error.line, error.column) from error
    mark = _MARK.match(text)
    if mark:  # libyaml skips one, but not after the line break before a document
        text = text[: mark.end() - 1] + text[mark.end() :]
    return with_whole_characters(text)


def _located(error: yaml.MarkedYAMLError) -> YamlError:
    mark = error.problem_mark or error.context_mark
    message = ", ".join(part for part in (error.context, error.problem) if part)
    if mark is None:
        return YamlError(message)
    if error.problem == _NO_START:
        message = "something follows the end of the document; begin another one with ---"
        return SecondDocument(message, mark.line + 1, mark.column + 1)
    return YamlError(message, mark.line + 1, mark.column + 1)


class _Events(Protocol):
    def get_event(self) -> ev.Event | None: ...


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is being read."""

    container: dict[str, object] | list[object]
    anchor: str | None
    nodes: int
    """Nodes counted before it began."""
    size: int
    """Characters of scalars counted before it began."""
    height: int = 0
    """Levels below it, aliases followed."""
    key: str | None = None
    """The key whose value comes next."""
    merging: bool = False
    """Whether the value that comes next is to be merged into the mapping."""


@dataclass(frozen=True, slots=True)
class _Anchored:
    """The value of an anchor, and what repeating it costs."""

    value: object
    nodes: int = 1
    size: int = 0
    height: int = 0


@dataclass(slots=True)
class _Reader:
    """Builds values from parser events with a stack of its own."""

    parser: _Events
    budget: Budget
    spelling: bool = False
    """Whether floats remember how they are spelled."""
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, _Anchored | None] = field(default_factory=dict)
    """By name; None while the anchored value is still being read."""
    size: int = 0
    """Characters of the scalars, aliases followed."""
    root: object = None
    line: int = 1

    def documents(self) -> Iterator[_Document]:
        while (event := self.parser.get_event()) is not None:
            match event:
                case ev.ScalarEvent():
                    self._scalar(event)
                case ev.MappingStartEvent():
                    self._open({}, event)
                case ev.SequenceStartEvent():
                    self._open([], event)
                case ev.MappingEndEvent() | ev.SequenceEndEvent():
                    self._close(event)
                case ev.AliasEvent():
                    self._alias(event)
                case ev.DocumentStartEvent():
                    self.anchors.clear()
                    self.root = None
                    self.line = event.start_mark.line + 1 if event.start_mark else 1
                case ev.DocumentEndEvent():
                    yield _Document(self.root, self.line)

    def _scalar(self, event: ev.ScalarEvent) -> None:
        self._count(1, len(event.value), event)
        value = _value(event, key=self._expects_key())
        if self.spelling and isinstance(value, float) and not self._expects_key():
            value = spelled(value, event.value)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, size=len(event.value))
        # With quotes or another tag, `<<` is a key like any other.
        merges = event.tag == _TAG + "merge" or (event.tag is None and event.implicit[0])
        if event.value == _MERGE and self._expects_key() and merges:
            self.stack[-1].merging = True
        else:
            self._add(value, event)

    def _open(
        self,
        container: dict[str, object] | list[object],
        event: ev.MappingStartEvent | ev.SequenceStartEvent,
    ) -> None:
        if self._expects_key():
            raise _error("a mapping or sequence cannot be a key", event)
        self._check_depth(len(self.stack) + 1, event)
        frame = _Frame(container, event.anchor, self.budget.nodes, self.size)
        self._count(1, 0, event)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(frame)

    def _close(self, event: ev.Event) -> None:
        frame = self.stack.pop()
        height = frame.height + 1
        if frame.anchor is not None:
            self.anchors[frame.anchor] = _Anchored(
                frame.container, self.budget.nodes - frame.nodes, self.size - frame.size, height
            )
        self._raise_to(height)
        self._add(frame.container, event)

    def _alias(self, event: ev.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise _error(f"unknown anchor '{_shown(event.anchor or '')}' referenced", event)
        target = self.anchors[event.anchor]
        if target is None:
            raise _error(f"anchor '{_shown(event.anchor or '')}' value contains itself", event)
        self._check_depth(len(self.stack) + target.height, event)
        # Values behind aliases are copied, so nine lines of nested aliases could fill the memory.
        self.budget.aliased += target.nodes + target.size
        if self.budget.aliased > self.budget.limits.aliased:
            raise _error("document contains excessive aliasing", event, limit="aliased")
        self._count(target.nodes, target.size, event)
        self._raise_to(target.height)
        self._add(_copy(target.value), event)

    def _add(self, value: object, event: ev.Event) -> None:
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        container = frame.container
        if isinstance(container, list):
            container.append(value)
        elif frame.merging:
            frame.merging = False
            # As in go-yaml: over keys that came before, and the first of several maps wins.
            sources = value if isinstance(value, list) else [value]
            for source in reversed(sources):
                if not isinstance(source, dict):
                    message = "map merge requires map or sequence of maps as the value"
                    raise _error(message, event)
                container.update(source)
        elif frame.key is None:
            frame.key = _key(value, event)
        else:
            container[frame.key] = value
            frame.key = None

    def _expects_key(self) -> bool:
        if not self.stack:
            return False
        frame = self.stack[-1]
        return isinstance(frame.container, dict) and frame.key is None and not frame.merging

    def _raise_to(self, height: int) -> None:
        if self.stack:
            self.stack[-1].height = max(self.stack[-1].height, height)

    def _count(self, nodes: int, size: int, event: ev.Event) -> None:
        self.size += size
        budget = self.budget
        budget.nodes += nodes
        if budget.nodes > budget.limits.nodes:
            raise _error(f"more than {budget.limits.nodes} values", event, limit="nodes")

    def _check_depth(self, depth: int, event: ev.Event) -> None:
        most = self.budget.limits.depth
        if depth > most:
            raise _error(f"nested deeper than {most} levels", event, limit="depth")


def _error(message: str, event: ev.Event, *, limit: str = "") -> YamlError:
    mark = event.start_mark
    assert mark is not None
    return YamlError(message, mark.line + 1, mark.column + 1, limit=limit)


def _shown(text: str) -> str:
    """Truncate a value for an error message, which must not repeat a megabyte."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _value(event: ev.ScalarEvent, *, key: bool) -> Scalar:
    if event.tag is not None:
        value = _tagged(event, event.tag)
    elif event.implicit[0]:
        value = resolve(event.value)
    else:
        return event.value
    if isinstance(value, float) and not (key or math.isfinite(value)):
        raise _error(f"unsupported value: {_shown(event.value)}", event)
    return value


def _tagged(event: ev.ScalarEvent, tag: str) -> Scalar:
    """Return the value of a scalar with a tag; tags that mean nothing here are dropped."""
    text = event.value
    expected = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if expected == "binary":
        lines = text.replace("\n", "").replace("\r", "")
        try:
            return base64.b64decode(lines, validate=True).decode(errors="replace")
        except binascii.Error as error:
            raise _error("!!binary value contains invalid base64 data", event) from error
    if expected not in _TYPED:
        return text
    value = resolve(text)
    if expected == "timestamp" and is_timestamp(text):
        return text
    if expected == "float" and type(value) is int:
        return float(value)
    actual = _KINDS[type(value)]
    if expected != actual:
        raise _error(f"cannot decode !!{actual} `{_shown(text)}` as a !!{expected}", event)
    return value


def _key(value: object, event: ev.Event) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            text = format_float(value, bits=32)
            return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)
        case None:
            raise _error("null cannot be a key", event)
    raise _error("a mapping or sequence cannot be a key", event)


def _copy(value: object) -> object:
    match value:
        case dict():
            return {key: _copy(item) for key, item in value.items()}
        case list():
            return [_copy(item) for item in value]
    return value
