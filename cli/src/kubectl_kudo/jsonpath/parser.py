"""Parses JSONPath templates and single paths, as kubectl does.

    TEMPLATE = { TEXT | "{" ACTION "}" }
    ACTION   = "range" PATH | "end" | LITERAL | PATH
    PATH     = [ "$" | "@" ] { "." NAME | "." "*" | ".." NAME | "[" SUBSCRIPT "]" }

Names in quotes inside brackets are paths themselves, as in `['metadata.name']`: a dot that belongs
to a key is escaped with a backslash.
"""

from dataclasses import dataclass

from kubectl_kudo.jsonpath.nodes import (
    Field,
    Filter,
    Index,
    JsonPathError,
    Literal,
    Node,
    Operand,
    Path,
    Range,
    Recursive,
    Root,
    Selector,
    Slice,
    Union,
    Wildcard,
)
from kubectl_kudo.jsonpath.scanner import Scanner

_OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
_BOOLEANS = {"true": True, "false": False}
_QUOTES = ("'", '"')
_NOT_THERE = {
    "=~": "regular expressions are not supported, as with kubectl",
    "&&": "a filter compares once; && is not supported, as with kubectl",
    "||": "a filter compares once; || is not supported, as with kubectl",
}
_DEEPEST = 50
"""Ranges and filters inside each other; the parser calls itself for each."""


def parse_template(text: str) -> tuple[Node, ...]:
    """Parse the template of `-o jsonpath=`.

    Raises:
        JsonPathError: it is no valid template.
    """
    return _Parser(Scanner(text)).template()


def parse_path(text: str) -> Path:
    """Parse one path, as in `-o custom-columns=`: `{.x}`, `.x` and `x` are the same.

    Raises:
        JsonPathError: it is no valid path.
    """
    scanner = Scanner(text)
    scanner.skip_space()
    braces = scanner.take("{")
    path = _Parser(scanner).path(relaxed=True)
    scanner.skip_space()
    if braces and not scanner.take("}"):
        raise scanner.error(f"expected }} instead of {scanner.described()}")
    scanner.skip_space()
    if not scanner.ended:
        raise scanner.error(f"expected the end instead of {scanner.described()}")
    return path


