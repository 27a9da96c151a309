"""Parses pipelines: commands, operands and numbers, and the variables in scope.

A number (Go: an ideal constant) keeps every type that can hold it; the place where it is used
decides which one counts.
"""

from collections.abc import Collection
from typing import Final

from gotemplate.errors import LimitError
from gotemplate.golang.literals import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    character,
    parse_float,
    parse_integer,
    quote,
)
from gotemplate.parse import nodes
from gotemplate.parse.lexer import Stream, T, Token
from gotemplate.rendering import Limits


def number(token: Token) -> nodes.Number:
    """Read a number token.

    Raises:
        ValueError: it is not a number; the text is Go's.
    """
    if token.kind == T.CHARACTER:
        code = character(token.text)
        return nodes.Number(token.pos, token.text, code, code, float(code))
    if token.kind == T.COMPLEX or token.text.endswith("i"):
        return _complex(token)
    whole = parse_integer(token.text)
    if whole is not None and whole <= UINT_MAX and whole >= INT_MIN:
        integer = whole if whole <= INT_MAX else None
        # Go's ParseUint takes no sign; -0 counts as 0 all the same.
        unsigned = whole if whole >= 0 and token.text[0] != "+" else None
        if integer is not None or unsigned is not None:
            return nodes.Number(token.pos, token.text, integer, unsigned, float(whole))
    return _float(token)


def _float(token: Token) -> nodes.Number:
    text = token.text
    value = parse_float(text)
    if value is None:
        raise ValueError(f"illegal number syntax: {quote(text)}")
    # It looks like an integer: Go does not make a float of one that is too large.
    if not any(mark in text for mark in ".eEpP"):
        raise ValueError(f"integer overflow: {quote(text)}")
    integer = int(value) if value.is_integer() and INT_MIN <= value <= INT_MAX else None
    unsigned = int(value) if value.is_integer() and 0 <= value <= UINT_MAX else None
    return nodes.Number(token.pos, text, integer, unsigned, value)


def _complex(token: Token) -> nodes.Number:
    text = token.text.removesuffix("i")
    split = max(text.rfind(mark) for mark in "+-") if token.kind == T.COMPLEX else 0
    # That sign belongs to an exponent, not to the imaginary part.
    while split > 0 and text[split - 1] in "eEpP":
        split = max(text.rfind(mark, 0, split) for mark in "+-")
    split = max(split, 0)
    parts = [parse_float(part) for part in (text[:split] or "0", text[split:])]
    real, imaginary = parts
    if real is None or imaginary is None:
        raise ValueError(f"illegal number syntax: {quote(token.text)}")
    return nodes.Number(token.pos, token.text, complex_value=complex(real, imaginary))


def ideal(constant: nodes.Number) -> int | float | complex | None:
    """Return the value of a constant where any type will do; None when no int can hold it."""
    if constant.complex_value is not None:
        return constant.complex_value
    text = constant.text
    is_hex = text[:2] in ("0x", "0X") and not any(mark in text for mark in "pP")
    has_mark = any(mark in text for mark in ".eEpP")
    # Digits of a hexadecimal number and characters in quotes may look like an exponent.
    if constant.floating is not None and has_mark and not is_hex and text[0] != "'":
        return constant.floating
    return constant.integer


_NUMBERS: Final = frozenset({T.NUMBER, T.COMPLEX, T.CHARACTER})
_OPERANDS: Final = _NUMBERS | {
    T.FIELD,
    T.IDENTIFIER,
    T.STRING,
    T.VARIABLE,
    T.LEFT,
    T.DOT,
    T.NIL,
    T.BOOL,
}
_NOTHING: Final[tuple[tuple[nodes.Variable, ...], bool]] = ((), False)
_CONSTANTS: Final = (nodes.Bool, nodes.Dot, nodes.Nil, nodes.Number, nodes.String)


