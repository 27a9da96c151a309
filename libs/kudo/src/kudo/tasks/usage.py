"""Finds what a template uses, by walking its tree with the values of dot, `$` and variables.

A value is the data of the template, its `.Params`, its `.RunParams`, its `.Outputs` or those of a
task, a literal text, or anything else. Of the data and of what is in it, the use of a field is
noted; where it goes as a whole into a function, a loop or the output, all of it counts as used.
Templates that are defined in the file are walked once for each kind of value that they are called
with.
"""

import re
from collections import ChainMap, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeVar

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
"""What templates find at the top beside the maps."""
MAPS: Final = ("Params", "Pipes", "Outputs", "RunParams")
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
        outputs: Tasks, and outputs of them, whose value it takes; an empty name is the task.
        tasks_asked: Tasks of which it asks whether there are outputs.
        every_output: Whether it hands on the outputs of all tasks at once.
        run_parameters: Parameters of a run that it takes the value of.
        run_parameters_asked: Those of which it asks whether they exist.
        every_run_parameter: Whether it hands on all parameters of a run at once.
    """

    parameters: dict[str, Position] = field(default_factory=dict)
    conditions: dict[str, Position] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    unknown: dict[str, Position] = field(default_factory=dict)
    everything: bool = False
    outputs: dict[tuple[str, str], Position] = field(default_factory=dict)
    tasks_asked: set[str] = field(default_factory=set)
    every_output: bool = False
    run_parameters: dict[str, Position] = field(default_factory=dict)
    run_parameters_asked: set[str] = field(default_factory=set)
    every_run_parameter: bool = False


def usage_of(tree: nodes.Tree) -> Usage:
    """Return what rendering the template may use, whichever of its branches it takes."""
    return _Walk(tree).run()


def uses_outputs(tree: nodes.Tree) -> bool:
    """Return whether what a template renders to may depend on outputs of tasks.

    The time that it takes is linear in the size of the tree, so an event loop that has parsed a
    template can ask.
    """
    usage = _Walk(tree, of_runs_alone=True).run()
    return bool(usage.outputs or usage.tasks_asked or usage.every_output)


def uses_run_parameters(tree: nodes.Tree) -> bool:
    """Return whether what a template renders to may depend on parameters of a run.

    It takes the time that `uses_outputs` takes.
    """
    usage = _Walk(tree, of_runs_alone=True).run()
    asked = usage.run_parameters_asked
    return bool(usage.run_parameters or asked or usage.every_run_parameter)


class _Thing(Enum):
    DATA = auto()
    PARAMETERS = auto()
    OUTPUTS = auto()
    RUN_PARAMETERS = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str


@dataclass(frozen=True, slots=True)
class _OutputsOf:
    task: str


_Value = _Thing | _Literal | _Parameter | _OutputsOf
_Scope = ChainMap[str, _Value]
_DATA, _PARAMETERS, _OTHER = _Thing.DATA, _Thing.PARAMETERS, _Thing.OTHER
_OUTPUTS, _RUN_PARAMETERS = _Thing.OUTPUTS, _Thing.RUN_PARAMETERS
_NAMES: Final = frozenset((*VARIABLES, *MAPS))
_MEMBERS: Final[Mapping[str, _Value]] = {
    "Params": _PARAMETERS,
    "Outputs": _OUTPUTS,
    "RunParams": _RUN_PARAMETERS,
}
_Key = TypeVar("_Key", str, tuple[str, str])


class _Walk:
    """One walk.

    Args:
        tree: The template.
        of_runs_alone: Whether nothing is asked for but what a run alone has. Then a template that
            is defined in the file is walked twice at most, however many values it is called with.
    """

    def __init__(self, tree: nodes.Tree, *, of_runs_alone: bool = False) -> None:
        self._tree = tree
        self._of_runs_alone = of_runs_alone
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
                if self._of_runs_alone and value is not _DATA:
                    self._hand_on(value)
                    value = _OTHER
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
            self._note(self._usage.conditions, value.name, pipe.pos)
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
            case "hasKey", [_Thing.OUTPUTS, _Literal(text=name)]:
                self._usage.tasks_asked.add(name)
            case "hasKey", [_Thing.RUN_PARAMETERS, _Literal(text=name)]:
                self._usage.run_parameters_asked.add(name)
            case _:
                for argument in arguments:
                    self._hand_on(argument)
        return _OTHER

    def _members(self, value: _Value, names: Iterable[str], pos: int) -> _Value:
        for name in names:
            value = self._member(value, name, pos)
        return value

    def _member(self, value: _Value, name: str, pos: int) -> _Value:
        match value:
            case _Thing.PARAMETERS:
                self._note(self._usage.parameters, name, pos)
                return _Parameter(name)
            case _Thing.OUTPUTS:
                self._note(self._usage.outputs, (name, ""), pos)
                return _OutputsOf(name)
            case _Thing.RUN_PARAMETERS:
                self._note(self._usage.run_parameters, name, pos)
            case _OutputsOf(task=task):
                self._note(self._usage.outputs, (task, name), pos)
            case _Thing.DATA:
                if name not in _NAMES:
                    self._note(self._usage.unknown, name, pos)
                return _MEMBERS.get(name, _OTHER)
        return _OTHER

    def _hand_on(self, value: _Value) -> None:
        """Take in that a value goes where it is not followed any further."""
        if value in {_DATA, _PARAMETERS}:
            self._usage.everything = True
        if value in {_DATA, _OUTPUTS}:
            self._usage.every_output = True
        if value in {_DATA, _RUN_PARAMETERS}:
            self._usage.every_run_parameter = True

    def _note(self, uses: dict[_Key, Position], name: _Key, pos: int) -> None:
        if name not in uses:
            uses[name] = self._position(pos)

    def _position(self, pos: int) -> Position:
        source = self._tree.source
        return source.count("\n", 0, pos) + 1, pos - source.rfind("\n", 0, pos)


# Both begin with what is searched for fast: a template may have a million characters.
_KIND: Final = re.compile(r"""kind\b["'`]?[ \t]*(:)?[ \t]*""")
_PRINTS_LINES: Final = re.compile(
    r"\n\{\{-?+\s*+(?!(?:if|else|end|range|with|define|block|template|break|continue)\b"
    r"|/\*|\$\w+\s*:?=)"
)
"""An action at the beginning of a line that prints a value, which may be a whole document."""
_LITERAL: Final = re.compile(r"""["']?([A-Za-z][A-Za-z0-9]*)["']?[ \t]*(?=[#,}\]\r\n]|$)""")
_QUOTES: Final = frozenset("\"'`")
_WORDS: Final = 2000
"""How often the word `kind` is looked at in a template; of one that has it more often, any kind."""


def kinds_named(text: str) -> frozenset[str] | None:
    """Return the kinds of objects that a template may render to, without rendering it.

    They are read from the fields `kind` in its text; those of parts of objects, such as a
    `roleRef`, are among them.

    Args:
        text: The template.

    Returns:
        The kinds; None for any kind, if one is an expression, or none is named.
    """
    text = f"\n{text}"
    if _PRINTS_LINES.search(text):
        return None
    kinds: set[str] = set()
    for number, match in enumerate(_KIND.finditer(text)):
        if number == _WORDS:
            return None
        before, colon = text[match.start() - 1], match[1]
        if before.isalnum() or before == "_" or not (colon or before in _QUOTES):
            continue  # a part of a word, a word of a comment, or a field of a value
        name = _LITERAL.match(text, match.end()) if colon else None
        if name is None:
            return None
        kinds |= {name[1], name[1].removesuffix("List")}
    return frozenset(kinds) or None
