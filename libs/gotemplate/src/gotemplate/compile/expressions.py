"""Compiles pipelines, commands and operands to closures.

Go evaluates an expression with a note of the node it is at, and errors name that node. Here the
node is worked out when the template is compiled: `last_at` gives the node Go's evaluator would be
at after an expression. The other thing known in advance is whether a value has a type of its own
or is an interface in Go, which only the words of an error show.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gotemplate.compile.calls import Convert, compare_text, compile_call, short_circuit
from gotemplate.compile.fields import MissingKey, Reader, of_dot, of_slot, of_value
from gotemplate.compile.runtime import Ending, Eval, Frame, Scope, Typed, Unit, always, never
from gotemplate.errors import FunctionError
from gotemplate.functions import CHANGING
from gotemplate.functions.builtins import special
from gotemplate.golang.values import NO_VALUE, type_name
from gotemplate.parse import nodes
from gotemplate.rendering import Located
from gotemplate.types.signature import ANY, VALUE, Function, Param

_STOPPING: Final = ("and", "or")
_Constant = nodes.Bool | nodes.Number | nodes.String
_CONSTANTS: Final = (nodes.Bool, nodes.Number, nodes.String)

LateEval = Callable[[Frame, object, Param], object]


@dataclass(slots=True)
class Expressions:
    """Compile the expressions of one template body.

    Attributes:
        unit: the template, for errors.
        functions: the functions it may call.
        missing: what a missing key gives.
        scope: the variables in scope where the compiler is.
        typed_dot: whether the dot there has a type of its own.
        cost: steps of what was compiled since the owner set it to 0.
        changes_data: whether a function is called that changes the map it is given.
    """

    unit: Unit
    functions: Mapping[str, Function]
    missing: MissingKey
    scope: Scope
    typed_dot: Typed = always
    cost: int = field(default=0)
    changes_data: bool = False

    # Pipelines

    def pipe(self, pipe: nodes.Pipe) -> Eval:
        """Compile a pipeline; nil becomes no value, as at the end of every pipeline in Go."""
        return _or_no_value(self.raw_pipe(pipe))

    def raw_pipe(self, pipe: nodes.Pipe) -> Eval:
        """Compile a pipeline for those who treat nil and no value alike."""
        previous = pipe.commands[0]
        value = self._command(previous, None, pipe)
        for command in pipe.commands[1:]:
            value = self._command(command, value, last_at(previous))
            previous = command
        return self._store(pipe, value) if pipe.declared else value

    def _store(self, pipe: nodes.Pipe, value: Eval) -> Eval:
        slots: list[int] = []
        for variable in pipe.declared:
            if not pipe.is_assign:
                slots.append(self.scope.declare(variable.name, typed=always))
            elif (declared := self.scope.find(variable.name)) is not None:
                slots.append(declared.slot)
            else:
                node = last_at(pipe.commands[-1])
                # Go finds this at run time: what stands before it is evaluated, and may fail first.
                return self._failing(node, f"undefined variable: {variable.name}", value)

        def run(frame: Frame, dot: object) -> object:
            result = value(frame, dot)
            if result is None:
                result = NO_VALUE
            for slot in slots:
                frame.slots[slot] = result
            return result

        # Nearly every declaration has one variable: a closure without the loop.
        def run_one(frame: Frame, dot: object) -> object:
            result = value(frame, dot)
            if result is None:
                result = NO_VALUE
            frame.slots[slots[0]] = result
            return result

        return run_one if len(slots) == 1 else run

    def _failing(self, node: Located, message: str, before: Eval | None = None) -> Eval:
        """Compile what cannot be evaluated: the error is raised when its turn comes."""
        unit = self.unit

        def run(frame: Frame, dot: object) -> object:
            if before is not None:
                before(frame, dot)
            raise unit.error(node, message)

        return run

    # Commands

    def _command(self, command: nodes.Command, piped: Eval | None, previous: Located) -> Eval:
        self.cost += 1
        first = command.args[0]
        if isinstance(first, nodes.Identifier):
            return self._call(command, first, command.args[1:], piped)
        if len(command.args) == 1 and piped is None:
            if isinstance(first, nodes.Nil):
                return self._failing(first, "nil is not a command")
            return self._operand(first)
        if isinstance(first, nodes.Field | nodes.Chain) or (
            isinstance(first, nodes.Variable) and first.fields
        ):
            last = None if piped is None else _or_no_value(piped)
            return self._method(first, command.args[1:], last)
        # Go's error names the node that was evaluated last, which is the pipeline so far.
        node = previous if isinstance(first, nodes.Pipe) else first
        return self._failing(node, f"can't give argument to non-function {first}", piped)

    def _operand(self, node: nodes.Operand) -> Eval:
        """Compile an operand that is a value on its own."""
        match node:
            case nodes.Field():
                return of_dot(self._reader(node, node.names, self.typed_dot))
            case nodes.Variable():
                return self._variable(node)
            case nodes.Dot():
                return _dot
            case nodes.Pipe():
                return self.pipe(node)
            case nodes.Identifier():
                return self._call(node, node, (), None)
            case nodes.Chain():
                value, reader = self._chain(node)
                return of_value(value, reader)
            case nodes.Nil():
                return _constant(NO_VALUE)
            case _:
                return self._literal(node, ANY)

    def _reader(self, node: Located, names: tuple[str, ...], typed: Typed) -> Reader:
        return Reader(self.unit, node, names, self.missing, typed)

    def _variable(self, node: nodes.Variable) -> Eval:
        variable = self.scope.find(node.name)
        if variable is None:
            return self._failing(node, f"undefined variable: {node.name}")
        slot = variable.slot
        if node.fields:
            return of_slot(slot, self._reader(node, node.fields, variable.typed))

        def run(frame: Frame, _dot: object) -> object:
            return frame.slots[slot]

        return run

    def _chain(self, node: nodes.Chain) -> tuple[Eval, Reader]:
        typed = always if isinstance(node.node, nodes.Pipe) else never
        return self._operand(node.node), self._reader(last_at(node), node.fields, typed)

    def _method(
        self,
        first: nodes.Field | nodes.Variable | nodes.Chain,
        args: Sequence[nodes.Operand],
        piped: Eval | None,
    ) -> Eval:
        """Compile a field with arguments, which only values with methods have."""
        receiver, reader = self._receiver(first)
        values = [self._late_argument(arg) for arg in args]
        end = last_at(args[-1]) if args else reader.node
        name = reader.names[-1]
        path = Reader(reader.unit, reader.node, reader.names[:-1], self.missing, reader.typed)
        direct = len(reader.names) == 1

        def run(frame: Frame, dot: object) -> object:
            last = [] if piped is None else [piped(frame, dot)]
            value = path.read(frame, receiver(frame, dot))
            if value is NO_VALUE:
                return reader.absent(name)
            method = reader.method(value, name, direct and reader.typed(frame))
            reader.check_arity(method, len(values), len(values) + len(last))
            given = [arg(frame, dot, method.param(index)) for index, arg in enumerate(values)]
            given += [self._converter(method.param(len(values)), end)(item) for item in last]
            return reader.call(method, given)

        return run

    def _receiver(self, first: nodes.Field | nodes.Variable | nodes.Chain) -> tuple[Eval, Reader]:
        if isinstance(first, nodes.Field):
            return _dot, self._reader(first, first.names, self.typed_dot)
        if isinstance(first, nodes.Chain):
            return self._chain(first)
        variable = self.scope.find(first.name)
        bare = nodes.Variable(first.pos, first.name)
        typed = always if variable is None else variable.typed
        return self._variable(bare), self._reader(first, first.fields, typed)

    # Calls

    def _call(
        self,
        node: Located,
        identifier: nodes.Identifier,
        operands: Sequence[nodes.Operand],
        piped: Eval | None,
    ) -> Eval:
        function = self.functions[identifier.name]
        # Such a template gets a copy of its data, which others are rendered with, too.
        if identifier.name in CHANGING:
            self.changes_data = True
        given = len(operands) + (piped is not None)
        # As in Go an error of the rendering, not of the parser: the call may never be made.
        if problem := function.arity_error(len(operands), given):
            return self._failing(identifier, problem, piped)
        args = [self._argument(arg, function.param(i)) for i, arg in enumerate(operands)]
        if function.call is special:
            last = None if piped is None else _or_no_value(piped)
            if function.name == "call":
                return self._call_value(node, operands, args, last)
            ends = [last_at(operand) for operand in operands]
            return short_circuit(args, ends, last, stop_at=function.name == "or")
        if function.name in ("eq", "ne") and len(operands) == 2 and piped is None:
            constant = operands[1]
            if isinstance(constant, nodes.String):
                return compare_text(self.unit, node, function.name, args[0], constant.text)
        if piped is None:
            return compile_call(self.unit, node, function, args, None)
        param = function.param(given - 1)
        # With nothing beside the piped value it is an ordinary call of one argument.
        if not operands:
            value = self._checked(_or_no_value(piped), param, identifier)
            return compile_call(self.unit, node, function, [value], None)
        convert = self._converter(param, last_at(operands[-1]))
        return compile_call(self.unit, node, function, args, (_or_no_value(piped), convert))

    def _call_value(
        self,
        node: Located,
        operands: Sequence[nodes.Operand],
        args: Sequence[Eval],
        piped: Eval | None,
    ) -> Eval:
        """Compile `call`: data holds no functions, so it says what it found instead."""
        unit = self.unit
        name = str(operands[0]) if operands else ""

        def run(frame: Frame, dot: object) -> object:
            values = [] if piped is None else [piped(frame, dot)]
            values = [arg(frame, dot) for arg in args] + values
            first = values[0]
            go_type = type_name(first)
            piped_name = first if isinstance(first, str) else f"<{go_type} Value>"
            reason = f"non-function {name or piped_name} of type {go_type}"
            if first is None or first is NO_VALUE:
                reason = "call of nil"
            raise unit.error(node, f"error calling call: {reason}")

        return run

    # Arguments

    def _argument(self, node: nodes.Operand, param: Param) -> Eval:
        if isinstance(node, nodes.Nil):
            if not param.nil:
                return self._failing(node, f"cannot assign nil to {param.go_type}")
            return _constant(NO_VALUE if param is VALUE else None)
        if isinstance(node, _Constant):
            return self._literal(node, param)
        return self._checked(self._operand(node), param, node)

    def _checked(self, value: Eval, param: Param, node: nodes.Operand) -> Eval:
        """Compile a value that is an argument."""
        if param is VALUE:
            return value
        if param is ANY:
            return _or_nil(value)
        convert = self._converter(param, last_at(node))

        def run(frame: Frame, dot: object) -> object:
            return convert(value(frame, dot))

        return run

    def _late_argument(self, node: nodes.Operand) -> LateEval:
        """Compile an argument of a method, whose parameters are known when it is called."""
        # A constant takes the type of the parameter, which only the method knows.
        value = None if isinstance(node, (nodes.Nil, *_CONSTANTS)) else self._operand(node)
        at = last_at(node)

        def run(frame: Frame, dot: object, param: Param) -> object:
            if value is None:
                return self._argument(node, param)(frame, dot)
            return self._converter(param, at)(value(frame, dot))

        return run

    def _literal(self, node: _Constant, param: Param) -> Eval:
        try:
            return _constant(param.constant(node))
        except FunctionError as error:
            return self._failing(node, str(error))

    def _converter(self, param: Param, node: Located) -> Convert:
        if param is VALUE:
            return _same
        if param is ANY:
            return _nil_if_unset
        unit = self.unit

        def convert(value: object) -> object:
            try:
                return param.convert(value)
            except FunctionError as error:
                raise unit.error(node, error) from error

        return convert


def _same(value: object) -> object:
    return value


def _nil_if_unset(value: object) -> object:
    return None if value is NO_VALUE else value


def _dot(_frame: Frame, dot: object) -> object:
    return dot


def _constant(value: object) -> Eval:
    def run(_frame: Frame, _dot: object) -> object:
        return value

    return run


def _or_nil(value: Eval) -> Eval:
    def run(frame: Frame, dot: object) -> object:
        result = value(frame, dot)
        return None if result is NO_VALUE else result

    return run


def _or_no_value(value: Eval) -> Eval:
    def run(frame: Frame, dot: object) -> object:
        result = value(frame, dot)
        return NO_VALUE if result is None else result

    return run


def last_at(node: nodes.Operand | nodes.Command) -> Located:
    """Return the node Go's evaluator is at after a node: errors that follow are put there."""
    while True:
        match node:
            case nodes.Pipe():
                node = node.commands[-1]
            case nodes.Command(args=(nodes.Identifier(name=name), _, _, *_)) if name in _STOPPING:
                return Ending(last_at(node.args[-1]))
            case nodes.Command():
                node = node.args[-1] if isinstance(node.args[0], nodes.Identifier) else node.args[0]
            case nodes.Chain():
                node = node.node
            case _:
                return node
