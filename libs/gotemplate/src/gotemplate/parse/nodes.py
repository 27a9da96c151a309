"""The tree of a parsed template: immutable values, nothing else.

`str()` of a node is Go's spelling of it, which error messages quote. `pos` is an offset in the
characters of the source. A tree can be walked by anyone; scopes open at `If`, `With` and `Range`
(the pipeline's variables and those of both branches end with the block) and at every entry of
`Tree.templates`, which begins with `$` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gotemplate.golang.literals import quote


@dataclass(frozen=True, slots=True)
class Text:
    """Text copied to the output."""

    pos: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Field:
    """Fields of the dot: `.a.b`."""

    pos: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "." + ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, with the fields that follow it: `$x.a`. The name keeps its `$`."""

    pos: int
    name: str
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.name, *self.fields))


@dataclass(frozen=True, slots=True)
class Chain:
    """Fields of a parenthesised pipeline or a function: `(f .x).a`."""

    pos: int
    node: "Operand"
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((_spell(self.node), *self.fields))


@dataclass(frozen=True, slots=True)
class Dot:
    """The current value."""

    pos: int

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True, slots=True)
class Nil:
    """The word nil."""

    pos: int

    def __str__(self) -> str:
        return "nil"


@dataclass(frozen=True, slots=True)
class Identifier:
    """The name of a function."""

    pos: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Bool:
    """A boolean constant."""

    pos: int
    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, slots=True)
class Number:
    """A number under all the types that can hold it, Go's ideal constant.

    `integer` is set when an int64 can hold it, `unsigned` when a uint64 can, `floating` when a
    float64 can, `complex_value` for imaginary constants.
    """

    pos: int
    text: str
    integer: int | None = None
    unsigned: int | None = None
    floating: float | None = None
    complex_value: complex | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class String:
    """A string constant, as written and as read."""

    pos: int
    quoted: str
    text: str

    def __str__(self) -> str:
        return self.quoted


@dataclass(frozen=True, slots=True)
class Command:
    """An operand, or a function with its arguments."""

    pos: int
    args: tuple["Operand", ...]

    def __str__(self) -> str:
        return " ".join(map(_spell, self.args))


@dataclass(frozen=True, slots=True)
class Pipe:
    """Commands, each the last argument of the next, and the variables set to the result."""

    pos: int
    declared: tuple[Variable, ...]
    is_assign: bool
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        commands = " | ".join(map(str, self.commands))
        if not self.declared:
            return commands
        sign = "=" if self.is_assign else ":="
        return f"{', '.join(map(str, self.declared))} {sign} {commands}"


@dataclass(frozen=True, slots=True)
class Action:
    """A pipeline whose value is printed, unless it sets variables."""

    pos: int
    pipe: Pipe

    def __str__(self) -> str:
        return f"{{{{{self.pipe}}}}}"


@dataclass(frozen=True, slots=True)
class Body:
    """Nodes in order."""

    nodes: tuple["Node", ...]

    def __str__(self) -> str:
        return "".join(map(str, self.nodes))


@dataclass(frozen=True, slots=True)
class If:
    """A condition; `else if` is an `If` alone in `otherwise`."""

    pos: int
    pipe: Pipe
    body: Body
    otherwise: Body | None

    def __str__(self) -> str:
        return _spell_block("if", self.pipe, self.body, self.otherwise)


@dataclass(frozen=True, slots=True)
class With:
    """A condition whose value is the dot of its body."""

    pos: int
    pipe: Pipe
    body: Body
    otherwise: Body | None

    def __str__(self) -> str:
        return _spell_block("with", self.pipe, self.body, self.otherwise)


@dataclass(frozen=True, slots=True)
class Range:
    """A loop."""

    pos: int
    pipe: Pipe
    body: Body
    otherwise: Body | None

    def __str__(self) -> str:
        return _spell_block("range", self.pipe, self.body, self.otherwise)


@dataclass(frozen=True, slots=True)
class Template:
    """A call of a defined template; without a pipeline its dot is nil."""

    pos: int
    name: str
    pipe: Pipe | None

    def __str__(self) -> str:
        argument = f" {self.pipe}" if self.pipe else ""
        return f"{{{{template {quote(self.name)}{argument}}}}}"


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    pos: int

    def __str__(self) -> str:
        return "{{break}}"


@dataclass(frozen=True, slots=True)
class Continue:
    """Start the next iteration of the innermost loop."""

    pos: int

    def __str__(self) -> str:
        return "{{continue}}"


Operand = Field | Variable | Chain | Dot | Nil | Identifier | Bool | Number | String | Pipe
Block = If | With | Range
Node = Text | Action | Block | Template | Break | Continue


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed source: its own body and the templates it defines, by name."""

    name: str
    source: str
    root: Body
    templates: Mapping[str, Body]

    def place(self, pos: int) -> tuple[int, int]:
        """Return the line (from 1) and column (bytes before it, Go's count) of an offset."""
        start = self.source.rfind("\n", 0, pos) + 1
        column = len(self.source[start:pos].encode("utf-8", "surrogatepass"))
        return self.source.count("\n", 0, pos) + 1, column


def _spell(node: Operand) -> str:
    return f"({node})" if isinstance(node, Pipe) else str(node)


def _spell_block(word: str, pipe: Pipe, body: Body, otherwise: Body | None) -> str:
    tail = "" if otherwise is None else f"{{{{else}}}}{otherwise}"
    return f"{{{{{word} {pipe}}}}}{body}{tail}{{{{end}}}}"
