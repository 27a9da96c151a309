"""Positions in `operator.yaml`, `params.yaml` and other YAML: where a field is written, and how.

`goyaml.load` reads values and forgets where they were written. This reads the nodes of the same
text again, only when a position is needed. The text was read by `goyaml` before, so its size,
nesting and aliases are bounded.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import yaml

from goyaml import NotTextError, decode

_NAME = "name"


@dataclass(frozen=True, slots=True)
class Named:
    """The item of a list whose field `name` has this value.

    Attributes:
        name: The value.
        occurrence: Which of several items of that name, from 0.
    """

    name: str
    occurrence: int = 0

    def __str__(self) -> str:
        return f"[{self.name}]"


PathElement = str | int | Named
Path = tuple[PathElement, ...]
"""From the root of a file: keys of mappings, indexes of lists, and items of lists by name."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text; line and column count from 1."""

    line: int
    column: int

    @classmethod
    def of(cls, node: yaml.Node) -> "Position":
        return cls(node.start_mark.line + 1, node.start_mark.column + 1)

    @classmethod
    def in_text(cls, text: str, offset: int) -> "Position":
        return cls(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A key of a mapping, and its value.

    Attributes:
        path: Of the mapping.
        mapping: The mapping. Two of them have one path if they are values of a key given twice.
        key: The key.
        value: The value.
        shadowed: Whether the same key comes again later in the mapping, and this one is ignored.
    """

    path: Path
    mapping: yaml.MappingNode
    key: yaml.ScalarNode
    value: yaml.Node
    shadowed: bool = False

    @property
    def name(self) -> str:
        return str(self.key.value)


class Source:
    """The nodes of a YAML text; of several documents the first.

    Attributes:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._root = _root(text)

    def position(self, path: Path) -> Position | None:
        """Return where a field or an item begins, or else what is nearest above it."""
        node = nearest = self._root
        for element in path:
            step = _step(node, element)
            if step is None:
                break
            nearest, node = step
        return None if nearest is None else Position.of(nearest)

    def value(self, path: Path) -> yaml.Node | None:
        """Return the node of a value."""
        node = self._root
        for element in path:
            step = _step(node, element)
            if step is None:
                return None
            node = step[1]
        return node

    @cached_property
    def entries(self) -> tuple[SourceEntry, ...]:
        """All entries of all mappings; of a value behind aliases only once."""
        entries: list[SourceEntry] = []
        pending: list[tuple[Path, yaml.Node | None]] = [((), self._root)]
        seen: set[int] = set()
        while pending:
            path, node = pending.pop()
            # Aliases share nodes: walking each of them again could take forever.
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                last = {str(key.value): key for key, _ in node.value}
                entries += [
                    SourceEntry(path, node, key, value, last[str(key.value)] is not key)
                    for key, value in node.value
                    if isinstance(key, yaml.ScalarNode)
                ]
                pending += [((*path, str(key.value)), value) for key, value in node.value[::-1]]
            elif isinstance(node, yaml.SequenceNode):
                pending += reversed([((*path, n), item) for n, item in enumerate(node.value)])
        return tuple(entries)

    def plain(self, node: yaml.Node) -> str | None:
        """Return the text of a scalar that is written without quotes, block and tag."""
        if not isinstance(node, yaml.ScalarNode) or node.style:
            return None
        text = str(node.value)
        # A plain scalar of several lines is folded, so its text is not what stands there.
        start = node.start_mark.index
        return text if text and self.text[start : start + len(text)] == text else None


@lru_cache(maxsize=16)
def source_of(content: bytes) -> Source:
    """Return the nodes of a file; none if it is not text."""
    try:
        return Source(decode(content))
    except NotTextError:
        return Source("")


def _root(text: str) -> yaml.Node | None:
    loader = yaml.CBaseLoader(text)
    try:
        return loader.get_node() if loader.check_node() else None
    except yaml.YAMLError:
        return None


def _step(node: yaml.Node | None, element: PathElement) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the node that begins an element, and its value."""
    if isinstance(element, str):
        return _member(node, element) if isinstance(node, yaml.MappingNode) else None
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    if isinstance(element, Named):
        items = [item for item in items if _name(item) == element.name][element.occurrence :]
        return (items[0], items[0]) if items else None
    return (items[element], items[element]) if element < len(items) else None


def _member(node: yaml.MappingNode, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the last key of that name, as reading takes it; the exact one first."""
    pairs = [pair for pair in node.value if str(pair[0].value).casefold() == name.casefold()]
    exact = [pair for pair in pairs if pair[0].value == name] or pairs
    if not exact:
        return None
    key, value = exact[-1]
    return key, value


def _name(item: yaml.Node) -> str | None:
    if not isinstance(item, yaml.MappingNode):
        return None
    member = _member(item, _NAME)
    return str(member[1].value) if member and isinstance(member[1], yaml.ScalarNode) else None
