"""Compiles statements of trees to closures.

A body becomes a list of closures run in order; texts and printed values in a row are one. Loops
and template calls pay for their bodies in steps; `if` and `with` are paid for where they stand,
with all their branches, so a body's cost is known when it is compiled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gotemplate.compile.expressions import Expressions, last_at
from gotemplate.compile.fields import MissingKey
from gotemplate.compile.loops import Loop, compile_loop
from gotemplate.compile.runtime import (
    BreakLoop,
    Code,
    ContinueLoop,
    Eval,
    Exec,
    Frame,
    Scope,
    Unit,
    always,
    in_loop,
)
from gotemplate.errors import LimitError
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.literals import INT_MAX, INT_MIN, quote
from gotemplate.golang.values import NO_VALUE
from gotemplate.parse import nodes
from gotemplate.types.signature import Function

# A text, the value printed after it, and its action, for errors.
_Print = tuple[str, Eval, nodes.Action]
_Statement = nodes.Action | nodes.Block | nodes.Template | nodes.Break | nodes.Continue


@dataclass(frozen=True, slots=True)
class Rules:
    """What all bodies of an environment are compiled by."""

    functions: Mapping[str, Function]
    missing: MissingKey


def compile_tree(tree: nodes.Tree, rules: Rules) -> Mapping[str, Code]:
    """Compile a tree: its own body under its name, and those it defines."""
    codes: dict[str, Code] = {}
    bodies = {**tree.templates, tree.name: tree.root}
    for name, body in bodies.items():
        codes[name] = _BodyCompiler(Unit(tree, name), rules, codes).compile(body)
    return codes


class _BodyCompiler:
    """Compile one body; `codes` fills up with its siblings until all are compiled."""

    def __init__(self, unit: Unit, rules: Rules, codes: Mapping[str, Code]) -> None:
        self._unit = unit
        self._codes = codes
        self._scope = Scope()
        self._exprs = Expressions(unit, rules.functions, rules.missing, self._scope)
        self._jumps = False

    def compile(self, body: nodes.Body) -> Code:
        run = self._body(body)
        exprs = self._exprs
        return Code(run, exprs.cost + 1, self._scope.size, exprs.changes_data)

    def _body(self, body: nodes.Body) -> Exec:
        steps: list[Exec] = []
        prints: list[_Print] = []
        text = ""
        for node in body.nodes:
            if isinstance(node, nodes.Text):
                text += node.text
            elif isinstance(node, nodes.Action) and not node.pipe.declared:
                prints.append((text, self._exprs.raw_pipe(node.pipe), node))
                text = ""
            else:
                if text or prints:
                    steps.append(_printing(self._unit, prints, text))
                    prints, text = [], ""
                steps.append(self._statement(node))
        if text or prints:
            steps.append(_printing(self._unit, prints, text))
        self._exprs.cost += len(body.nodes)
        return _sequence(steps)

    def _scoped_body(self, body: nodes.Body) -> Exec:
        mark = self._scope.mark()
        run = self._body(body)
        self._scope.close(mark)
        return run

    def _statement(self, node: _Statement) -> Exec:
        match node:
            case nodes.Action():
                return _silent(self._exprs.raw_pipe(node.pipe))
            case nodes.If():
                return self._if(node)
            case nodes.With():
                return self._with(node)
            case nodes.Range():
                return self._range(node)
            case nodes.Template():
                return self._template(node)
            case nodes.Break():
                self._jumps = True
                return _break
            case nodes.Continue():
                self._jumps = True
                return _continue

    def _if(self, node: nodes.If) -> Exec:
        mark = self._scope.mark()
        branches: list[tuple[Eval, Exec]] = []
        otherwise: nodes.Body | None
        # A chain of `else if` is one closure: nested ones would take a frame of Python each.
        while True:
            condition = self._exprs.raw_pipe(node.pipe)
            branches.append((condition, self._scoped_body(node.body)))
            otherwise = node.otherwise
            following = otherwise.nodes[0] if otherwise and len(otherwise.nodes) == 1 else None
            if not isinstance(following, nodes.If):
                break
            node = following
        last = self._scoped_body(otherwise) if otherwise is not None else None
        self._scope.close(mark)
        return _choose(branches, last)

    def _with(self, node: nodes.With) -> Exec:
        mark = self._scope.mark()
        value = self._exprs.pipe(node.pipe)
        typed = self._exprs.typed_dot
        self._exprs.typed_dot = always
        body = self._scoped_body(node.body)
        self._exprs.typed_dot = typed
        otherwise = self._scoped_body(node.otherwise) if node.otherwise is not None else None
        self._scope.close(mark)

        def run(frame: Frame, dot: object) -> None:
            scoped = value(frame, dot)
            if scoped:
                body(frame, scoped)
            elif otherwise is not None:
                otherwise(frame, dot)

        return run

    def _range(self, node: nodes.Range) -> Exec:
        mark = self._scope.mark()
        exprs, scope = self._exprs, self._scope
        value = exprs.pipe(node.pipe)
        slots = self._loop_slots(node.pipe)
        typed, jumps, cost = exprs.typed_dot, self._jumps, exprs.cost
        exprs.typed_dot, self._jumps, exprs.cost = in_loop, False, 1
        body = self._scoped_body(node.body)
        loop = Loop(self._unit, last_at(node.pipe), body, exprs.cost, slots, self._jumps)
        exprs.typed_dot, self._jumps, exprs.cost = typed, jumps, cost
        otherwise = self._scoped_body(node.otherwise) if node.otherwise is not None else None
        scope.close(mark)
        return compile_loop(loop, value, otherwise)

    def _loop_slots(self, pipe: nodes.Pipe) -> tuple[int, ...]:
        """Return the slots of a loop's variables, which its pipeline has just declared or set."""
        scope = self._scope
        if pipe.declared:
            scope.untype(pipe.declared[-1].name)
        if pipe.is_assign:
            variables = [scope.find(variable.name) for variable in pipe.declared]
            return tuple(variable.slot for variable in variables if variable is not None)
        return tuple(range(scope.size - len(pipe.declared), scope.size))

    def _template(self, node: nodes.Template) -> Exec:
        unit, codes, name = self._unit, self._codes, node.name
        value = self._exprs.pipe(node.pipe) if node.pipe is not None else _nothing

        if name not in unit.tree.templates and name != unit.tree.name:
            return _fail(lambda: unit.error(node, f"template {quote(name)} not defined"))

        def run(frame: Frame, dot: object) -> None:
            try:
                frame.run.enter()
                inner = value(frame, dot)
                # Only now: templates may call each other, and not all were compiled before.
                code = codes[name]
                frame.run.charge(code.cost)
            except LimitError as error:
                raise unit.error(node, error) from error
            slots: list[object] = [NO_VALUE] * code.slots
            slots[0] = inner
            code.run(Frame(frame.run, slots, frame.write), inner)
            # In no `finally`: after an error nothing of this rendering goes on.
            frame.run.depth -= 1

        return run


