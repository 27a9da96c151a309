"""Renders JSONPath templates as text, as `kubectl get -o jsonpath=` prints it."""

import json
from collections.abc import Iterator, Sequence

from kubectl_kudo.jsonpath.evaluate import find, operand
from kubectl_kudo.jsonpath.nodes import Node, Range

# Type checkers read it as True. Importing `typing` would take 5 % of the time of `--help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def render(template: Sequence[Node], value: "Any") -> str:
    """Return the text of a template; the values of one path are separated by a blank.

    Raises:
        JsonPathError: it cannot be evaluated over this value.
    """
    return "".join(_rendered(template, value, value))


def _rendered(template: Sequence[Node], value: "Any", root: "Any") -> Iterator[str]:
    for node in template:
        if isinstance(node, Range):
            for one in find(node.path, value, root):
                yield from _rendered(node.body, one, root)
        else:
            yield " ".join(map(text_of, operand(node, value, root)))


def text_of(value: "Any") -> str:
    """Return a text as it is, and every other value as JSON on one line."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
