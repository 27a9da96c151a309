"""Finds what a template uses, by walking its tree with the values of dot, `$` and variables.

A value is the data of the template, its `.Params`, a literal text, or anything else. Of the data
and of `.Params` it is known which fields there are, so their use is noted; where one of them goes
as a whole into a function, a loop or the output, all parameters count as used. Templates that are
defined in the file are walked once for each kind of value that they are called with.
"""

from collections import ChainMap, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from gotemplate import nodes

VARIABLES: Final = (
    "OperatorName",
    "Name",
    "Namespace",
    "AppVersion",
    "OperatorVersion",
    "PlanName",
    "PhaseName",
    "StepName",
)
"""What templates find at the top beside `Params` and `Pipes`."""
_LOGICAL: Final = frozenset({"and", "or", "not"})

Position = tuple[int, int]
"""Line and column, from 1."""


@dataclass(slots=True)
class Usage:
    """What a template uses, with the position of the first use.

    Attributes:
        parameters: Parameters that it takes the value of.
        conditions: Parameters that are conditions by themselves, as in `{{ if .Params.X }}`.
        asked: Parameters of which it asks whether they exist.
        unknown: Names at the top of the data that are none of the known ones.
        everything: Whether it hands on all parameters at once.
    """

    parameters: dict[str, Position] = field(default_factory=dict)
    conditions: dict[str, Position] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    unknown: dict[str, Position] = field(default_factory=dict)
    everything: bool = False


def usage_of(tree: nodes.Tree) -> Usage:
    """Return what rendering the template may use, whichever of its branches it takes."""
    return _Walk(tree).run()


class _Thing(Enum):
    DATA = auto()
    PARAMETERS = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str


_Value = _Thing | _Literal | _Parameter
_Scope = ChainMap[str, _Value]
_DATA, _PARAMETERS, _OTHER = _Thing.DATA, _Thing.PARAMETERS, _Thing.OTHER


