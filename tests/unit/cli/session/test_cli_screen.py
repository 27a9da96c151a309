"""Blocks on terminals of all widths: what is left out, where words break, and rows as records."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.session.blocks import Cell, Column, Mark, Node, Prose, Section, Table, Tree
from kubectl_kudo.session.screen import cells, draw_blocks
from kubectl_kudo.session.terminal import clean

IMAGE = "registry.example.org/team/app:1.2.3@sha256:0123456789abcdef"
TABLE = Table(
    ("NAMESPACE", "NAME", Column("STATUS", kept=True), "OPERATOR", "NOTE", "IMAGE"),
    [
        ("shop", "tea", Cell("COMPLETE", "complete", Mark.GOOD), "pot", "<none>", IMAGE),
        ("shop", "milk", Cell("FATAL_ERROR", "failed", Mark.BAD), "pot", "<none>", "cow:1"),
    ],
)


def drawn(
    columns: int, *blocks: Prose | Table | Tree | Section, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "30")
    stream = io.StringIO()
    draw_blocks(blocks, stream)
    return stream.getvalue().splitlines()


def test_columns_that_tell_nothing_are_left_out_and_what_all_have_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drawn(120, TABLE, monkeypatch=monkeypatch) == [
        "All: NAMESPACE shop, OPERATOR pot",
        "NAME  STATUS      IMAGE",
        f"tea   ✓ complete  {IMAGE}",
        "milk  ✗ failed    cow:1",
    ]


def test_a_word_is_broken_at_its_signs_where_it_is_wider_than_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drawn(60, TABLE, monkeypatch=monkeypatch)[1:4] == [
        "NAME  STATUS      IMAGE",
        "tea   ✓ complete  registry.example.org/team/app:1.2.3@",
        "                  sha256:0123456789abcdef",
    ]


def test_rows_stand_below_each_other_where_words_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drawn(26, TABLE, monkeypatch=monkeypatch)[-3:] == [
        "milk",
        "  ✗ STATUS: failed",
        "  IMAGE: cow:1",
    ]


def test_a_single_row_keeps_its_cells_and_no_row_its_headings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Table(TABLE.columns, TABLE.rows[1:])
    assert drawn(80, one, monkeypatch=monkeypatch) == [
        "NAMESPACE  NAME  STATUS    OPERATOR  IMAGE",
        "shop       milk  ✗ failed  pot       cow:1",
    ]
    none = Table(("NAME", "STATUS"), [])
    assert drawn(80, none, monkeypatch=monkeypatch) == ["NAME  STATUS"]


def test_texts_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ports[http] [bold]a[/x] :smile:"
    table = Table(("A", "B"), [(text, "b")])
    blocks = (Prose(text), Tree([Node(text)]), Section("T", table))
    assert sum(text in line for line in drawn(80, *blocks, monkeypatch=monkeypatch)) == 3


@given(text=st.text(max_size=200), columns=st.integers(20, 200))
def test_nothing_is_wider_than_the_terminal(text: str, columns: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        table = Table(("NAME", "TEXT"), [(text, "a"), ("b", Cell(text, mark=Mark.BUSY))])
        tree = Tree([Node(text, [Node(text, mark=Mark.GOOD)])])
        lines = drawn(columns, Prose(text), table, tree, monkeypatch=monkeypatch)
    assert all(cells(line) <= columns for line in lines)
    assert all(clean(line) == line for line in lines)
