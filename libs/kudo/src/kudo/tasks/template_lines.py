"""Finds the line of a template that a line of its rendered text comes from.

The template is rendered a second time with a mark at the beginning of each line of its own text.
Marks are left out where they would change what is rendered.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gotemplate import Environment, TemplateError, nodes, parse_tree
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.rendering import render

_FUNCTIONS: Final = Environment(policy="operator").function_names
_BEFORE, _AFTER = "\ue0f0", "\ue0f1"
"""Characters of the private use area that enclose the number of a line."""
_MARK: Final = re.compile(f"{_BEFORE}([0-9]+){_AFTER}")
_AT_START: Final = re.compile(f"(?:{_MARK.pattern})+")


def template_line(name: str, text: str, values: Mapping[str, object], rendered: int) -> int | None:
    """Return the line of a template, from 1, or None if it cannot be found.

    Args:
        name: Of the template.
        text: The template.
        values: What it is rendered with.
        rendered: Line of what that gives, from 1. Of a value with several lines, all belong to the
            line of the template that prints it.
    """
    lines = template_lines(name, text, values)
    return lines[rendered - 1] if 0 < rendered <= len(lines) else None


def template_lines(name: str, text: str, values: Mapping[str, object]) -> tuple[int, ...]:
    """Return the line of a template for each line of what it renders; none if they are not known.

    Args:
        name: Of the template.
        text: The template.
        values: What it is rendered with.
    """
    if _BEFORE in text:
        return ()
    try:
        marked = render(name, _marked(parse_tree(name, text, _FUNCTIONS)), values)
    except (TemplateError, FatalTaskError):  # the marks may exceed a limit
        return ()
    sources, last = [], 1
    for line in marked.split("\n"):
        start = _AT_START.match(line)
        sources.append(int(_MARK.findall(start[0])[-1]) if start else last)
        marks = _MARK.findall(line)
        last = int(marks[-1]) if marks else last
    return tuple(sources)


def _marked(tree: nodes.Tree) -> str:
    source, parts, end = tree.source, [], 0
    for position in sorted(set(_positions(tree))):
        line = source.count("\n", 0, position) + 1
        parts += [source[end:position], f"{_BEFORE}{line}{_AFTER}"]
        end = position
    return "".join([*parts, source[end:]])


def _positions(tree: nodes.Tree) -> Iterator[int]:
    """Yield where each piece of text and each of its lines begins.

    What `{{-` and `-}}` cut off is no longer in the tree: a mark there would keep it.
    """
    for body in (tree.root, *tree.templates.values()):
        for text in _texts(body):
            yield text.pos
            yield from (text.pos + at.end() for at in re.finditer("\n", text.text))


def _texts(body: nodes.Body) -> Iterator[nodes.Text]:
    for node in body.nodes:
        if isinstance(node, nodes.Text):
            yield node
        elif isinstance(node, nodes.If | nodes.With | nodes.Range):
            yield from _texts(node.body)
            if node.otherwise is not None:
                yield from _texts(node.otherwise)
