"""Draws trees as text in the form of KUDO 0.19, which scripts parse."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kubectl_kudo.core.terminal import word

_THROUGH = "│\u00a0\u00a0 "
"""Beside the children of a node that has a next sibling: two no-break spaces, one space."""
_PAST = "    "


@dataclass(slots=True)
class Node:
    """A line of text, and the nodes below it."""

    text: str
    children: list["Node"] = field(default_factory=list)

    def add(self, text: str, children: Iterable["Node"] = ()) -> "Node":
        node = Node(text, list(children))
        self.children.append(node)
        return node


def draw(children: Iterable[Node], root: str = ".") -> str:
    """Return the tree, each line ended; `root` is the first line."""
    return "".join(f"{line}\n" for line in (word(root), *_below(list(children), "")))


def _below(children: list[Node], indent: str) -> Iterator[str]:
    for node in children:
        last = node is children[-1]
        # A message of several lines stays one, or it could draw nodes of its own.
        yield f"{indent}{'└──' if last else '├──'} {word(node.text)}"
        yield from _below(node.children, indent + (_PAST if last else _THROUGH))
