"""Reads YAML documents of a suite within its limits, with the line of each field.

`goyaml` reads the values; it also bounds the text before PyYAML composes the nodes that know
positions. `.gotmpl.yaml` files are rendered first.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import yaml

import goyaml
from gotemplate import Environment, TemplateError
from kudo.api.problems import shown_name
from kudo.tasks.template_lines import template_lines
from kudo_harness.findings import Findings, Place


@dataclass(frozen=True, slots=True)
class SuiteLimits:
    """How much a suite may hold.

    Attributes:
        cases: Cases in all test directories together.
        entries: Entries of one folder.
        file_size: Bytes of one file; the largest CRDs have about 1 MiB.
        total_size: Bytes of all files that are read.
        documents: YAML documents of one file.
        items: Items of one list of the harness's own kinds, such as commands.
        text: Characters of one text of the harness's own kinds, such as a script.
        yaml: Of one file, and of what a template renders.
    """

    cases: int = 1_000
    entries: int = 2_000
    file_size: int = 4 * 1024 * 1024
    total_size: int = 64 * 1024 * 1024
    documents: int = 500
    items: int = 500
    text: int = 64 * 1024
    yaml: goyaml.Limits = field(
        default_factory=lambda: goyaml.Limits(size=4 * 1024 * 1024, depth=60)
    )


DEFAULT_LIMITS: Final = SuiteLimits()


JsonObject = dict[str, object]
PathElement = str | int
Path = tuple[PathElement, ...]
"""From the root of a document: keys of mappings and indexes of lists."""

SourceLine = Callable[[int], int]
"""The line of a file that a line of a rendered template comes from."""

_Pair = tuple[yaml.Node, yaml.Node]
# A merge key is no field: what it adds has the lines of the mapping that it names.
_MERGE: Final = "<<"


def same_line(line: int) -> int:
    """Return the line itself: what is read was not rendered."""
    return line


@dataclass(frozen=True, slots=True)
class Document:
    """A document that is a mapping.

    Attributes:
        value: The mapping.
        file: The file that it is read from, as messages show it.
        node: Its nodes; None where they are not known.
        source_line: Finds lines of the file.
    """

    value: JsonObject
    file: str
    node: yaml.Node | None = None
    source_line: SourceLine = same_line
    _members: dict[int, dict[str, _Pair]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Entries of mappings by key; the nodes, by their id, live as long as the document."""

    def place(self, *path: PathElement) -> Place:
        """Return where a field is written, or else what is nearest above it."""
        nearest = node = self.node
        for element in path:
            step = self._step(node, element)
            if step is None:
                break
            nearest, node = step
        if nearest is None:
            return Place(self.file)
        return _place(self.file, nearest, self.source_line)

    def part(self, *path: PathElement) -> "Document":
        """Return a mapping in the document as a document, whose fields have their lines.

        Raises:
            TypeError: it is no mapping.
        """
        value: object = self.value
        node = self.node
        for element in path:
            value = value[element]  # type: ignore[index]
            step = self._step(node, element)
            node = step[1] if step else None
        if not isinstance(value, dict):
            raise TypeError(f"no mapping at {path}")
        return Document(value, self.file, node, self.source_line)

    def _step(self, node: yaml.Node | None, element: PathElement) -> _Pair | None:
        """Return the node that begins an element, and its value."""
        if isinstance(node, yaml.MappingNode) and isinstance(element, str):
            # Kept: each field of a document is looked up, and a search for each would be quadratic.
            members = self._members.get(id(node))
            if members is None:
                # Of keys that come twice the last one counts, as in reading.
                members = {str(pair[0].value): pair for pair in node.value}
                self._members[id(node)] = members
            return members.get(element)
        if isinstance(node, yaml.SequenceNode) and isinstance(element, int):
            items = node.value
            return (items[element], items[element]) if element < len(items) else None
        return None


