"""Adds an item to a list or a mapping in a YAML file, and checks a package before it is changed.

Text is inserted, and everything else in the file stays as it is written: comments, order,
indentation, quotes. The result is read again and compared, so a file that is written in a way that
is not understood here is refused, and never damaged.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from goyaml import YamlError, load
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE, PackageFiles
from kudo.packages.location import FolderLocation, Located
from kudo.packages.readable_yaml import WIDTH, ReadableDumper, escaped
from kudo.packages.reader import open_package, parse_package
from kudo.verification import verify, verify_dependencies


@dataclass(frozen=True, slots=True)
class Addition:
    """What is added to a file.

    Attributes:
        key: Of the list or mapping.
        value: The item.
        more: Items of a list behind it.
        name: Its key, if `key` is a mapping; empty if it is a list.
        path: Where the mapping with that key stands: keys and positions in lists from the top of
            the file; empty for the top.
    """

    key: str
    value: object
    name: str = ""
    path: tuple[str | int, ...] = ()
    more: tuple[object, ...] = ()

    @property
    def place(self) -> str:
        """The list or mapping, for messages: `tasks[0].spec.resources`."""
        parts = (
            f"[{element}]" if isinstance(element, int) else f".{element}" for element in self.path
        )
        return "".join((*parts, f".{self.key}")).removeprefix(".")


def added(file: str, text: str, addition: Addition) -> str:
    """Return the text of a file with the items, behind those that it has.

    Raises:
        InvalidInput: the file is not YAML, or is written in a way that cannot be changed here.
    """
    before = _read(file, text)
    expected = _expected_within(file, before, addition.path, addition)
    try:
        result = _Text(text).with_item(addition)
        if load(result) == expected:
            return result
    except (YamlError, yaml.YAMLError):
        # Written in a way that is not understood here.
        pass
    message = (
        f"nothing can be added to {addition.place} without changing how the file is written; add "
        f"this by hand:\n{_block(_whole(addition))}"
    )
    raise InvalidInput([Problem("PackageInvalid", message.rstrip("\n"), file)])


def _whole(addition: Addition) -> object:
    return {addition.key: _item(addition)}


def _read(file: str, text: str) -> dict[str, object]:
    try:
        content = load(text)
    except YamlError as error:
        problem = Problem(
            "PackageInvalid", f"not valid YAML: {error.message}", f"{file}:{error.line}"
        )
        raise InvalidInput([problem]) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InvalidInput([Problem("PackageInvalid", "the file must be a mapping", file)])
    return content


def _expected_within(
    file: str, value: object, path: tuple[str | int, ...], addition: Addition
) -> object:
    """Return a value of the file as it is with the item."""
    if not path:
        return _expected(file, value if isinstance(value, dict) else {}, addition)
    first, below = path[0], path[1:]
    if isinstance(first, int) and isinstance(value, list) and first < len(value):
        changed = _expected_within(file, value[first], below, addition)
        return [*value[:first], changed, *value[first + 1 :]]
    if isinstance(first, str) and isinstance(value, dict):
        key = _same(first, value)
        return {**value, key: _expected_within(file, value.get(key), below, addition)}
    raise InvalidInput([Problem("PackageInvalid", f"there is no {addition.place}", file)])


def _same(key: str, keys: Iterable[str]) -> str:
    """Return the key of the file that means the same, whatever its case."""
    return next((each for each in keys if each.casefold() == key.casefold()), key)


def _expected(file: str, before: dict[str, object], addition: Addition) -> dict[str, object]:
    key = _same(addition.key, before)
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
    return {**before, key: [*(old or []), addition.value, *addition.more]}


class _Text:
    """The text of a file, and where its nodes stand in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Of a file with several documents only the first is read, as packages are.
        loader = yaml.CBaseLoader(text)
        self._root = loader.get_node() if loader.check_node() else None

    def with_item(self, addition: Addition) -> str:
        """Return the text with the item.

        Raises:
            YamlError: the mapping that it belongs to is not written out in this place.
        """
        if addition.path:
            entry = self._within(addition)
            if entry is None:
                raise YamlError(f"there is no {addition.place}")
            return self._in_value(*entry, addition)
        if not isinstance(self._root, yaml.MappingNode):
            return self._at_end(_block(_whole(addition)), 0)
        entry = _entry(self._root, addition.key)
        if entry is not None:
            return self._in_value(*entry, addition)
        return self._at_end(_block(_whole(addition)), self._root.start_mark.column)

    def _within(self, addition: Addition) -> tuple[yaml.Node, yaml.Node] | None:
        node = self._root
        for element in addition.path:
            if isinstance(element, int):
                items = node.value if isinstance(node, yaml.SequenceNode) else []
                node = items[element] if element < len(items) else None
            else:
                entry = _entry(node, element)
                node = entry[1] if entry is not None else None
        return _entry(node, addition.key)

    def _at_end(self, block: str, column: int) -> str:
        gap = "" if not self._text or self._text.endswith("\n") else "\n"
        return f"{self._text}{gap}{_indented(block, column)}"

    def _in_value(self, key: yaml.Node, value: yaml.Node, addition: Addition) -> str:
        if not isinstance(value, yaml.CollectionNode) or not value.value:
            return self._in_empty(key, value, addition)
        if value.flow_style:
            closing = value.end_mark.index - 1
            kept = self._text[:closing].rstrip()
            comma = " " if kept.endswith(",") else ", "
            item = _dumped(_item(addition), flow=True).strip()[1:-1]
            return f"{kept}{comma}{item}{self._text[closing:]}"
        position = self._line_end(self._end(value))
        block = _indented(_block(_item(addition)), value.start_mark.column)
        before = self._text[:position]
        gap = "" if before.endswith("\n") else "\n"
        return f"{before}{gap}{block}{self._text[position:]}"

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
        end = self._text.find("\n", position)
        return len(self._text) if end < 0 else end + 1


