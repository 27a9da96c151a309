"""Compiled calls of template functions.

Every shape of call that real templates have often gets its own closure; the general one handles
the rest. Arguments arrive checked; sizes of what goes in and out are charged to the rendering.
"""

from collections.abc import Callable, Sequence
from typing import Final

from gotemplate.compile.runtime import Ending, Eval, Frame, Unit
from gotemplate.errors import FunctionError
from gotemplate.functions.builtins import eq, ne
from gotemplate.golang.values import TYPED_LISTS, StringMap, truth
from gotemplate.rendering import Located, Rendering
from gotemplate.types.signature import Function

# By exact type, in one look-up: `isinstance` at each argument would cost more than most functions.
_SIZED: Final = frozenset({str, list, dict, tuple, StringMap, *TYPED_LISTS})

Convert = Callable[[object], object]


def compile_call(
    unit: Unit,
    node: Located,
    function: Function,
    args: Sequence[Eval],
    piped: tuple[Eval, Convert] | None,
) -> Eval:
    """Compile a call whose number of arguments is right."""
    if piped is not None:
        return _piped(unit, node, function, args, *piped)
    if function.uses_rendering or len(args) not in (1, 2):
        return _general(unit, node, function, args)
    return (
        _one(unit, node, function, args[0])
        if len(args) == 1
        else _two(unit, node, function, args[0], args[1])
    )


def _one(unit: Unit, node: Located, function: Function, arg: Eval) -> Eval:
    call, name = function.call, function.name

    def run(frame: Frame, dot: object) -> object:
        value = arg(frame, dot)
        try:
            if type(value) in _SIZED:
                frame.run.weigh(value)
            result = call(value)
            if type(result) in _SIZED:
                frame.run.weigh(result)
        except FunctionError as error:
            raise unit.call_error(node, name, error) from error
        return result

    return run


def _two(unit: Unit, node: Located, function: Function, left: Eval, right: Eval) -> Eval:
    call, name = function.call, function.name

    def run(frame: Frame, dot: object) -> object:
        first = left(frame, dot)
        second = right(frame, dot)
        try:
            if type(first) in _SIZED:
                frame.run.weigh(first)
            if type(second) in _SIZED:
                frame.run.weigh(second)
            result = call(first, second)
            if type(result) in _SIZED:
                frame.run.weigh(result)
        except FunctionError as error:
            raise unit.call_error(node, name, error) from error
        return result

    return run


def _general(unit: Unit, node: Located, function: Function, args: Sequence[Eval]) -> Eval:
    def run(frame: Frame, dot: object) -> object:
        values = [arg(frame, dot) for arg in args]
        try:
            return invoke(frame.run, function, values)
        except FunctionError as error:
            raise unit.call_error(node, function.name, error) from error

    return run


def _piped(
    unit: Unit,
    node: Located,
    function: Function,
    args: Sequence[Eval],
    piped: Eval,
    convert: Convert,
) -> Eval:
    def run(frame: Frame, dot: object) -> object:
        # Go evaluates the pipeline so far before the other arguments, and passes it behind them.
        last = piped(frame, dot)
        values = [arg(frame, dot) for arg in args]
        values.append(convert(last))
        try:
            return invoke(frame.run, function, values)
        except FunctionError as error:
            raise unit.call_error(node, function.name, error) from error

    return run


def invoke(run: Rendering, function: Function, values: list[object]) -> object:
    """Call a function with checked arguments, charging for their sizes and the result's.

    Raises:
        FunctionError: the function failed, or a limit was exceeded.
    """
    for value in values:
        if type(value) in _SIZED:
            run.weigh(value)
    result = function.call(run, *values) if function.uses_rendering else function.call(*values)
    if type(result) in _SIZED:
        run.weigh(result)
    return result


def compare_text(unit: Unit, node: Located, name: str, arg: Eval, constant: str) -> Eval:
    """Compile `eq` or `ne` of an expression and a string constant, most of what templates ask."""
    equal = name == "eq"
    general = eq if equal else ne

    def run(frame: Frame, dot: object) -> object:
        value = arg(frame, dot)
        if type(value) is str:
            return (value == constant) is equal
        try:
            return general(value, constant)
        except FunctionError as error:
            raise unit.call_error(node, name, error) from error

    return run


def short_circuit(
    args: Sequence[Eval], ends: Sequence[Located], piped: Eval | None, *, stop_at: bool
) -> Eval:
    """Compile `and` (stops at the first false argument) or `or` (at the first true one).

    Args:
        args: the arguments that are written.
        ends: where the evaluation of each of them ends.
        piped: the argument from the pipeline, which comes last.
        stop_at: the truth of the argument it stops at.
    """
    marks = [None if isinstance(end, Ending) else end for end in ends]
    if piped is None and len(args) == 2:
        return _either(args[0], args[1], marks[0], marks[1], stop_at)

    def run(frame: Frame, dot: object) -> object:
        last = None if piped is None else piped(frame, dot)
        value: object = None
        for arg, mark in zip(args, marks, strict=True):
            value = arg(frame, dot)
            # What Go says of a later error depends on where `and` or `or` stopped.
            if mark is not None:
                frame.run.stopped_at = mark
            if truth(value) is stop_at:
                return value
        return value if piped is None else last

    return run


def _either(
    left: Eval, right: Eval, first: Located | None, second: Located | None, stop_at: bool
) -> Eval:
    def run(frame: Frame, dot: object) -> object:
        value = left(frame, dot)
        mark = first
        if truth(value) is not stop_at:
            value = right(frame, dot)
            mark = second
        if mark is not None:
            frame.run.stopped_at = mark
        return value

    return run