def read_documents(
    file: str,
    text: str | bytes,
    findings: Findings,
    limits: SuiteLimits,
    source_line: SourceLine = same_line,
) -> list[Document] | None:
    """Return the documents of a file, empty ones left out; None if it cannot be read.

    What is no YAML, no mapping or too large is an error, and a key that comes twice a warning.

    Args:
        file: Its name, for messages.
        text: What it contains, or what its template rendered.
        findings: Where errors are noted.
        limits: What the file may hold.
        source_line: Finds lines of the file, where a template was rendered.
    """
    try:
        values = goyaml.load_all(text, limits=limits.yaml)
    except goyaml.YamlError as error:
        place = Place(file, source_line(error.line), error.column)
        findings.error(*_unreadable(error), place)
        return None
    # Each document costs findings, requests and comparisons of its own.
    if len(values) > limits.documents:
        message = f"more than {limits.documents} documents in one file; split it"
        findings.error("SuiteTooLarge", message, Place(file))
        return None
    nodes = _nodes(text, len(values))
    documents = []
    for value, node in zip(values, nodes, strict=True):
        if isinstance(value, dict):
            _note_duplicates(file, node, findings, source_line)
            documents.append(Document(value, file, node, source_line))
        elif value is not None:
            place = Place(file) if node is None else _place(file, node, source_line)
            message = "the document is no Kubernetes object: it must be a mapping with a kind"
            findings.error("NoObject", message, place)
    return documents


def _unreadable(error: goyaml.YamlError) -> tuple[str, str]:
    if error.limit:
        return "SuiteTooLarge", f"{error.message}; split the file"
    return "InvalidYaml", f"not valid YAML: {error.message}"


def _nodes(text: str | bytes, count: int) -> list[yaml.Node | None]:
    """Return the nodes of each document; None for all where PyYAML reads them otherwise."""
    loader = yaml.CBaseLoader(text)
    nodes: list[yaml.Node | None] = []
    try:
        while loader.check_node():
            nodes.append(loader.get_node())
    except yaml.YAMLError:  # anchors that come twice
        return [None] * count
    return nodes if len(nodes) == count else [None] * count


def _note_duplicates(
    file: str, root: yaml.Node | None, findings: Findings, source_line: SourceLine
) -> None:
    for node in _mappings(root):
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == _MERGE:
                continue
            line = source_line(key.start_mark.line + 1)
            if key.value in seen:
                message = (
                    f"{shown_name(key.value)} is given twice, first in line {seen[key.value]}; "
                    "only the second one counts: remove one"
                )
                findings.warning("DuplicateKey", message, _place(file, key, source_line))
            seen[key.value] = line


def _mappings(root: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Yield all mappings; one behind aliases only once."""
    pending, seen = [root], set[int]()
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            pending += [value for _, value in reversed(node.value)]
        elif isinstance(node, yaml.SequenceNode):
            pending += reversed(node.value)


def _place(file: str, node: yaml.Node, source_line: SourceLine) -> Place:
    mark = node.start_mark
    return Place(file, source_line(mark.line + 1), mark.column + 1)


# Templates come with packages of others: none of the functions reads environment, files or network.
_STRICT: Final = Environment(policy="operator", missing_key="error")
_LENIENT: Final = Environment(policy="operator", missing_key="default")
"""As kuttl renders: what is not there is `<no value>`."""


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """What templates of a case can refer to.

    Attributes:
        namespace: `.Namespace`.
        variables: `.Vars`.
    """

    namespace: str
    variables: Mapping[str, object] = field(default_factory=dict)

    def data(self) -> dict[str, object]:
        return {"Namespace": self.namespace, "Vars": dict(self.variables)}


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a template, and the lines that its lines come from."""

    text: str
    source_line: SourceLine


def render_template(
    file: str, text: str, values: TemplateValues, findings: Findings
) -> Rendered | None:
    """Return what a template renders; an error is noted, with its line in the template.

    A variable that nobody gave is a warning.
    """
    data = values.data()
    try:
        # First the strict way: it names the variable and its line, which `<no value>` does not.
        rendered = _STRICT.parse(file, text).render(data)
    except TemplateError as error:
        place = Place(file, error.line or 0)
        try:
            rendered = _LENIENT.parse(file, text).render(data)
        except TemplateError:
            findings.error("InvalidTemplate", str(error), place)
            return None
        message = f'{error}; "<no value>" is written, as kuttl does'
        findings.warning("VariableUnknown", message, place)

    lines = template_lines(file, text, data)

    def source_line(line: int) -> int:
        return lines[line - 1] if 0 < line <= len(lines) else line

    return Rendered(rendered, source_line)


def is_object(document: Document, findings: Findings) -> bool:
    """Return whether a document can be an object of a cluster; if not, note what it lacks."""
    for name in ("apiVersion", "kind"):
        value = document.value.get(name)
        if not isinstance(value, str) or not value:
            findings.error("NoObject", f"the object has no {name}", document.place(name))
            return False
    if not isinstance(document.value.get("metadata", {}), dict | None):
        message = "metadata must be a mapping"
        findings.error("NoObject", message, document.place("metadata"))
        return False
    return True
