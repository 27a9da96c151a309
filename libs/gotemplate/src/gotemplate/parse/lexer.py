"""Splits template text into tokens, by the rules of Go's text/template.

One pass, driven by one regular expression inside actions; no state survives it. A token knows
whether space stood before it, so spaces are no tokens of their own. Fields in a row (`.a.b`) are
one token of kind FIELD. The actions that templates have most are one token each: of kind PRINTED
what prints a variable or fields (`{{ $a.b }}`), of kind BRANCH_END `{{ end }}` and `{{ else }}`.
`Limits.tokens` counts all of them as the tokens that Go has for them. What cannot be read becomes a
final token of kind ERROR: the parser reports it only when it gets there, as Go does.

`Stream` hands the tokens to the parsers, and makes errors at the place they are at.
"""

import re
from typing import Final, NamedTuple

from gotemplate.errors import LimitError, TemplateError
from gotemplate.golang.literals import quote, unquote

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
    PRINTED: Final = 23
    BRANCH_END: Final = 24


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
_CLOSE: Final = r"((?<=[ \t\r\n])-\}\}|\}\})"
_FIELD: Final = rf"(?:\.(?![0-9])\w++{_WORD_END})"
_VARIABLE: Final = rf"\$\w*+{_WORD_END}"
# The number of a group is the kind of its token.
_TOKEN: Final = re.compile(
    r"[ \t\r\n]*+(?:"
    rf"{_CLOSE}|({_FIELD}+)"
    rf"|([^\W0-9]\w*+{_WORD_END})"
    r'|("(?>[^"\\\n]+|\\[^\n])*+"|`[^`]*+`)'
    rf"|({_VARIABLE})"
    r"|(\|)|(\()|(\))|(:=)|(=)|(,)"
    rf"|({_NUMBER}(?![\w+\-]))"
    rf"|(\.{_WORD_END})"
    r"|('(?>[^'\\\n]+|\\[^\n])*+')"
    r")"
)
_BARE_NUMBER: Final = re.compile(_NUMBER)
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
# The begin of an action, and the whole of one that is one token. It ends on the line it is on:
# errors are on the line of the last token that was looked at.
_OPENING: Final = re.compile(
    r"\{\{(-(?=[ \t\r\n]))?"
    rf"(?:[ \t\r\n]*+(?:({_FIELD}+|{_VARIABLE}{_FIELD}*)|(end|else))"
    r"[ \t]*+(?:(?<=[ \t])-\}\}[ \t\r\n]*+|\}\}))?"
)
_DASH: Final = 1  # the number of its group; the others are what is one token
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
    lexer = _Lexer(source, functions, maximum)
    lexer.run()
    return lexer.tokens


