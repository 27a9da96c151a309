"""Tokens to a tree, by the grammar of Go's text/template.

Functions and variables are checked here, so a template that names an unknown one never runs.
Recursion is bounded by `Limits.nesting`: parentheses, blocks and `else if` each count as one
level, which also bounds whoever walks the tree afterwards.
"""

from collections.abc import Collection
from typing import Final

from gotemplate import nodes
from gotemplate.constants import number
from gotemplate.errors import LimitError, TemplateError
from gotemplate.lexer import T, Token, tokenize
from gotemplate.limits import Limits
from gotemplate.literals import unquote
from gotemplate.quoting import quote

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
_BLOCKS: Final[dict[str, type[nodes.If | nodes.With | nodes.Range]]] = {
    "if": nodes.If,
    "with": nodes.With,
    "range": nodes.Range,
}


class _Mark:
    """What ends a list of nodes: `{{end}}` or `{{else}}`."""

    def __init__(self, text: str) -> None:
        self.text = text


_END: Final = _Mark("{{end}}")
_ELSE: Final = _Mark("{{else}}")


def parse(
    name: str, source: str, functions: Collection[str], limits: Limits | None = None
) -> nodes.Tree:
    """Parse a template.

    Raises:
        TemplateError: the text is no template, names an unknown function or variable, or is too
            long or too deeply nested.
    """
    parser = None
    try:
        parser = Parser(name, source, functions, limits or Limits())
        return parser.parse()
    except LimitError as error:
        line = parser.line if parser is not None else 0
        raise TemplateError(name, str(error), line=line, limit=error.limit) from error


