"""Splits template text into tokens, by the rules of Go's text/template.

One pass, driven by one regular expression inside actions; no state survives it. A token knows
whether space stood before it, so spaces are no tokens of their own. What cannot be read becomes a
final token of kind ERROR: the parser reports it only when it gets there, as Go does.
"""

import re
from typing import Final, NamedTuple

from gotemplate.errors import LimitError
from gotemplate.golang.quoting import quote

_SPACE: Final = " \t\r\n"


class T:
    """Kinds of tokens, as numbers: a member of an enum takes longer to read than a token."""

    EOF: Final = 0
    CLOSE: Final = 1
    FIELD: Final = 2
    IDENTIFIER: Final = 3
    STRING: Final = 4
    VARIABLE: Final = 5
    PIPE: Final = 6
    LEFT: Final = 7
    RIGHT: Final = 8
    DECLARE: Final = 9
    ASSIGN: Final = 10
    COMMA: Final = 11
    NUMBER: Final = 12
    DOT: Final = 13
    CHARACTER: Final = 14
    TEXT: Final = 15
    OPEN: Final = 16
    KEYWORD: Final = 17
    NIL: Final = 18
    BOOL: Final = 19
    COMPLEX: Final = 20
    OTHER: Final = 21
    ERROR: Final = 22


class Token(NamedTuple):
    """A token: its kind, its text, where it starts, and whether space stands before it."""

    kind: int
    text: str
    pos: int
    spaced: bool


_WORD_END: Final = r"(?=[ \t\r\n.,|:)(]|\}\}|\Z)"
_NUMBER: Final = (
    r"(?=[+\-0-9]|\.[0-9])[+-]?+"
    r"(?>0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?+"
)
# The number of a group is the kind of its token.
_TOKEN: Final = re.compile(
    r"[ \t\r\n]*+(?:"
    r"((?<=[ \t\r\n])-\}\}|\}\})"
    rf"|(\.(?![0-9])\w++{_WORD_END})"
    rf"|([^\W0-9]\w*+{_WORD_END})"
    r'|("(?>[^"\\\n]+|\\[^\n])*+"|`[^`]*+`)'
    rf"|(\$\w*+{_WORD_END})"
    r"|(\|)|(\()|(\))|(:=)|(=)|(,)"
    rf"|({_NUMBER}(?![\w+\-]))"
    rf"|(\.{_WORD_END})"
    r"|('(?>[^'\\\n]+|\\[^\n])*+')"
    r")"
)
_BARE_NUMBER: Final = re.compile(_NUMBER)
_MARKS: Final = frozenset({T.CLOSE, T.LEFT, T.RIGHT, T.ERROR})
_DEPTHS: Final = {T.LEFT: 1, T.RIGHT: -1}
# What Token() does, without the cost of a call: there are thousands of tokens.
_new: Final = tuple.__new__
_WORDS: Final = {
    "true": T.BOOL,
    "false": T.BOOL,
    "nil": T.NIL,
} | dict.fromkeys(
    ("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"),
    T.KEYWORD,
)
_WORD: Final = re.compile(r"[.$]?\w*")
_UNFINISHED: Final = {
    "": "unclosed action",
    ":": "expected :=",
    '"': "unterminated quoted string",
    "`": "unterminated raw quoted string",
    "'": "unterminated character constant",
}
_TEXT_UNTIL: Final = re.compile(r"\{\{(?:-(?=[ \t\r\n]))?")
_LEFT_TRIM: Final = re.compile(r"[ \t\r\n]*")


def tokenize(source: str, functions: frozenset[str], maximum: int) -> list[Token]:
    """Split a template into tokens; the last one is EOF or ERROR.

    Args:
        source: the template.
        functions: names that are functions even though they are the words `break` or `continue`.
        maximum: how many tokens there may be.

    Raises:
        LimitError: there are more.
    """
    tokens: list[Token] = []
    words = {word: kind for word, kind in _WORDS.items() if word not in functions}
    position = 0
    while True:
        opening = _TEXT_UNTIL.search(source, position)
        if opening is None:
            if position < len(source):
                tokens.append(Token(T.TEXT, source[position:], position, False))
            tokens.append(Token(T.EOF, "EOF", len(source), False))
            return tokens
        trims = opening.end() - opening.start() == 3
        text = source[position : opening.start()]
        if trims:
            text = text.rstrip(_SPACE)
        if text:
            tokens.append(Token(T.TEXT, text, position, False))
        inside = opening.end() + trims
        if source.startswith("/*", inside):
            end = _comment(source, inside, tokens)
        else:
            tokens.append(Token(T.OPEN, "{{", opening.start(), False))
            end = _action(source, inside, tokens, words, maximum)
        if end < 0:
            return tokens
        position = end


