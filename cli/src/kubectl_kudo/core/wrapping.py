"""Wraps text by the cells that it takes on a terminal."""

from unicodedata import combining, east_asian_width


def cells(text: str) -> int:
    """Return how many cells a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def wrapped(text: str, width: int, *, indent: str = "", more: str = "") -> list[str]:
    """Return a text in lines of at most so many cells.

    Args:
        text: Printable text.
        width: Cells of a line; two at least.
        indent: Before the first line.
        more: Before each further line.
    """
    lines, line, used = [], "", 0
    start = _start(indent, width)
    for word in text.split(" "):
        for part in _parts(word, width - max(cells(start), cells(_start(more, width)))):
            size = cells(part)
            if line and used + 1 + size > width:
                lines.append(line)
                line = ""
                start = _start(more, width)
            line, used = (f"{line} {part}", used + 1 + size) if line else (start + part, 0)
            used = used or cells(line)
    return [*lines, line or start]


def _start(indent: str, width: int) -> str:
    """Return the indent, or as much of it as leaves half of a line."""
    return indent if cells(indent) <= width // 2 else indent[: width // 2]


def _parts(word: str, width: int) -> list[str]:
    """Return a word in parts that fit in a line."""
    if cells(word) <= width:
        return [word]
    parts, part, used = [], "", 0
    for char in word:
        size = _cells(char)
        if part and used + size > width:
            parts.append(part)
            part, used = "", 0
        part += char
        used += size
    return [*parts, part]


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that fits in so many cells, with `…` if it is cut."""
    if cells(text) <= width:
        return text
    kept, used = "", 0
    for char in text:
        used += _cells(char)
        if used > width - 1:
            break
        kept += char
    return f"{kept}…"
