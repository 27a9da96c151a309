"""The tokens of one source, one after the other, and errors at the place they are at."""

from gotemplate.errors import TemplateError
from gotemplate.golang.literals import unquote
from gotemplate.golang.quoting import quote
from gotemplate.parse.lexer import T, Token


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
