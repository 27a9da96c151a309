"""Adds an item to a list or a mapping at the top of a YAML file, by inserting text.

Everything else in the file stays as it is written: comments, order, indentation, quotes. The result
is read again and compared, so a file that is written in a way that is not understood here is
refused, and never damaged.
"""

from dataclasses import dataclass

import yaml

from goyaml import YamlError, load
from kudo.problems import InvalidInput, Problem
from kudo.readable_yaml import WIDTH, ReadableDumper


@dataclass(frozen=True, slots=True)
class Addition:
    """What is added to a file.

    Attributes:
        key: Of the list or mapping at the top of the file.
        value: The item.
        name: Its key, if `key` is a mapping; empty if it is a list.
    """

    key: str
    value: object
    name: str = ""


def added(file: str, text: str, addition: Addition) -> str:
    """Return the text of a file with one item more, behind those that it has.

    Raises:
        InvalidInput: the file is not YAML, or is written in a way that cannot be changed here.
    """
    before = _read(file, text)
    expected = _expected(file, before, addition)
    try:
        result = _Text(text).with_item(addition)
        if load(result) == expected:
            return result
    except (YamlError, yaml.YAMLError):
        pass
    message = (
        f"nothing can be added to {addition.key} without changing how the file is written; add "
        f"this by hand:\n{_block(_whole(addition))}"
    )
    raise InvalidInput([Problem("PackageInvalid", message.rstrip("\n"), file)])


def _whole(addition: Addition) -> object:
    item = {addition.name: addition.value} if addition.name else [addition.value]
    return {addition.key: item}


def _read(file: str, text: str) -> dict[str, object]:
    try:
        found = load(text)
    except YamlError as error:
        problem = Problem(
            "PackageInvalid", f"not valid YAML: {error.message}", f"{file}:{error.line}"
        )
        raise InvalidInput([problem]) from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInput([Problem("PackageInvalid", "the file must be a mapping", file)])
    return found


def _expected(file: str, before: dict[str, object], addition: Addition) -> dict[str, object]:
    key = next((one for one in before if one.casefold() == addition.key.casefold()), addition.key)
    old = before.get(key)
    if addition.name:
        if old is not None and not isinstance(old, dict):
            raise InvalidInput([Problem("PackageInvalid", f"{key} must be a mapping", file)])
        if old and addition.name in old:
            message = f'{key} has "{addition.name}" already'
            raise InvalidInput([Problem("NameDuplicate", message, file)])
        return {**before, key: {**(old or {}), addition.name: addition.value}}
    if old is not None and not isinstance(old, list):
        raise InvalidInput([Problem("PackageInvalid", f"{key} must be a list", file)])
    return {**before, key: [*(old or []), addition.value]}


class _Text:
    """The text of a file, and where its nodes stand in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Of a file with several documents only the first is read, as packages are.
        loader = yaml.CBaseLoader(text)
        self._root = loader.get_node() if loader.check_node() else None

    def with_item(self, addition: Addition) -> str:
        if not isinstance(self._root, yaml.MappingNode):
            return self._at_end(_block(_whole(addition)), 0)
        for key, value in reversed(self._root.value):
            if str(key.value).casefold() == addition.key.casefold():
                return self._in_value(key, value, addition)
        return self._at_end(_block(_whole(addition)), self._root.start_mark.column)

    def _at_end(self, block: str, column: int) -> str:
        gap = "" if not self._text or self._text.endswith("\n") else "\n"
        return f"{self._text}{gap}{_indented(block, column)}"

    def _in_value(self, key: yaml.Node, value: yaml.Node, addition: Addition) -> str:
        if not isinstance(value, yaml.CollectionNode) or not value.value:
            return self._in_empty(key, value, addition)
        if value.flow_style:
            return self._in_flow(value, addition)
        position = self._line_end(self._end(value))
        block = _block(_item(addition))
        return self._inserted(position, _indented(block, value.start_mark.column))

    def _in_empty(self, key: yaml.Node, value: yaml.Node, addition: Addition) -> str:
        """Put the first item below the line of the key; a comment on that line stays."""
        start, end = value.start_mark.index, value.end_mark.index
        block = _indented(_block(_item(addition)), key.start_mark.column + 2)
        position = self._line_end(max(key.end_mark.index, end if value.value or end > start else 0))
        if end > start:
            kept = self._text[:start].rstrip(" ") + self._text[end:position]
        else:
            kept = self._text[:position]
        gap = "" if kept.endswith("\n") else "\n"
        return f"{kept}{gap}{block}{self._text[position:]}"

    def _in_flow(self, value: yaml.Node, addition: Addition) -> str:
        closing = value.end_mark.index - 1
        kept = self._text[:closing].rstrip()
        comma = " " if kept.endswith(",") else ", "
        return f"{kept}{comma}{_flow(_item(addition))[1:-1]}{self._text[closing:]}"

    def _inserted(self, position: int, block: str) -> str:
        before = self._text[:position]
        gap = "" if before.endswith("\n") else "\n"
        return f"{before}{gap}{block}{self._text[position:]}"

    def _end(self, node: yaml.Node) -> int:
        """Return where the text of a node ends; marks of block nodes are those of what follows."""
        if isinstance(node, yaml.ScalarNode):
            if node.style in {"|", ">"}:
                return len(self._text[: node.end_mark.index].rstrip())
            return int(node.end_mark.index)
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        if not isinstance(last, tuple):
            return self._end(last)
        key, value = last
        return max(self._end(key), self._end(value) if value.value else 0)

    def _line_end(self, position: int) -> int:
        """Return the beginning of the next line."""
        found = self._text.find("\n", position)
        return len(self._text) if found < 0 else found + 1


def _item(addition: Addition) -> object:
    return {addition.name: addition.value} if addition.name else [addition.value]


def _indented(block: str, column: int) -> str:
    blanks = " " * column
    return "".join(f"{blanks}{line}" if line.strip() else line for line in block.splitlines(True))


class _Dumper(ReadableDumper):
    """Writes lists with more indentation than their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _block(value: object) -> str:
    return _dumped(value, flow=False)


def _flow(value: object) -> str:
    return _dumped(value, flow=True).strip()


def _dumped(value: object, *, flow: bool) -> str:
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=flow,
        sort_keys=False,
        allow_unicode=True,
        width=WIDTH,
    )
    return text
