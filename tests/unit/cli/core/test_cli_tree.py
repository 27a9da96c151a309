"""Trees, character by character."""

from kubectl_kudo.core.tree import Node, draw

NBSP = "\u00a0"


def test_an_empty_tree_is_its_root() -> None:
    assert draw([]) == ".\n"


def test_ancestors_with_siblings_draw_through_and_last_ones_do_not() -> None:
    tea = Node("tea", [Node("pot", [Node("lid")]), Node("cup")])
    expected = (
        ".\n"
        "├── tea\n"
        f"│{NBSP}{NBSP} ├── pot\n"
        f"│{NBSP}{NBSP} │{NBSP}{NBSP} └── lid\n"
        f"│{NBSP}{NBSP} └── cup\n"
        "└── milk\n"
        "    └── jug\n"
    )
    assert draw([tea, Node("milk", [Node("jug")])]) == expected


def test_equal_texts_are_different_nodes() -> None:
    assert draw([Node("a"), Node("a", [Node("b")])]) == ".\n├── a\n└── a\n    └── b\n"