class _Lexer:
    """One pass over one source.

    Attributes:
        tokens: what was read.
    """

    __slots__ = ("_maximum", "_room", "_source", "_words", "tokens")

    def __init__(self, source: str, functions: frozenset[str], maximum: int) -> None:
        self._source = source
        self._words = {word: kind for word, kind in _WORDS.items() if word not in functions}
        self._maximum = maximum
        # How many of our tokens there may be: the maximum counts each of Go's tokens.
        self._room = maximum
        self.tokens: list[Token] = []

    def run(self) -> None:
        """Read the source.

        Raises:
            LimitError: there are too many tokens.
        """
        source, append, search = self._source, self.tokens.append, _OPENING.search
        position = 0
        while (opening := search(source, position)) is not None:
            begin, end = opening.span()
            trims = opening[_DASH] is not None
            text = source[position:begin]
            if trims:
                text = text.rstrip(_SPACE)
            if text:
                append(_new(Token, (T.TEXT, text, position, False)))
            group = opening.lastindex
            if group is not None and group > _DASH:
                self._whole(opening[group], opening.start(group))
                position = end
                continue
            inside = end + trims
            if source.startswith("/*", inside):
                position = _comment(source, inside, self.tokens)
            else:
                append(_new(Token, (T.OPEN, "{{", begin, False)))
                position = self._action(inside)
            if position < 0:
                return
        if position < len(source):
            append(Token(T.TEXT, source[position:], position, False))
        append(Token(T.EOF, "EOF", len(source), False))

    def _whole(self, text: str, begin: int) -> None:
        """Add an action that is one token; for Go it is `{{`, what stands inside, and `}}`."""
        dots = text.count(".")
        kind = T.BRANCH_END if text in ("end", "else") else T.PRINTED
        self._room -= dots + 1 if text[0] == "." else dots + 2
        self.tokens.append(_new(Token, (kind, text, begin, False)))
        # The last of an action's tokens counts when another is read.
        if len(self.tokens) - 1 > self._room:
            raise LimitError("tokens", self._maximum)

    def _action(self, position: int) -> int:
        """Read an action up to its closing delimiter; return the position after it, or -1."""
        source, words, tokens = self._source, self._words, self.tokens
        append, read = tokens.append, _TOKEN.match
        depth = 0
        while len(tokens) <= self._room:
            match = read(source, position)
            if match is None or (kind := match.lastindex) is None:
                odd = _odd_token(source, position)
                append(odd)
                if odd.kind == T.ERROR:
                    return -1
                position = odd.pos + len(odd.text)
                continue
            end = match.end()
            text = match[kind]
            begin = end - len(text)
            if kind == T.FIELD:
                self._room -= text.count(".") - 1
            elif kind == T.IDENTIFIER:
                kind = words.get(text, kind)
            elif kind in _DEPTHS:
                depth += _DEPTHS[kind]
                if depth < 0:
                    append(Token(T.ERROR, "unexpected right paren", begin, False))
                    return -1
            elif kind == T.CLOSE:
                if begin > position or text == "}}":
                    return self._close(text, begin, depth)
                # The space belongs to the opening delimiter, so this is a lonely minus sign.
                kind, text, end = T.NUMBER, "-", begin + 1
            elif kind == T.DOT and end == len(source):
                kind = T.NUMBER  # Go looks at what follows the point to tell it from a number
            append(_new(Token, (kind, text, begin, begin > position)))
            position = end
        raise LimitError("tokens", self._maximum)

    def _close(self, text: str, begin: int, depth: int) -> int:
        """End an action at its closing delimiter, with so many parentheses open."""
        if depth:
            self.tokens.append(Token(T.ERROR, "unclosed left paren", begin, False))
            return -1
        self.tokens.append(_new(Token, (T.CLOSE, text, begin, False)))
        return begin + 2 if text == "}}" else _skip_space(self._source, begin + 3)


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


class Stream:
    """Tokens to read, and the line that errors name: that of the last token looked at.

    Attributes:
        tokens: all tokens; the last one is EOF or an error, and comes twice.
        position: index of the next token.
        action: where the action being read begins in the source; -1 outside of actions.
    """

    __slots__ = ("_name", "_seen", "_source", "action", "position", "tokens")

    def __init__(self, name: str, source: str, tokens: list[Token]) -> None:
        self._name = name
        self._source = source
        # Whoever reads the last token may look at the one after it, and finds the same.
        self.tokens = [*tokens, tokens[-1]]
        self.position = 0
        self.action = -1
        self._seen = 0

    def next(self) -> Token:
        """Read a token."""
        index = self.position
        self.position = index + 1
        if index >= self._seen:
            self._seen = index + 1
        return self.tokens[index]

    def peek(self) -> Token:
        """Look at the next token."""
        index = self.position
        if index >= self._seen:
            self._seen = index + 1
        return self.tokens[index]

    @property
    def line(self) -> int:
        """The line the parser is in."""
        return self._line(self.tokens[max(self._seen - 1, 0)].pos)

    def _line(self, pos: int) -> int:
        return self._source.count("\n", 0, pos) + 1

    def error(self, message: str) -> TemplateError:
        """Make the error of the place the parser is at."""
        return TemplateError(self._name, message, line=self.line)

    def unexpected(self, token: Token, context: str) -> TemplateError:
        """Make the error of a token that cannot stand where it does."""
        if token.kind != T.ERROR:
            return self.error(f"unexpected {_spell(token)} in {context}")
        extra = ""
        if self.action >= 0:
            line = self._line(self.action)
            if line != self._line(token.pos):
                extra = f" in action started at {self._name}:{line}"
                if token.text.endswith(" action"):
                    extra = extra.removeprefix(" in action")
        return self.error(token.text + extra)

    def unquote(self, literal: str) -> str:
        """Read a string.

        Raises:
            TemplateError: it is not a string literal.
        """
        try:
            return unquote(literal)
        except ValueError as error:
            raise self.error(str(error)) from error


def _spell(token: Token) -> str:
    """Write a token as Go's messages do."""
    if token.kind == T.EOF:
        return token.text
    if token.kind == T.CLOSE:
        return '"}}"'
    if token.kind in (T.KEYWORD, T.NIL, T.DOT):
        return f"<{token.text}>"
    text = token.text
    if token.kind == T.FIELD:
        text = "." + text.split(".", 2)[1]  # fields in a row are a token each in Go
    if len(text.encode("utf-8", "surrogatepass")) > 10:
        return quote(text[:10]) + "..."
    return quote(text)
