"""Draws on a terminal with rich, as wide as it is: blocks, warnings and live views.

This is the only module that imports rich, and `_text` the only way in which a text gets there: as
it is, without markup, highlighting and emoji, and without characters that a terminal acts on.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, NamedTuple, TextIO, cast

from rich.cells import cell_len, chop_cells
from rich.console import (
    Console,
    ConsoleDimensions,
    ConsoleOptions,
    ConsoleRenderable,
    Group,
    RenderResult,
)
from rich.control import Control
from rich.live import Live
from rich.padding import Padding
from rich.segment import ControlType
from rich.table import Table as Grid
from rich.text import Text
from rich.tree import Tree as Branch

from kubectl_kudo.session.blocks import (
    NONE,
    Block,
    Cell,
    Column,
    Mark,
    Node,
    Prose,
    Section,
    Table,
    Tree,
)
from kubectl_kudo.session.terminal import CleanStream, coloured, is_dumb, terminal_size, word

_COLOURS = {
    Mark.GOOD: "green",
    Mark.BAD: "red",
    Mark.BUSY: "cyan",
    Mark.IDLE: "bright_black",
    Mark.WARNING: "yellow",
}
_HEADING = "bold"
_ASIDE = "bright_black"
_GAP = 2
"""Blanks between columns."""
_NATURAL = re.compile(r"[^/:@,;=._-]*[/:@,;=._-]+|[^/:@,;=._-]+")
"""Parts of images, ids and paths, between which a word is broken if it is wider than its place."""
# Blanks that rich fills lines with: they would be copied, and wrap in a narrower window.
_AT_END = re.compile(r" (?: |\x1b\[[0-9;]*m)*$", re.MULTILINE)
_NARROW = 16
"""Cells of a column that breaks words; in a narrower one nobody could read them."""
_INDENT = 2
_SIGN = "  "
"""As wide as the sign of a mark and the blank behind it."""


class Line(NamedTuple):
    """A line of a live view, and the mark that it begins with."""

    text: str
    mark: Mark | None = None


def _text(text: str, style: str = "", mark: Mark | None = None) -> Text:
    """Return a line; the sign of a mark that it begins with has its colour."""
    # Wrapped here already: rich would break words by rules of its own.
    drawn = Text(word(text), style, no_wrap=True, overflow="ignore")
    if mark is not None:
        start = len(_indent(text))
        drawn.stylize(_COLOURS[mark], start, start + 1)
    return drawn


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" "))]


class _File:
    """A stream as rich takes it: what is drawn may have colours and move the cursor."""

    encoding = "utf-8"

    def __init__(self, stream: TextIO | CleanStream) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        # `write` of a clean stream escapes control characters, which rich needs here.
        draw = self._stream.draw if isinstance(self._stream, CleanStream) else self._stream.write
        draw(text)
        return len(text)

    def flush(self) -> None:
        self._stream.flush()


def _console(stream: TextIO | CleanStream) -> Console:
    columns, rows = terminal_size(stream)
    colours = coloured(stream)
    return Console(
        file=cast("IO[str]", _File(stream)),
        width=columns,
        height=rows,
        color_system="standard" if colours else None,
        no_color=not colours,
        # Decided before: rich would also ask variables of the environment.
        force_terminal=True,
        force_interactive=not is_dumb(),
        force_jupyter=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def cells(text: str) -> int:
    """Return how many cells of a line a text takes."""
    return cell_len(text)


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that fits in so many cells, with `…` if it is cut."""
    beginning = Text(text)
    beginning.truncate(width, overflow="ellipsis")
    return beginning.plain