class Parser:
    """One parse of one source; used once."""

    def __init__(self, name: str, source: str, functions: Collection[str], limits: Limits) -> None:
        self._name = name
        self._source = source
        self._functions = functions
        self._limits = limits
        if len(source) > limits.source:
            raise LimitError("source", limits.source)
        words = frozenset({"break", "continue"} & set(functions))
        self._tokens = tokenize(source, words, limits.tokens)
        # Whoever reads the last token may look at the one after it, and finds the same.
        self._tokens.append(self._tokens[-1])
        self._next_index = 0
        self._seen = 0
        self._level = 0
        self._loops = 0
        self._action_pos = -1
        self._variables: dict[str, int] = {"$": 1}
        self._declared: list[str] = []
        self._templates: dict[str, nodes.Body] = {}

    # Tokens

    def _next(self) -> Token:
        index = self._next_index
        self._next_index = index + 1
        if index >= self._seen:
            self._seen = index + 1
        return self._tokens[index]

    def _peek(self) -> Token:
        index = self._next_index
        if index >= self._seen:
            self._seen = index + 1
        return self._tokens[index]

    @property
    def line(self) -> int:
        """The line the parser is in."""
        return self._line(self._tokens[max(self._seen - 1, 0)].pos)

    def _error(self, message: str) -> TemplateError:
        return TemplateError(self._name, message, line=self.line)

    def _line(self, pos: int) -> int:
        return self._source.count("\n", 0, pos) + 1

    def _unexpected(self, token: Token, context: str) -> TemplateError:
        if token.kind is not T.ERROR:
            return self._error(f"unexpected {_spell(token)} in {context}")
        extra = ""
        if self._action_pos >= 0:
            line = self._line(self._action_pos)
            if line != self._line(token.pos):
                extra = f" in action started at {self._name}:{line}"
                if token.text.endswith(" action"):
                    extra = extra.removeprefix(" in action")
        return self._error(token.text + extra)

    def _enter(self) -> None:
        self._level += 1
        if self._level > self._limits.nesting:
            raise LimitError("nesting", self._limits.nesting)

    # Bodies

    def parse(self) -> nodes.Tree:
        found: list[nodes.Node] = []
        while (token := self._peek()).kind is not T.EOF:
            if token.kind is T.OPEN and self._is_define():
                self._definition()
                continue
            node = self._text_or_action()
            if isinstance(node, _Mark):
                raise self._error(f"unexpected {node.text}")
            found.append(node)
        root = nodes.Body(tuple(found))
        self._add(self._name, root)
        return nodes.Tree(self._name, self._source, self._templates[self._name], self._templates)

    def _is_define(self) -> bool:
        word = self._tokens[self._next_index + 1]
        return word.kind is T.KEYWORD and word.text == "define"

    def _definition(self) -> None:
        self._next_index += 2
        context = "define clause"
        token = self._next()
        if token.kind is not T.STRING:
            raise self._unexpected(token, context)
        name = self._unquote(token.text)
        close = self._next()
        if close.kind is not T.CLOSE:
            raise self._unexpected(close, context)
        self._add(name, self._own_body(context))

    def _own_body(self, context: str) -> nodes.Body:
        """Read a body that has its own variables and loops, up to its end."""
        saved = self._variables, self._declared, self._loops, self._action_pos
        self._variables, self._declared, self._loops, self._action_pos = {"$": 1}, [], 0, -1
        self._enter()
        body, mark = self._body()
        if mark is not _END:
            raise self._error(f"unexpected {mark.text} in {context}")
        self._level -= 1
        self._variables, self._declared, self._loops, self._action_pos = saved
        return body

    def _add(self, name: str, body: nodes.Body) -> None:
        known = self._templates.get(name)
        if known is None or _is_empty(known):
            self._templates[name] = body
        elif not _is_empty(body):
            raise self._error(f"template: multiple definition of template {quote(name)}")

    def _body(self) -> tuple[nodes.Body, _Mark]:
        found: list[nodes.Node] = []
        while self._peek().kind is not T.EOF:
            node = self._text_or_action()
            if isinstance(node, _Mark):
                return nodes.Body(tuple(found)), node
            found.append(node)
        raise self._error("unexpected EOF")

    def _text_or_action(self) -> nodes.Node | _Mark:
        token = self._next()
        if token.kind is T.TEXT:
            return nodes.Text(token.pos, token.text)
        if token.kind is not T.OPEN:
            raise self._unexpected(token, "input")
        self._action_pos = token.pos
        try:
            return self._action()
        finally:
            self._action_pos = -1

    # Actions

    def _action(self) -> nodes.Node | _Mark:
        token = self._peek()
        if token.kind is not T.KEYWORD or token.text == "define":
            return nodes.Action(token.pos, self._pipeline("command", T.CLOSE))
        self._next()
        match token.text:
            case "if" | "with" | "range":
                return self._control(token.text)
            case "end":
                return self._close("end", _END)
            case "else":
                following = self._peek()
                if following.kind is T.KEYWORD and following.text in ("if", "with"):
                    return _ELSE
                return self._close("else", _ELSE)
            case "break" | "continue":
                return self._jump(token)
            case "template":
                return self._template()
            case _:
                return self._block()

    def _close(self, context: str, mark: _Mark) -> _Mark:
        token = self._next()
        if token.kind is not T.CLOSE:
            raise self._unexpected(token, context)
        return mark

    def _jump(self, word: Token) -> nodes.Node:
        token = self._next()
        if token.kind is not T.CLOSE:
            raise self._unexpected(token, f"{{{{{word.text}}}}}")
        if self._loops == 0:
            raise self._error(f"{{{{{word.text}}}}} outside {{{{range}}}}")
        return nodes.Break(word.pos) if word.text == "break" else nodes.Continue(word.pos)

    def _control(self, word: str) -> nodes.Block:
        scope, level = len(self._declared), self._level
        branches: list[tuple[nodes.Pipe, nodes.Body]] = []
        otherwise: nodes.Body | None = None
        while True:
            self._enter()
            pipe = self._pipeline(word, T.CLOSE)
            self._loops += word == "range"
            body, mark = self._body()
            self._loops -= word == "range"
            branches.append((pipe, body))
            if mark is _END:
                break
            following = self._peek()
            if word != "range" and following.kind is T.KEYWORD and following.text == word:
                self._next()
                continue
            otherwise, mark = self._body()
            if mark is not _END:
                raise self._error(f"expected end; found {mark.text}")
            break
        self._level = level
        self._forget(scope)
        return _fold(word, branches, otherwise)

    def _template(self) -> nodes.Node:
        context = "template clause"
        token = self._next()
        name = self._template_name(token, context)
        if self._peek().kind is T.CLOSE:
            self._next()
            return nodes.Template(token.pos, name, None)
        return nodes.Template(token.pos, name, self._pipeline(context, T.CLOSE))

    def _block(self) -> nodes.Node:
        context = "block clause"
        token = self._next()
        name = self._template_name(token, context)
        pipe = self._pipeline(context, T.CLOSE)
        self._add(name, self._own_body(context))
        return nodes.Template(token.pos, name, pipe)

    def _template_name(self, token: Token, context: str) -> str:
        if token.kind is not T.STRING:
            raise self._unexpected(token, context)
        return self._unquote(token.text)

    def _unquote(self, literal: str) -> str:
        try:
            return unquote(literal)
        except ValueError as error:
            raise self._error(str(error)) from error

    # Variables

    def _declare(self, name: str) -> None:
        self._declared.append(name)
        self._variables[name] = self._variables.get(name, 0) + 1

    def _forget(self, scope: int) -> None:
        while len(self._declared) > scope:
            self._variables[self._declared.pop()] -= 1

    # Pipelines

    def _pipeline(self, context: str, end: T) -> nodes.Pipe:
        pos = self._peek().pos
        declared, is_assign = self._declarations(context)
        commands: list[nodes.Command] = []
        while True:
            token = self._peek()
            if token.kind is end:
                self._next()
                self._check(commands, context)
                return nodes.Pipe(pos, declared, is_assign, tuple(commands))
            if token.kind not in _OPERANDS:
                self._next()
                raise self._unexpected(token, context)
            commands.append(self._command())

    def _declarations(self, context: str) -> tuple[tuple[nodes.Variable, ...], bool]:
        found: list[nodes.Variable] = []
        while (token := self._peek()).kind is T.VARIABLE:
            self._next_index += 1
            sign = self._peek().kind
            if sign not in (T.ASSIGN, T.DECLARE, T.COMMA):
                self._next_index -= 1
                break
            self._next()
            found.append(nodes.Variable(token.pos, token.text))
            self._declare(token.text)
            if sign is not T.COMMA:
                return tuple(found), sign is T.ASSIGN
            if context != "range" or len(found) > 1:
                raise self._error(f"too many declarations in {context}")
            if self._peek().kind not in (T.VARIABLE, T.CLOSE, T.RIGHT):
                raise self._error("range can only initialize variables")
        return tuple(found), False

    def _check(self, commands: list[nodes.Command], context: str) -> None:
        if not commands:
            raise self._error(f"missing value for {context}")
        constants = (nodes.Bool, nodes.Dot, nodes.Nil, nodes.Number, nodes.String)
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.args[0], constants):
                raise self._error(f"non executable command in pipeline stage {stage}")

    def _command(self) -> nodes.Command:
        pos = self._peek().pos
        args = [self._operand()]
        while True:
            token = self._peek()
            kind = token.kind
            if kind is T.CLOSE or kind is T.RIGHT:
                break
            if kind is T.PIPE:
                self._next()
                break
            if not token.spaced or kind not in _OPERANDS:
                self._next()
                raise self._unexpected(token, "operand")
            args.append(self._operand())
        return nodes.Command(pos, tuple(args))

    def _operand(self) -> nodes.Operand:
        node = self._term()
        token = self._peek()
        if token.kind is not T.FIELD or token.spaced:
            return node
        fields: list[str] = []
        pos = token.pos
        while True:
            fields.append(self._next().text[1:])
            following = self._peek()
            if following.kind is not T.FIELD or following.spaced:
                break
        return self._with_fields(node, pos, fields)

    def _with_fields(self, node: nodes.Operand, pos: int, fields: list[str]) -> nodes.Operand:
        if isinstance(node, nodes.Field):
            return nodes.Field(pos, (*node.names, *fields))
        if isinstance(node, nodes.Variable):
            return nodes.Variable(pos, node.name, tuple(fields))
        if isinstance(node, nodes.Pipe | nodes.Identifier):
            return nodes.Chain(pos, node, tuple(fields))
        raise self._error(f"unexpected . after term {quote(str(node))}")

    def _term(self) -> nodes.Operand:
        token = self._next()
        match token.kind:
            case T.FIELD:
                return nodes.Field(token.pos, (token.text[1:],))
            case T.IDENTIFIER:
                if token.text not in self._functions:
                    raise self._error(f"function {quote(token.text)} not defined")
                return nodes.Identifier(token.pos, token.text)
            case T.STRING:
                return nodes.String(token.pos, token.text, self._unquote(token.text))
            case T.VARIABLE:
                if not self._variables.get(token.text):
                    raise self._error(f"undefined variable {quote(token.text)}")
                return nodes.Variable(token.pos, token.text)
            case T.LEFT:
                self._enter()
                pipe = self._pipeline("parenthesized pipeline", T.RIGHT)
                self._level -= 1
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
            raise self._error(str(error)) from error


def _fold(
    word: str, branches: list[tuple[nodes.Pipe, nodes.Body]], otherwise: nodes.Body | None
) -> nodes.Block:
    block: nodes.Block | None = None
    for pipe, body in reversed(branches):
        if block is not None:
            otherwise = nodes.Body((block,))
        block = _BLOCKS[word](pipe.pos, pipe, body, otherwise)
    assert block is not None
    return block


def _is_empty(body: nodes.Body) -> bool:
    """Tell whether a body is blank, which lets another definition take its place."""
    return all(isinstance(node, nodes.Text) and not node.text.strip() for node in body.nodes)


def _spell(token: Token) -> str:
    """Write a token as Go's messages do."""
    if token.kind is T.EOF:
        return token.text
    if token.kind in (T.KEYWORD, T.NIL, T.DOT):
        return f"<{token.text}>"
    if len(token.text.encode("utf-8", "surrogatepass")) > 10:
        return quote(token.text[:10]) + "..."
    return quote(token.text)