def _comment(source: str, start: int, tokens: list[Token]) -> int:
    close = source.find("*/", start + 2)
    if close < 0:
        tokens.append(Token(T.ERROR, "unclosed comment", start, False))
        return -1
    if source.startswith("}}", close + 2):
        return close + 4
    if source[close + 2 : close + 3] in _SPACE and source.startswith("-}}", close + 3):
        return _skip_space(source, close + 6)
    tokens.append(Token(T.ERROR, "comment ends before closing delimiter", start, False))
    return -1


def _skip_space(source: str, position: int) -> int:
    match = _LEFT_TRIM.match(source, position)
    return match.end() if match else position


def _action(
    source: str, start: int, tokens: list[Token], words: dict[str, int], maximum: int
) -> int:
    """Read one action up to its closing delimiter; return the position after it, or -1."""
    position, depth = start, 0
    read, append = _TOKEN.match, tokens.append
    while len(tokens) <= maximum:
        token = _token(source, position, read(source, position), words)
        kind = token.kind
        if kind not in _MARKS:
            append(token)
            position = token.pos + len(token.text)
            continue
        if kind == T.CLOSE and not depth:
            append(token)
            end = token.pos + len(token.text)
            return end if token.text == "}}" else _skip_space(source, end)
        depth += _DEPTHS.get(kind, 0)
        if kind == T.CLOSE:
            token = Token(T.ERROR, "unclosed left paren", token.pos, False)
        elif depth < 0:
            token = Token(T.ERROR, "unexpected right paren", token.pos, False)
        append(token)
        if token.kind == T.ERROR:
            return -1
        position = token.pos + len(token.text)
    raise LimitError("tokens", maximum)


def _token(source: str, position: int, match: re.Match[str] | None, words: dict[str, int]) -> Token:
    if match is None or match.lastindex is None:
        return _odd_token(source, position)
    kind = match.lastindex
    text = match[kind]
    begin = match.end() - len(text)
    if kind == T.IDENTIFIER:
        kind = words.get(text, kind)
    elif kind == T.DOT and match.end() == len(source):
        kind = T.NUMBER  # Go looks at what follows the point to tell it from a number
    elif kind == T.CLOSE and begin == position and text != "}}":
        # The space belongs to the opening delimiter, so this is a lonely minus sign.
        return Token(T.NUMBER, "-", begin, False)
    return _new(Token, (kind, text, begin, begin > position))


def _odd_token(source: str, position: int) -> Token:
    """Return the token that the expression cannot match: a complex number, a mark, an error."""
    begin = _skip_space(source, position)
    spaced = begin > position
    first = source[begin : begin + 1]
    if first in _UNFINISHED:
        return Token(T.ERROR, _UNFINISHED[first], begin, spaced)
    if first in "+-0123456789" or (first == "." and source[begin + 1] in "0123456789"):
        return _odd_number(source, begin, spaced)
    if first in ".$_" or first.isalnum():
        word = _WORD.match(source, begin)
        bad = source[word.end() if word else begin]
        return Token(T.ERROR, f"bad character {_unicode(bad)}", begin, spaced)
    if " " <= first <= "~":
        return Token(T.OTHER, first, begin, spaced)
    message = f"unrecognized character in action: {_unicode(first)}"
    return Token(T.ERROR, message, begin, spaced)


def _odd_number(source: str, begin: int, spaced: bool) -> Token:
    match = _BARE_NUMBER.match(source, begin)
    assert match is not None
    end = match.end()
    if source[end : end + 1] in ("+", "-"):
        second = _BARE_NUMBER.match(source, end)
        assert second is not None
        end = second.end()
        if source[end - 1] == "i" and not _is_word(source[end : end + 1]):
            return Token(T.COMPLEX, source[begin:end], begin, spaced)
    end += _is_word(source[end : end + 1])
    message = f"bad number syntax: {quote(source[begin:end])}"
    return Token(T.ERROR, message, begin, spaced)


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _unicode(character: str) -> str:
    """Write a character as Go's %#U does."""
    name = f"U+{ord(character):04X}"
    return f"{name} '{character}'" if character.isprintable() else name