class _Walk:
    def __init__(self, tree: nodes.Tree) -> None:
        self._tree = tree
        self._bodies: Mapping[str, nodes.Body] = {tree.name: tree.root, **tree.templates}
        self._usage = Usage()
        self._seen: set[tuple[str, _Value]] = set()
        self._pending: deque[tuple[nodes.Body, _Value]] = deque()

    def run(self) -> Usage:
        self._pending.append((self._tree.root, _DATA))
        while self._pending:
            body, dot = self._pending.popleft()
            self._body(body, dot, ChainMap({"$": dot}))
        return self._usage

    # Nodes

    def _body(self, body: nodes.Body | None, dot: _Value, scope: _Scope) -> None:
        inner = scope.new_child()
        for node in body.nodes if body else ():
            self._node(node, dot, inner)

    def _node(self, node: nodes.Node, dot: _Value, scope: _Scope) -> None:
        match node:
            case nodes.Action(pipe=pipe):
                value = self._pipe(pipe, dot, scope)
                if not pipe.declared:
                    self._hand_on(value)
            case nodes.If() | nodes.With() | nodes.Range():
                self._block(node, dot, scope.new_child())
            case nodes.Template(name=name, pipe=argument):
                value = self._pipe(argument, dot, scope) if argument else _OTHER
                # Once for each kind of value: a template may call itself.
                if name in self._bodies and (name, value) not in self._seen:
                    self._seen.add((name, value))
                    self._pending.append((self._bodies[name], value))

    def _block(self, node: nodes.Block, dot: _Value, scope: _Scope) -> None:
        value = self._commands(node.pipe.commands, dot, scope)
        if not isinstance(node, nodes.Range):
            self._condition(node.pipe, value, dot, scope)
        else:
            self._hand_on(value)
            value = _OTHER
        self._set(node.pipe, value, scope)
        self._body(node.body, dot if isinstance(node, nodes.If) else value, scope)
        self._body(node.otherwise, dot, scope)

    def _condition(self, pipe: nodes.Pipe, value: _Value, dot: _Value, scope: _Scope) -> None:
        """Note the parameters whose value is asked for truth: alone, or in `and`, `or`, `not`."""
        if isinstance(value, _Parameter):
            self._usage.conditions.setdefault(value.name, self._position(pipe.pos))
            return
        if len(pipe.commands) != 1:
            return
        function, *rest = pipe.commands[0].args
        if isinstance(function, nodes.Identifier) and function.name in _LOGICAL:
            for operand in rest:
                inner = operand
                if not isinstance(inner, nodes.Pipe):
                    commands = (nodes.Command(operand.pos, (operand,)),)
                    inner = nodes.Pipe(operand.pos, (), is_assign=False, commands=commands)
                self._condition(inner, self._operand(operand, dot, scope), dot, scope)

    # Pipelines

    def _pipe(self, pipe: nodes.Pipe, dot: _Value, scope: _Scope) -> _Value:
        value = self._commands(pipe.commands, dot, scope)
        self._set(pipe, value, scope)
        return value

    def _set(self, pipe: nodes.Pipe, value: _Value, scope: _Scope) -> None:
        for variable in pipe.declared:
            name = variable.name
            if not pipe.is_assign:
                scope[name] = value
                continue
            # Whether the assignment runs is not known: from here on the variable may have the one
            # value or the other, so neither is followed any further.
            owner = next((names for names in scope.maps if name in names), scope.maps[0])
            before = owner.get(name, _OTHER)
            if before != value:
                self._hand_on(before)
                self._hand_on(value)
                owner[name] = _OTHER

    def _commands(self, commands: Iterable[nodes.Command], dot: _Value, scope: _Scope) -> _Value:
        value: _Value | None = None
        for command in commands:
            piped = () if value is None else (value,)
            value = self._command(command, dot, scope, piped)
        return _OTHER if value is None else value

    def _command(
        self, command: nodes.Command, dot: _Value, scope: _Scope, piped: tuple[_Value, ...]
    ) -> _Value:
        first, *rest = command.args
        arguments = [*(self._operand(operand, dot, scope) for operand in rest), *piped]
        if isinstance(first, nodes.Identifier):
            return self._call(first, arguments)
        for argument in arguments:
            self._hand_on(argument)
        return self._operand(first, dot, scope)

    def _operand(self, node: nodes.Operand, dot: _Value, scope: _Scope) -> _Value:
        match node:
            case nodes.Dot():
                return dot
            case nodes.Field(pos=pos, names=names):
                return self._members(dot, names, pos)
            case nodes.Variable(pos=pos, name=name, fields=names):
                return self._members(scope.get(name, _OTHER), names, pos)
            case nodes.Chain(pos=pos, node=inner, fields=names):
                return self._members(self._operand(inner, dot, scope), names, pos)
            case nodes.Pipe():
                return self._pipe(node, dot, scope)
            case nodes.String(text=text):
                return _Literal(text)
        return _OTHER

    # Meaning

    def _call(self, function: nodes.Identifier, arguments: list[_Value]) -> _Value:
        if function.name == "index" and arguments:
            value, *keys = arguments
            for key in keys:
                if isinstance(key, _Literal):
                    value = self._members(value, (key.text,), function.pos)
                else:
                    # Any parameter may be meant by a key that is computed.
                    self._hand_on(value)
                    self._hand_on(key)
                    value = _OTHER
            return value
        match function.name, arguments:
            case "hasKey", [_Thing.PARAMETERS, _Literal(text=name)]:
                self._usage.asked.add(name)
            case _:
                for argument in arguments:
                    self._hand_on(argument)
        return _OTHER

    def _members(self, value: _Value, names: Iterable[str], pos: int) -> _Value:
        for name in names:
            if value is _PARAMETERS:
                self._usage.parameters.setdefault(name, self._position(pos))
                value = _Parameter(name)
                continue
            if value is _DATA and name not in {*VARIABLES, "Params", "Pipes"}:
                self._usage.unknown.setdefault(name, self._position(pos))
            value = _PARAMETERS if value is _DATA and name == "Params" else _OTHER
        return value

    def _hand_on(self, value: _Value) -> None:
        """Take in that a value goes where it is not followed any further."""
        if value in {_DATA, _PARAMETERS}:
            self._usage.everything = True

    def _position(self, pos: int) -> Position:
        source = self._tree.source
        return source.count("\n", 0, pos) + 1, pos - source.rfind("\n", 0, pos)
