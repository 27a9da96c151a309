"""Trees, character by character."""

from kubectl_kudo.session.blocks import Node, Tree


def test_an_empty_tree_is_its_root() -> None:
    assert Tree([]).plain() == ".\n"


def test_equal_texts_are_different_nodes() -> None:
    assert Tree([Node("a"), Node("a", [Node("b")])]).plain() == ".\n├── a\n└── a\n    └── b\n"
