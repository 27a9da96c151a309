"""Trees, character by character."""

from kubectl_kudo.core.tree import Node, draw


def test_an_empty_tree_is_its_root() -> None:
    assert draw([]) == ".\n"


def test_equal_texts_are_different_nodes() -> None:
    assert draw([Node("a"), Node("a", [Node("b")])]) == ".\n├── a\n└── a\n    └── b\n"