class Pipelines:
    """Read the pipelines of a source.

    Attributes:
        level: blocks and parentheses around the place.
        declared: names of the variables in scope, in the order of their declarations.
    """

    def __init__(self, stream: Stream, functions: Collection[str], limits: Limits) -> None:
        self._stream = stream
        self._functions = functions
        self._limits = limits
        self.level = 0
        self.declared: list[str] = []
        self._variables: dict[str, int] = {"$": 1}

    def enter(self) -> None:
        """Go one level deeper.

        Raises:
            LimitError: that is too deep.
        """
        self.level += 1
        if self.level > self._limits.nesting:
            raise LimitError("nesting", self._limits.nesting)

    def fresh(self) -> tuple[dict[str, int], list[str]]:
        """Begin a template with no variable but `$`; return what `restore` needs."""
        saved = self._variables, self.declared
        self._variables, self.declared = {"$": 1}, []
        return saved

    def restore(self, saved: tuple[dict[str, int], list[str]]) -> None:
        """End the template that `fresh` began."""
        self._variables, self.declared = saved

    def _declare(self, name: str) -> None:
        self.declared.append(name)
        self._variables[name] = self._variables.get(name, 0) + 1

    def forget(self, scope: int) -> None:
        """End the scope that began when so many variables were declared."""
        while len(self.declared) > scope:
            self._variables[self.declared.pop()] -= 1

    def pipeline(self, context: str, end: int) -> nodes.Pipe:
        """Read a pipeline up to the token that ends it.

        Raises:
            TemplateError: there is none; the text is Go's.
            LimitError: parentheses are too deep.
        """
        token = self._stream.peek()
        pos = token.pos
        declared, is_assign = _NOTHING
        if token.kind == T.VARIABLE:
            declared, is_assign = self._declarations(context)
        commands: list[nodes.Command] = []
        while True:
            token = self._stream.peek()
            if token.kind == end:
                self._stream.next()
                self._check(commands, context)
                return nodes.Pipe(pos, declared, is_assign, tuple(commands))
            if token.kind not in _OPERANDS:
                self._stream.next()
                raise self._stream.unexpected(token, context)
            commands.append(self._command(token.pos))

    def printed(self, token: Token) -> nodes.Pipe:
        """Return the pipeline of an action that is one token.

        Raises:
            TemplateError: it prints an unknown variable.
        """
        pos, text = token.pos, token.text
        operand: nodes.Operand
        if text[0] == ".":
            operand = _fields_of_dot(token)
        else:
            name, *names = text.split(".")
            self._check_variable(name)
            operand = nodes.Variable(pos + len(name) if names else pos, name, tuple(names))
        return nodes.Pipe(pos, (), False, (nodes.Command(pos, (operand,)),))

    def _check_variable(self, name: str) -> None:
        if not self._variables.get(name):
            raise self._stream.error(f"undefined variable {quote(name)}")

    def _declarations(self, context: str) -> tuple[tuple[nodes.Variable, ...], bool]:
        variables: list[nodes.Variable] = []
        while (token := self._stream.peek()).kind == T.VARIABLE:
            self._stream.position += 1
            sign = self._stream.peek().kind
            if sign not in (T.ASSIGN, T.DECLARE, T.COMMA):
                self._stream.position -= 1
                break
            self._stream.next()
            variables.append(nodes.Variable(token.pos, token.text))
            self._declare(token.text)
            if sign != T.COMMA:
                return tuple(variables), sign == T.ASSIGN
            # Only `range` gives two values: key and item.
            if context != "range" or len(variables) > 1:
                raise self._stream.error(f"too many declarations in {context}")
            if self._stream.peek().kind not in (T.VARIABLE, T.CLOSE, T.RIGHT):
                raise self._stream.error("range can only initialize variables")
        return tuple(variables), False

    def _check(self, commands: list[nodes.Command], context: str) -> None:
        if not commands:
            raise self._stream.error(f"missing value for {context}")
        if len(commands) == 1:
            return
        # A constant can begin a pipeline, and takes no argument from the stage before it.
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.args[0], _CONSTANTS):
                raise self._stream.error(f"non executable command in pipeline stage {stage}")

    def _command(self, pos: int) -> nodes.Command:
        args = [self._operand()]
        while True:
            token = self._stream.peek()
            kind = token.kind
            if kind == T.CLOSE or kind == T.RIGHT:
                break
            if kind == T.PIPE:
                self._stream.next()
                break
            if not token.spaced or kind not in _OPERANDS:
                self._stream.next()
                raise self._stream.unexpected(token, "operand")
            args.append(self._operand())
        return nodes.Command(pos, tuple(args))

    def _operand(self) -> nodes.Operand:
        token = self._stream.next()
        if token.kind == T.FIELD:
            return _fields_of_dot(token)
        if token.kind == T.VARIABLE:
            self._check_variable(token.text)
            pos, names = self._fields(token.pos)
            return nodes.Variable(pos, token.text, names)
        node = self._term(token)
        following = self._stream.peek()
        if following.kind != T.FIELD or following.spaced:
            return node
        pos, names = self._fields(token.pos)
        # Go allows fields of parentheses and of the result of a function, of no other term.
        if isinstance(node, nodes.Pipe | nodes.Identifier):
            return nodes.Chain(pos, node, names)
        raise self._stream.error(f"unexpected . after term {quote(str(node))}")

    def _fields(self, pos: int) -> tuple[int, tuple[str, ...]]:
        """Read the fields that follow without a space; return where they begin, else `pos`."""
        token = self._stream.peek()
        if token.kind != T.FIELD or token.spaced:
            return pos, ()
        self._stream.next()
        self._stream.peek()  # Go looks at the token behind, too: its errors name that line
        return token.pos, tuple(token.text.split(".")[1:])

    def _term(self, token: Token) -> nodes.Operand:
        match token.kind:
            case T.IDENTIFIER:
                if token.text not in self._functions:
                    raise self._stream.error(f"function {quote(token.text)} not defined")
                return nodes.Identifier(token.pos, token.text)
            case T.STRING:
                return nodes.String(token.pos, token.text, self._stream.unquote(token.text))
            case T.LEFT:
                self.enter()
                pipe = self.pipeline("parenthesized pipeline", T.RIGHT)
                self.level -= 1
                return pipe
            case T.DOT:
                return nodes.Dot(token.pos)
            case T.NIL:
                return nodes.Nil(token.pos)
            case T.BOOL:
                return nodes.Bool(token.pos, token.text == "true")
            case _:
                return self._number(token)

    def _number(self, token: Token) -> nodes.Number:
        try:
            return number(token)
        except ValueError as error:
            raise self._stream.error(str(error)) from error


def _fields_of_dot(token: Token) -> nodes.Field:
    """Return the fields of a token; they are where the second one is, if there is one, as in Go."""
    names = token.text[1:].split(".")
    pos = token.pos if len(names) == 1 else token.pos + len(names[0]) + 1
    return nodes.Field(pos, tuple(names))