def wrapped(text: str, width: int, more: str = "") -> list[str]:
    """Return a text in lines of at most so many cells.

    A word goes to the next line; one that is wider than that is broken at the signs within it.

    Args:
        text: The text; blanks before it are its indentation.
        width: Cells of a line; two at least.
        more: Before each line but the first.
    """
    start = _indent(text)[: width // 2]
    more = (start + more)[: width // 2]
    lines, line, is_empty = [], start, True
    for whole in text.lstrip(" ").split(" "):
        for part in _parts(whole, width - max(cell_len(start), cell_len(more))):
            if not is_empty and cell_len(line) + 1 + cell_len(part) > width:
                lines.append(line)
                line, is_empty = more, True
            line = line + part if is_empty else f"{line} {part}"
            is_empty = False
    return [*lines, line]


def _parts(whole: str, width: int) -> list[str]:
    """Return a word in parts that fit in a line."""
    if cell_len(whole) <= width:
        return [whole]
    parts = [""]
    for natural in _NATURAL.findall(whole):
        for piece in chop_cells(natural, width) if cell_len(natural) > width else [natural]:
            if cell_len(parts[-1]) + cell_len(piece) <= width:
                parts[-1] += piece
            else:
                parts.append(piece)
    return [part for part in parts if part]


def folded(text: str, width: int, mark: Mark | None = None, more: str = "") -> list[Line]:
    """Return a text in lines, beside the sign of its mark; `width` and `more` as of `wrapped`."""
    clean = word(text)
    if mark is not None:
        indent = _indent(clean)
        clean, more = f"{indent}{mark.value} {clean.removeprefix(indent)}", f"{_SIGN}{more}"
    first, *rest = wrapped(clean, max(width, len(_SIGN)), more)
    return [Line(first, mark), *map(Line, rest)]


class _Folded:
    """A text that is wrapped to the width of its place, `most` lines of it if that is not 0."""

    def __init__(
        self, text: str, mark: Mark | None = None, style: str = "", more: str = "", most: int = 0
    ) -> None:
        self._text, self._mark, self._style, self._more = text, mark, style, more
        self._most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text, width = self._text, options.max_width
        if self._most:
            text = cut(word(text), self._most * (width - _INDENT))
        lines = folded(text, width, self._mark, self._more)
        yield Text("\n").join(_text(line.text, self._style, line.mark) for line in lines)


def draw_warning(text: str, stream: TextIO | CleanStream) -> None:
    """Draw a warning, whose first word has a colour, in place of a live view."""
    # Otherwise the next drawing would erase the warning.
    if isinstance(stream, CleanStream):
        stream.end_live_view()
    line = Text.assemble(_text("Warning:", "bold yellow"), _text(f" {text}"))
    _console(stream).print(line, soft_wrap=True)


def draw_blocks(blocks: Iterable[Block], stream: TextIO | CleanStream) -> None:
    """Draw blocks one below the other."""
    console = _console(stream)
    # Drawn as a whole: an error half-way leaves nothing on the terminal.
    with console.capture() as captured:
        for block in blocks:
            if isinstance(block, Prose) and block.whole:
                # The terminal wraps it, so that it is one line to who copies it.
                console.print(_text(block.text), soft_wrap=True)
            else:
                console.print(_drawn(block, console.width))
    _File(stream).write(_AT_END.sub(lambda end: end[0].replace(" ", ""), captured.get()))
    stream.flush()


def _drawn(block: Block, width: int) -> ConsoleRenderable:
    match block:
        case Prose():
            more = "" if block.mark else " " * _INDENT
            return _Folded(block.text, block.mark, more=more, most=block.most)
        case Table():
            return _table(block, width)
        case Tree():
            return _tree(block)
        case Section():
            if block.is_empty:
                return _Folded(f"{block.title}: {NONE}")
            body = _drawn(block.body, width - _INDENT)
            return Group(_text(block.title, _HEADING), Padding(body, (0, 0, 0, _INDENT)))


def _tree(tree: Tree) -> ConsoleRenderable:
    has_root = tree.root not in {"", "."}
    if not tree.root:
        return Group(*_branches(tree.nodes))
    top = Branch(_Folded(tree.root), hide_root=not has_root, guide_style=_ASIDE)
    top.children = _branches(tree.nodes)
    return top


def _branches(nodes: Sequence[Node]) -> list[Branch]:
    branches = []
    for node in nodes:
        if node.drawn:
            text = _Folded(node.shown or node.text, node.mark, most=node.most)
            branch = Branch(text, guide_style=_ASIDE)
            branch.children = _branches(node.children)
            branches.append(branch)
    return branches


# Tables


def _table(table: Table, width: int) -> ConsoleRenderable:
    columns, rows = table.headings(), table.cells()
    if table.original:
        # In a pipe only the first cell of a row is a single line.
        rows = [
            [first, *(replace(cell, text=" ".join(cell.text.split("\n"))) for cell in more)]
            for first, *more in rows
        ]
    drawn = [index for index, column in enumerate(columns) if column.drawn]
    common = [index for index in drawn if _is_common(columns[index], rows, index)]
    shown = [index for index in drawn if index not in common] or drawn[:1]
    headings = [columns[index].shown or columns[index].heading for index in shown]
    lines = [[row[index] for index in shown] for row in rows]
    said = [
        f"{columns[index].heading} {_said(rows[0][index])}"
        for index in common
        if rows[0][index].text not in {NONE, ""}
    ]
    above = [_Folded(f"All: {', '.join(said)}", style=_ASIDE)] if said else []
    titled = table.headers and table.titled
    if not rows and not titled:
        return Group()
    sizes = _sizes([*([[*map(Cell, headings)]] if titled else []), *lines], width)
    body = _grid if sizes else _records
    return Group(*above, body(headings, lines, sizes, titled=titled))


def _is_common(column: Column, rows: Sequence[Sequence[Cell]], index: int) -> bool:
    """Return whether a column tells nothing about its rows: it is empty, or always the same."""
    texts = {row[index].text for row in rows}
    is_empty = bool(rows) and texts <= {NONE, ""}
    return is_empty or (len(texts) == 1 < len(rows) and not column.kept)


def _said(cell: Cell) -> str:
    return cell.shown or cell.text


def _width(cell: Cell) -> int:
    return cell_len(word(_said(cell))) + (len(_SIGN) if cell.mark else 0)


def _narrowest(cell: Cell, *, natural: bool) -> int:
    """Return the cells that a text needs, with its words broken at the signs within them or not."""
    words = word(_said(cell)).split(" ")
    least = max(map(cell_len, words))
    if natural and least > _NARROW:
        parts = (part for whole in words for part in _NATURAL.findall(whole))
        least = max(_NARROW, *map(cell_len, parts))
    return least + (len(_SIGN) if cell.mark else 0)


def _sizes(rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the widths of columns; none if the words of a row do not fit beside each other."""
    columns = list(zip(*rows, strict=True))
    room = width - _GAP * (len(columns) - 1)
    # First with whole words; only if these do not fit beside each other they are broken.
    for natural in (False, True):
        sizes = [max(map(_width, column)) for column in columns]
        least = [max(_narrowest(text, natural=natural) for text in column) for column in columns]
        if sum(least) > room:
            continue
        while sum(sizes) > room:
            free = [index for index, size in enumerate(sizes) if size > least[index]]
            # The widest column gives way, since it can wrap best.
            sizes[max(free, key=sizes.__getitem__)] -= 1
        return sizes
    return []


def _grid(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], sizes: Sequence[int], *, titled: bool
) -> ConsoleRenderable:
    grid = Grid(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=titled)
    for heading, size in zip(headings, sizes, strict=True):
        grid.add_column(_Folded(heading, style=_HEADING), width=size)
    for row in rows:
        grid.add_row(*(_Folded(_said(cell), cell.mark) for cell in row))
    return grid


def _records(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], _: Sequence[int], *, titled: bool
) -> ConsoleRenderable:
    """Return rows one below the other, each cell in a line of its own."""

    def lines() -> Iterator[ConsoleRenderable]:
        for first, *more in rows:
            yield _Folded(_said(first), first.mark, _HEADING)
            for heading, cell in zip(headings[1:], more, strict=True):
                if _said(cell) in {NONE, "", " "}:
                    continue
                name = f"{heading}: " if titled else ""
                text = _Folded(f"{name}{_said(cell)}", cell.mark, more=" " * _INDENT)
                yield Padding(text, (0, 0, 0, _INDENT))

    return Group(*lines())


# Live views


class _Redrawn(Live):
    """A `Live` that knows how a terminal shows what was drawn when it was wider."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self.drawn: list[Text] = []

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        columns = self.console.width
        # A terminal that got narrower wraps what was drawn: the cursor goes up these lines, too.
        wraps = sum(max(0, -(-line.cell_len // columns) - 1) for line in self.drawn)
        up = [(ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)]
        return [Control(*up * wraps), *super().process_renderables(renderables)]


class LiveView:
    """Lines at the end of a terminal that replace those that were drawn before.

    What is written while they are drawn, such as a warning of the API server, takes their place;
    the next drawing stands below it. They must be narrower than the terminal, and one less than
    it has: the cursor stands below.

    Args:
        stream: The terminal.
        size: Columns and rows of the terminal.
    """

    def __init__(
        self, stream: TextIO | CleanStream, size: Callable[[], tuple[int, int]] | None = None
    ) -> None:
        self._stream = stream
        self._size = size or (lambda: terminal_size(stream))
        self._live: _Redrawn | None = None

    def draw(self, lines: Iterable[Line]) -> None:
        """Draw the lines in place of those before."""
        if self._live is None:
            self._live = _Redrawn(_console(self._stream))
            self._live.start()
            # Whatever writes to a stream meanwhile, such as a warning, calls it first.
            CleanStream.remove_live_view = partial(self.close, keep=False)
        self._replace(self._live, [*(_text(line.text, mark=line.mark) for line in lines), Text()])

    def tell(self, lines: Iterable[str]) -> None:
        """Write lines that stay, above those that are drawn."""
        self.close(keep=False)
        for line in lines:
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def close(self, *, keep: bool) -> None:
        """Leave the lines where they are, or remove them; show the cursor again."""
        live, self._live = self._live, None
        if live is None:
            return
        CleanStream.remove_live_view = None
        live.transient = not keep
        if keep:
            # `Live` ends the last line by itself.
            self._replace(live, live.drawn[:-1])
        live.stop()
        # What is written next may go to the other stream, which has a buffer of its own.
        self._stream.flush()

    def _replace(self, live: _Redrawn, lines: list[Text]) -> None:
        # At each drawing: the window may have changed.
        live.console.size = ConsoleDimensions(*self._size())
        live.update(Group(*lines), refresh=True)
        live.drawn = lines