@dataclass(slots=True)
class _Parser:
    scanner: Scanner
    depth: int = 0

    def template(self, opened: int | None = None) -> tuple[Node, ...]:
        """Parse up to the end of the text, or to the `{end}` of the range that begins there."""
        found: list[Node] = []
        while not self.scanner.ended:
            text = self.scanner.until_brace()
            if text:
                found.append(Literal(text))
            at = self.scanner.at
            if not self.scanner.take("{"):
                break
            self.scanner.skip_space()
            if self._keyword("end"):
                self._close(at)
                if opened is None:
                    raise JsonPathError("{end} without {range}", at)
                return tuple(found)
            found += self._action(at)
        if opened is not None:
            raise JsonPathError("{range} without {end}", opened)
        return tuple(found)

    def _action(self, at: int) -> list[Node]:
        if self._keyword("range"):
            path = self.path()
            self._close(at)
            self._enter(at)
            body = self.template(at)
            self.depth -= 1
            return [Range(path, body)]
        found: list[Node] = []
        self.scanner.skip_space()
        while not self.scanner.ended and self.scanner.peek() != "}":
            found.append(self._operand())
            self.scanner.skip_space()
        self._close(at)
        return found

    def _keyword(self, word: str) -> bool:
        start = self.scanner.at
        if self.scanner.word() == word and (self.scanner.peek() or " ") in " \t\n}[.$@":
            return True
        self.scanner.at = start
        return False

    def _close(self, opened: int) -> None:
        self.scanner.skip_space()
        if self.scanner.take("}"):
            return
        if self.scanner.ended:
            raise JsonPathError("{ without }", opened)
        raise self.scanner.error(f"expected }} instead of {self.scanner.described()}")

    def _operand(self) -> Operand:
        if self.scanner.peek() in _QUOTES and self.scanner.peek():
            return Literal(self.scanner.quoted())
        if self.scanner.peek().isdigit() or self.scanner.peek() in ("+", "-"):
            number = self.scanner.number()
            if number is not None:
                return Literal(number)
        start = self.scanner.at
        word = self.scanner.word()
        if word in _BOOLEANS:
            return Literal(_BOOLEANS[word])
        self.scanner.at = start
        if word:
            problem = f'unknown word "{word}"; a field is written .{word}, and text "{word}"'
            raise JsonPathError(problem, start)
        return self.path()

    def path(self, *, relaxed: bool = False) -> Path:
        """Parse a path; `relaxed` lets the first field do without its dot."""
        scanner = self.scanner
        scanner.skip_space()
        start, found = scanner.at, list[Selector]()
        if scanner.take("$"):
            found.append(Root(start))
        elif not scanner.take("@") and relaxed and scanner.peek() not in (".", "["):
            found.append(self._name())
        while scanner.peek() in (".", "[") and not scanner.ended:
            found += self._selectors()
        if scanner.at == start:
            raise scanner.error(f"expected a path instead of {scanner.described()}")
        return Path(tuple(found))

    def _selectors(self) -> list[Selector]:
        scanner, start = self.scanner, self.scanner.at
        if scanner.take(".."):
            more = [] if scanner.peek() == "[" else [self._name()]
            return [Recursive(start), *more]
        if scanner.take("["):
            return self._subscript(start)
        scanner.take(".")
        # `.` alone is the current value, and `.[0]` is `[0]`.
        if scanner.ended or scanner.peek() in "[} \t\n)],=!<>":
            return []
        return [self._name()]

    def _name(self) -> Selector:
        start = self.scanner.at
        if self.scanner.take("*"):
            return Wildcard(start)
        name = self.scanner.name()
        if not name:
            problem = f"expected the name of a field instead of {self.scanner.described()}"
            raise self.scanner.error(problem)
        return Field(name, start)

    def _subscript(self, opened: int) -> list[Selector]:
        self.scanner.skip_space()
        if self.scanner.take("?"):
            return [self._filter(opened)]
        parts = [self._part()]
        while self._separator(opened):
            parts.append(self._part())
        if len(parts) == 1:
            return parts[0]
        return [Union(tuple(Path(tuple(part)) for part in parts), opened)]

    def _separator(self, opened: int) -> bool:
        """Read a comma, and return True, or the closing bracket."""
        self.scanner.skip_space()
        if self.scanner.take(","):
            return True
        if self.scanner.take("]"):
            return False
        if self.scanner.ended:
            raise JsonPathError("[ without ]", opened)
        raise self.scanner.error(f"expected ] instead of {self.scanner.described()}")

    def _part(self) -> list[Selector]:
        scanner = self.scanner
        scanner.skip_space()
        start = scanner.at
        if scanner.take("*"):
            return [Wildcard(start)]
        if scanner.peek() in _QUOTES and not scanner.ended:
            return self._quoted_path()
        first = scanner.integer()
        if scanner.peek() == ":":
            return [self._slice(first, start)]
        if first is None:
            problem = "expected an index, a slice, *, ?(…) or a name in quotes instead of "
            raise scanner.error(f"{problem}{scanner.described()}")
        return [Index(first, start)]

    def _slice(self, first: int | None, start: int) -> Selector:
        bounds = [first]
        while len(bounds) < 3 and self.scanner.take(":"):
            bounds.append(self.scanner.integer())
        _, stop, step = [*bounds, None][:3]
        if step is not None and step <= 0:
            raise JsonPathError("the step of a slice must be greater than 0", start)
        return Slice(first, stop, step or 1, start)

    def _quoted_path(self) -> list[Selector]:
        """Parse `'metadata.name'`; the quotes end at the next one of their kind."""
        start, quote = self.scanner.at, self.scanner.peek()
        end = self.scanner.text.find(quote, start + 1)
        if end < 0:
            raise JsonPathError(f"the name has no closing {quote}", start)
        found: list[Selector] = []
        inside = Scanner(self.scanner.text[:end], start + 1)
        while not inside.ended:
            name_at = inside.at
            name = _key(inside)
            if not name:
                raise JsonPathError("a name is empty", name_at)
            found.append(Wildcard(name_at) if name == "*" else Field(name, name_at))
        if not found:
            raise JsonPathError("the name is empty", start)
        self.scanner.at = end + 1
        return found

    def _filter(self, opened: int) -> Filter:
        scanner = self.scanner
        if not scanner.take("("):
            raise scanner.error(f"expected ( instead of {scanner.described()}")
        self._enter(opened)
        left = self._side()
        operator = self._operator()
        right = self._side() if operator else None
        self.depth -= 1
        scanner.skip_space()
        self._refuse_unsupported()
        if not scanner.take(")"):
            raise scanner.error(f"expected ) instead of {scanner.described()}")
        scanner.skip_space()
        if not scanner.take("]"):
            raise scanner.error(f"expected ] instead of {scanner.described()}")
        return Filter(left, operator, right, opened)

    def _side(self) -> Operand:
        self.scanner.skip_space()
        return self._operand()

    def _operator(self) -> str:
        self.scanner.skip_space()
        self._refuse_unsupported()
        return next(filter(self.scanner.take, _OPERATORS), "")

    def _refuse_unsupported(self) -> None:
        problem = _NOT_THERE.get(self.scanner.peek(2))
        if problem:
            raise self.scanner.error(problem)

    def _enter(self, at: int) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise JsonPathError("too many ranges or filters inside each other", at)


def _key(inside: Scanner) -> str:
    """Read a key up to the next dot that has no backslash before it."""
    found: list[str] = []
    while not inside.ended:
        if inside.take("."):
            break
        inside.take("\\")
        found.append(inside.peek())
        inside.at += 1
    return "".join(found)