def _entry(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return key and value of the entry of a mapping that counts: of duplicates the last."""
    for name, value in reversed(node.value) if isinstance(node, yaml.MappingNode) else ():
        if str(name.value).casefold() == key.casefold():
            return name, value
    return None


def _item(addition: Addition) -> object:
    return {addition.name: addition.value} if addition.name else [addition.value, *addition.more]


def _indented(block: str, column: int) -> str:
    blanks = " " * column
    return "".join(f"{blanks}{line}" if line.strip() else line for line in block.splitlines(True))


class _Dumper(ReadableDumper):
    """Writes lists with more indentation than their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _block(value: object) -> str:
    return _dumped(value, flow=False)


def _dumped(value: object, *, flow: bool) -> str:
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=flow,
        sort_keys=False,
        allow_unicode=True,
        width=WIDTH,
    )
    return escaped(text)


def files_of(folder: Path) -> PackageFiles:
    """Return the files of a package that may be incomplete.

    Raises:
        InvalidInput: files are unsafe or too large to read.
    """
    if not folder.exists():
        return PackageFiles(str(folder), {})
    return open_package(folder)


def check_change(folder: Path, before: PackageFiles, changes: Mapping[str, str]) -> None:
    """Verify a package with some of its files changed.

    Args:
        folder: The folder of the package.
        before: Its files as they are.
        changes: New texts by the path of the file.

    Raises:
        InvalidInput: the change brings errors that the package does not have now.
    """
    contents = {path: text.encode() for path, text in changes.items()}
    after = replace(before, files={**before.files, **contents})
    # Errors that the package has now are no reason to refuse: a package grows step by step.
    before_errors = set[tuple[str, str, str]]()
    if {OPERATOR_FILE, PARAMETERS_FILE} <= before.files.keys():
        before_errors = {_key(problem) for problem in _errors(folder, before)}
    problems = [problem for problem in _errors(folder, after) if _key(problem) not in before_errors]
    if problems:
        raise InvalidInput(problems)


def _errors(folder: Path, files: PackageFiles) -> Iterable[Problem]:
    package = parse_package(files)
    located = Located(package, FolderLocation(folder.absolute()))
    findings = (*verify(package), *verify_dependencies(located))
    return [finding.problem for finding in findings if finding.is_error]


def _key(problem: Problem) -> tuple[str, str, str]:
    return problem.reason, problem.message, problem.field