def _printed(frame: Frame, value: object) -> str:
    # Integers of data may be larger than Go's; those go through the limits of the formatter.
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return str(value)
    if value is None or value is NO_VALUE:
        return "<no value>"
    if not isinstance(value, (list, dict, tuple)):
        return plain_text(frame.run, value)
    text = plain_text(frame.run, value)
    frame.run.weigh(text)
    return text


def _printing(unit: Unit, prints: list[_Print], end: str) -> Exec:
    """Compile texts and printed values in a row, with the text at their end."""

    def run_text(frame: Frame, _dot: object) -> None:
        frame.write(end)

    def run(frame: Frame, dot: object) -> None:
        write = frame.write
        for text, value, node in prints:
            if text:
                write(text)
            printed = value(frame, dot)
            if type(printed) is not str:
                try:
                    printed = _printed(frame, printed)
                except LimitError as error:
                    raise unit.error(node, error) from error
            write(printed)
        if end:
            write(end)

    return run if prints else run_text


def _silent(value: Eval) -> Exec:
    def run(frame: Frame, dot: object) -> None:
        value(frame, dot)

    return run


def _nothing(_frame: Frame, _dot: object) -> object:
    return NO_VALUE


def _break(_frame: Frame, _dot: object) -> None:
    raise BreakLoop


def _continue(_frame: Frame, _dot: object) -> None:
    raise ContinueLoop


def _fail(error: Callable[[], Exception]) -> Exec:
    def run(_frame: Frame, _dot: object) -> None:
        raise error()

    return run


def _sequence(steps: list[Exec]) -> Exec:
    if len(steps) == 1:
        return steps[0]

    def run(frame: Frame, dot: object) -> None:
        for step in steps:
            step(frame, dot)

    return run


def _choose(branches: list[tuple[Eval, Exec]], otherwise: Exec | None) -> Exec:
    if len(branches) > 1:
        return _choose_of_many(branches, otherwise)
    condition, body = branches[0]
    if otherwise is None:

        def run_if(frame: Frame, dot: object) -> None:
            if condition(frame, dot):
                body(frame, dot)

        return run_if

    def run_else(frame: Frame, dot: object) -> None:
        if condition(frame, dot):
            body(frame, dot)
        else:
            otherwise(frame, dot)

    return run_else


def _choose_of_many(branches: list[tuple[Eval, Exec]], otherwise: Exec | None) -> Exec:
    def run(frame: Frame, dot: object) -> None:
        for condition, body in branches:
            if condition(frame, dot):
                body(frame, dot)
                return
        if otherwise is not None:
            otherwise(frame, dot)

    return run
