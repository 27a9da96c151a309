"""Sprig's functions on texts: ends, parts, repetition, indentation.

Lengths and positions count bytes, as Go's do; a part may begin or end inside a character.
"""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.literals import SPACE, quote
from gotemplate.golang.values import StringList, StringMap, from_bytes, to_bytes
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, INT, STRING, Function


def trim(text: str) -> str:
    """Remove white space from both ends."""
    return text.strip(SPACE)


def trim_all(characters: str, text: str) -> str:
    """Remove any of the characters from both ends."""
    return text.strip(characters) if characters else text


def trim_prefix(prefix: str, text: str) -> str:
    """Remove a prefix, once."""
    return text.removeprefix(prefix)


def trim_suffix(suffix: str, text: str) -> str:
    """Remove a suffix, once."""
    return text.removesuffix(suffix)


def contains(part: str, text: str) -> bool:
    """Return whether a text contains another."""
    return part in text


def has_prefix(prefix: str, text: str) -> bool:
    """Return whether a text begins with another."""
    return text.startswith(prefix)


def has_suffix(suffix: str, text: str) -> bool:
    """Return whether a text ends with another."""
    return text.endswith(suffix)


def repeat(run: Rendering, count: int, text: str) -> str:
    """Repeat a text.

    Raises:
        FunctionError: the number is negative.
    """
    if count < 0:
        raise FunctionError("strings: negative Repeat count")
    run.check("string", len(text) * count)
    return text * count


def replace(run: Rendering, old: str, new: str, text: str) -> str:
    """Replace every occurrence of a text; an empty text matches between all characters."""
    run.check("string", len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def trunc(length: int, text: str) -> str:
    """Return the first bytes of a text, or the last ones if the number is negative."""
    data = to_bytes(text)
    if length < 0:
        return from_bytes(data[length:])
    return from_bytes(data[:length])


def substr(start: int, end: int, text: str) -> str:
    """Return the bytes from `start` up to, but not including, `end`.

    A negative start is the beginning; a negative end, or one beyond the text, is its end.

    Raises:
        FunctionError: the bytes are outside the text.
    """
    data = to_bytes(text)
    size = len(data)
    if start < 0:
        if not 0 <= end <= size:
            where = f":{end}] with length {size}" if end >= 0 else f":{end}]"
            raise FunctionError(f"runtime error: slice bounds out of range [{where}")
        return from_bytes(data[:end])
    stop = size if end < 0 or end > size else end
    if start > stop:
        raise FunctionError(f"runtime error: slice bounds out of range [{start}:{stop}]")
    return from_bytes(data[start:stop])


def indent(run: Rendering, spaces: int, text: str) -> str:
    """Indent every line, including empty ones.

    Raises:
        FunctionError: the number is negative.
    """
    if spaces < 0:
        raise FunctionError("strings: negative Repeat count")
    run.check("width", spaces)
    run.check("string", len(text) + spaces * (text.count("\n") + 1))
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def nindent(run: Rendering, spaces: int, text: str) -> str:
    """Return a line break, then the text indented as by `indent`."""
    return "\n" + indent(run, spaces, text)


def quoted(run: Rendering, *values: object) -> str:
    """Write values as Go literals in double quotes, with spaces between; nil is left out."""
    texts = [plain_text(run, value) for value in values if value is not None]
    run.check("string", sum(map(len, texts)))
    return " ".join(map(quote, texts))


def single_quoted(run: Rendering, *values: object) -> str:
    """Put values in single quotes as they are, with spaces between; nil is left out."""
    texts = [f"'{plain_text(run, value)}'" for value in values if value is not None]
    run.check("string", sum(map(len, texts)))
    return " ".join(texts)


def cat(run: Rendering, *values: object) -> str:
    """Join values with spaces; nil is left out."""
    texts = [plain_text(run, value) for value in values if value is not None]
    run.check("string", sum(map(len, texts)))
    return " ".join(texts)


def plural(singular: str, many: str, count: int) -> str:
    """Return the singular for 1, else the plural."""
    return singular if count == 1 else many


def hello() -> str:
    """Return Sprig's greeting."""
    return "Hello!"


def to_string(run: Rendering, value: object) -> str:
    """Write a value as a text; nil is `<nil>`."""
    return plain_text(run, value)


def pieces(text: str, separator: str, most: int = -1) -> list[str]:
    """Split a text, at an empty separator into its characters.

    Args:
        text: the text.
        separator: what is between the pieces.
        most: the number of pieces at which the rest stays whole; none of 0, all of -1.
    """
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if 0 < most < len(text):
        return [*text[: most - 1], text[most - 1 :]]
    return list(text)


def split_list(run: Rendering, separator: str, text: str) -> list[str]:
    """Split a text into a list."""
    run.check("items", _count(separator, text))
    return StringList(pieces(text, separator))


def split(run: Rendering, separator: str, text: str) -> dict[str, str]:
    """Split a text into a map with the keys `_0`, `_1` and so on."""
    return splitn(run, separator, -1, text)


def splitn(run: Rendering, separator: str, most: int, text: str) -> dict[str, str]:
    """Split a text into at most that many pieces, as `split` does."""
    run.check("items", _count(separator, text))
    numbered = enumerate(pieces(text, separator, most))
    return StringMap({f"_{number}": piece for number, piece in numbered})


def _count(separator: str, text: str) -> int:
    return text.count(separator) if separator else len(text)


FUNCTIONS: Final = (
    Function("trim", trim, (STRING,)),
    Function("trimall", trim_all, (STRING, STRING)),
    Function("trimAll", trim_all, (STRING, STRING)),
    Function("trimPrefix", trim_prefix, (STRING, STRING)),
    Function("trimSuffix", trim_suffix, (STRING, STRING)),
    Function("contains", contains, (STRING, STRING)),
    Function("hasPrefix", has_prefix, (STRING, STRING)),
    Function("hasSuffix", has_suffix, (STRING, STRING)),
    Function("repeat", repeat, (INT, STRING), uses_rendering=True),
    Function("replace", replace, (STRING, STRING, STRING), uses_rendering=True),
    Function("trunc", trunc, (INT, STRING)),
    Function("substr", substr, (INT, INT, STRING)),
    Function("indent", indent, (INT, STRING), uses_rendering=True),
    Function("nindent", nindent, (INT, STRING), uses_rendering=True),
    Function("quote", quoted, (), ANY, uses_rendering=True),
    Function("squote", single_quoted, (), ANY, uses_rendering=True),
    Function("cat", cat, (), ANY, uses_rendering=True),
    Function("plural", plural, (STRING, STRING, INT)),
    Function("hello", hello),
    Function("toString", to_string, (ANY,), uses_rendering=True),
    Function("splitList", split_list, (STRING, STRING), uses_rendering=True),
    Function("split", split, (STRING, STRING), uses_rendering=True),
    Function("splitn", splitn, (STRING, INT, STRING), uses_rendering=True),
)
