"""Parses tokens to a tree, by the grammar of Go's text/template.

Functions and variables are checked here, so a template that names an unknown one never runs.
Recursion is bounded by `Limits.nesting`: parentheses, blocks and `else if` each count as one
level, which also bounds whoever walks the tree afterwards.
"""

from collections.abc import Collection
from typing import Final

from gotemplate.errors import LimitError, TemplateError
from gotemplate.golang.literals import quote
from gotemplate.parse import nodes
from gotemplate.parse.lexer import Stream, T, Token, tokenize
from gotemplate.parse.pipelines import Pipelines
from gotemplate.rendering import Limits

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


def parse_tree(
    name: str, source: str, functions: Collection[str], limits: Limits | None = None
) -> nodes.Tree:
    """Parse a template.

    Raises:
        TemplateError: the text is not a template, names an unknown function or variable, or is
            too long or too deeply nested.
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
        if len(source) > limits.source:
            raise LimitError("source", limits.source)
        words = frozenset({"break", "continue"} & set(functions))
        self._stream = Stream(name, source, tokenize(source, words, limits.tokens))
        self._pipelines = Pipelines(self._stream, functions, limits)
        self._loops = 0
        self._templates: dict[str, nodes.Body] = {}

    @property
    def line(self) -> int:
        """The line the parser is in."""
        return self._stream.line

    # Bodies

    def parse(self) -> nodes.Tree:
        body: list[nodes.Node] = []
        while (token := self._stream.next()).kind != T.EOF:
            # Only here: inside of another body Go refuses `define` as an unexpected word.
            if token.kind == T.OPEN and self._is_define():
                self._definition()
                continue
            node = self._text_or_action(token)
            if isinstance(node, _Mark):
                raise self._stream.error(f"unexpected {node.text}")
            body.append(node)
        root = nodes.Body(tuple(body))
        self._add(self._name, root)
        return nodes.Tree(self._name, self._source, self._templates[self._name], self._templates)

    def _is_define(self) -> bool:
        word = self._stream.tokens[self._stream.position]
        return word.kind == T.KEYWORD and word.text == "define"

    def _definition(self) -> None:
        self._stream.position += 1
        context = "define clause"
        token = self._stream.next()
        if token.kind != T.STRING:
            raise self._stream.unexpected(token, context)
        name = self._stream.unquote(token.text)
        close = self._stream.next()
        if close.kind != T.CLOSE:
            raise self._stream.unexpected(close, context)
        self._add(name, self._own_body(context))

    def _own_body(self, context: str) -> nodes.Body:
        """Parse a body with its own variables and loops, up to its end."""
        variables = self._pipelines.fresh()
        saved = self._loops, self._stream.action
        self._loops, self._stream.action = 0, -1
        self._pipelines.enter()
        body, mark = self._body()
        if mark is not _END:
            raise self._stream.error(f"unexpected {mark.text} in {context}")
        self._pipelines.level -= 1
        self._loops, self._stream.action = saved
        self._pipelines.restore(variables)
        return body

    def _add(self, name: str, body: nodes.Body) -> None:
        template = self._templates.get(name)
        # As in Go: a definition of blanks alone never replaces another, and any replaces it.
        if template is None or _is_empty(template):
            self._templates[name] = body
        elif not _is_empty(body):
            raise self._stream.error(f"template: multiple definition of template {quote(name)}")

    def _body(self) -> tuple[nodes.Body, _Mark]:
        body: list[nodes.Node] = []
        while (token := self._stream.next()).kind != T.EOF:
            node = self._text_or_action(token)
            if isinstance(node, _Mark):
                return nodes.Body(tuple(body)), node
            body.append(node)
        raise self._stream.error("unexpected EOF")

    def _text_or_action(self, token: Token) -> nodes.Node | _Mark:
        if token.kind == T.TEXT:
            return nodes.Text(token.pos, token.text)
        # PRINTED and BRANCH_END are whole actions in one token: like each action that ends, they
        # end the "in action started at" of the one around them.
        if token.kind == T.PRINTED:
            self._stream.action = -1
            return nodes.Action(token.pos, self._pipelines.printed(token))
        if token.kind == T.BRANCH_END:
            self._stream.action = -1
            return _END if token.text == "end" else _ELSE
        if token.kind != T.OPEN:
            raise self._stream.unexpected(token, "input")
        self._stream.action = token.pos
        try:
            return self._action()
        finally:
            self._stream.action = -1

    # Actions

    def _action(self) -> nodes.Node | _Mark:
        token = self._stream.peek()
        if token.kind != T.KEYWORD or token.text == "define":
            return nodes.Action(token.pos, self._pipelines.pipeline("command", T.CLOSE))
        self._stream.next()
        match token.text:
            case "if" | "with" | "range":
                return self._control(token.text)
            case "end":
                return self._close("end", _END)
            case "else":
                following = self._stream.peek()
                if following.kind == T.KEYWORD and following.text in ("if", "with"):
                    return _ELSE
                return self._close("else", _ELSE)
            case "break" | "continue":
                return self._jump(token)
            case "template":
                return self._template()
            case _:
                return self._block()

    def _close(self, context: str, mark: _Mark) -> _Mark:
        token = self._stream.next()
        if token.kind != T.CLOSE:
            raise self._stream.unexpected(token, context)
        return mark

    def _jump(self, word: Token) -> nodes.Node:
        token = self._stream.next()
        if token.kind != T.CLOSE:
            raise self._stream.unexpected(token, f"{{{{{word.text}}}}}")
        if self._loops == 0:
            raise self._stream.error(f"{{{{{word.text}}}}} outside {{{{range}}}}")
        return nodes.Break(word.pos) if word.text == "break" else nodes.Continue(word.pos)

    def _control(self, word: str) -> nodes.Block:
        scope, level = len(self._pipelines.declared), self._pipelines.level
        branches: list[tuple[nodes.Pipe, nodes.Body]] = []
        otherwise: nodes.Body | None = None
        while True:
            self._pipelines.enter()
            pipe = self._pipelines.pipeline(word, T.CLOSE)
            self._loops += word == "range"
            body, mark = self._body()
            self._loops -= word == "range"
            branches.append((pipe, body))
            if mark is _END:
                break
            following = self._stream.peek()
            if word != "range" and following.kind == T.KEYWORD and following.text == word:
                self._stream.next()
                continue
            otherwise, mark = self._body()
            if mark is not _END:
                raise self._stream.error(f"expected end; found {mark.text}")
            break
        self._pipelines.level = level
        self._pipelines.forget(scope)
        return _fold(word, branches, otherwise)

    def _template(self) -> nodes.Node:
        context = "template clause"
        token = self._stream.next()
        name = self._template_name(token, context)
        if self._stream.peek().kind == T.CLOSE:
            self._stream.next()
            return nodes.Template(token.pos, name, None)
        return nodes.Template(token.pos, name, self._pipelines.pipeline(context, T.CLOSE))

    def _block(self) -> nodes.Node:
        context = "block clause"
        token = self._stream.next()
        name = self._template_name(token, context)
        pipe = self._pipelines.pipeline(context, T.CLOSE)
        self._add(name, self._own_body(context))
        return nodes.Template(token.pos, name, pipe)

    def _template_name(self, token: Token, context: str) -> str:
        if token.kind != T.STRING:
            raise self._stream.unexpected(token, context)
        return self._stream.unquote(token.text)


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
    """Return whether a body is blank, which lets another definition take its place."""
    return all(isinstance(node, nodes.Text) and not node.text.strip() for node in body.nodes)
