"""Sprig's functions on regular expressions. Patterns: `gotemplate.golang.regex`."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final

from gotemplate.errors import FunctionError, LimitError
from gotemplate.golang.literals import can_backquote, quote
from gotemplate.golang.values import NilStringList, StringList, from_bytes, to_bytes
from gotemplate.rendering import Rendering
from gotemplate.types.signature import INT, STRING, Function, Param

if TYPE_CHECKING:
    from gotemplate.golang.regex import Match, Regex


_FIRST: Final = 9  # bits: instructions times bytes that the first search of a call has for a step
_LATER: Final = 13
_FAILED: Final = 1_000  # steps of a pattern that does not compile; one too large takes as long


def _compiled(run: Rendering, pattern: str) -> "Regex":
    """Compile a pattern.

    Raises:
        FunctionError: the pattern is not a regular expression; the error's text is Go's.
        LimitError: it is too long.
    """
    from gotemplate.golang.regex import RegexError, compile_regex, cost_of

    run.check("pattern", len(pattern))
    # Cached patterns cost the same, so that a rendering costs the same wherever it runs.
    run.charge(cost_of(pattern))
    try:
        regex = compile_regex(pattern)
    except RegexError as error:
        run.charge(_FAILED)
        raise FunctionError(str(error)) from error
    run.charge(regex.size >> 3)
    run.check("program", regex.size)
    return regex


def _pay(run: Rendering) -> Callable[[int, int], None]:
    """Return the callback that charges for the searches of one call.

    How much of the text a search reads is known to RE2 alone. The first one pays for all of it;
    those that follow, of which there may be thousands, for a part. `Limits.search` counts all.
    """

    def pay(start: int, size: int) -> None:
        run.search(size)
        run.charge((size >> _FIRST if start == 0 else size >> _LATER) + 1)

    return pay


def _quoted(pattern: str) -> str:
    return f"`{pattern}`" if can_backquote(pattern) else quote(pattern)


def _panicking(call: Callable[..., object]) -> Callable[..., object]:
    """Word the error for an invalid pattern as Go's MustCompile does."""

    def run_it(run: Rendering, pattern: str, *args: object) -> object:
        try:
            return call(run, pattern, *args)
        except LimitError:
            raise
        except FunctionError as error:
            raise FunctionError(f"regexp: Compile({_quoted(pattern)}): {error}") from error

    return run_it


def _twice(name: str, call: Callable[..., object], *more: Param) -> tuple[Function, Function]:
    params = (STRING, STRING, *more)
    must = f"must{name[0].upper()}{name[1:]}"
    return (
        Function(name, _panicking(call), params, uses_rendering=True),
        Function(must, call, params, uses_rendering=True),
    )


def must_match(run: Rendering, pattern: str, text: str) -> bool:
    """Return whether a text has a match."""
    return _compiled(run, pattern).search(to_bytes(text), on_search=_pay(run)) is not None


def match(run: Rendering, pattern: str, text: str) -> bool:
    """Return whether a text has a match; an invalid pattern matches nothing."""
    try:
        return must_match(run, pattern, text)
    except FunctionError as error:
        if isinstance(error, LimitError):
            raise
        return False


def find(run: Rendering, pattern: str, text: str) -> str:
    """Return the first match, "" when there is none."""
    data = to_bytes(text)
    match = _compiled(run, pattern).search(data, on_search=_pay(run))
    return from_bytes(data[match.start : match.end]) if match else ""


def find_all(run: Rendering, pattern: str, text: str, most: int) -> list[str]:
    """Return at most that many matches; all if the number is negative."""
    data = to_bytes(text)
    matches = _compiled(run, pattern).matches(data, on_search=_pay(run))
    limited = islice(matches, most if most >= 0 else None)
    return _list(run, (data[m.start : m.end] for m in limited)) or NilStringList()


def split(run: Rendering, pattern: str, text: str, most: int) -> list[str]:
    """Split a text at the matches into at most that many pieces; all if the number is negative."""
    pieces = _compiled(run, pattern).split(to_bytes(text), most, on_search=_pay(run))
    return _list(run, pieces) if most else NilStringList()


def replace_all(run: Rendering, pattern: str, text: str, replacement: str) -> str:
    """Replace every match; `$1` and `${name}` in the replacement are what groups matched."""
    regex, data = _compiled(run, pattern), to_bytes(text)
    return _replaced(run, regex, data, lambda match: regex.expand(replacement, data, match))


def replace_all_literal(run: Rendering, pattern: str, text: str, replacement: str) -> str:
    """Replace every match with a literal text."""
    literal = to_bytes(replacement)
    return _replaced(run, _compiled(run, pattern), to_bytes(text), lambda _: (literal,))


def _replaced(
    run: Rendering, regex: "Regex", data: bytes, expand: "Callable[[Match], Iterable[bytes]]"
) -> str:
    return from_bytes(b"".join(_charged(run, regex.replace(data, expand, on_search=_pay(run)))))


def _list(run: Rendering, pieces: Iterable[bytes]) -> list[str]:
    parts = StringList()
    for piece in _charged(run, pieces):
        parts.append(from_bytes(piece))
        run.check("items", len(parts))
    return parts


def _charged(run: Rendering, pieces: Iterable[bytes]) -> Iterable[bytes]:
    size = 0
    for piece in pieces:
        run.charge(1)
        size += len(piece)
        run.check("string", size)
        yield piece


def quote_meta(text: str) -> str:
    """Escape the metacharacters of regular expressions."""
    from gotemplate.golang.regex import quote_meta as quoted

    return quoted(text)


FUNCTIONS: Final = (
    Function("regexMatch", match, (STRING, STRING), uses_rendering=True),
    Function("mustRegexMatch", must_match, (STRING, STRING), uses_rendering=True),
    *_twice("regexFind", find),
    *_twice("regexFindAll", find_all, INT),
    *_twice("regexSplit", split, INT),
    *_twice("regexReplaceAll", replace_all, STRING),
    *_twice("regexReplaceAllLiteral", replace_all_literal, STRING),
    Function("regexQuoteMeta", quote_meta, (STRING,)),
)
