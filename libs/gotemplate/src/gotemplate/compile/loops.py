"""Compiled `range`.

Lists, integers and maps (in the order of their keys) are looped over; nil is an empty list.
Every pass pays for the body before it runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gotemplate.compile.runtime import BreakLoop, ContinueLoop, Eval, Exec, Frame, Unit
from gotemplate.errors import LimitError
from gotemplate.golang.gofmt import short_text, sorted_items
from gotemplate.golang.values import NO_VALUE, TYPED_LISTS, Int64, StringMap, Uint8, Uint64
from gotemplate.rendering import Located

_TYPED: Final = (int, StringMap, *TYPED_LISTS)

Pairs = Iterable[tuple[object, object]]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop without its pipeline.

    Attributes:
        unit: the template, for errors.
        node: where errors are.
        body: what runs on every pass.
        cost: steps of one pass.
        slots: the variables: none, the element, or index and element.
        jumps: whether the body has a break or continue.
    """

    unit: Unit
    node: Located
    body: Exec
    cost: int
    slots: tuple[int, ...]
    jumps: bool

    def pairs(self, frame: Frame, value: object) -> Pairs:
        """Return index and element of every pass.

        Raises:
            TemplateError: the value cannot be looped over.
            LimitError: a map is too large to sort.
        """
        if isinstance(value, (list, tuple)):
            return enumerate(value)
        if isinstance(value, Mapping):
            # Go sorts the keys of a map it ranges over, so a rendering is the same each time.
            frame.run.weigh(value)
            return sorted_items(value)
        # Python's bool is an int, Go's is not.
        if isinstance(value, int) and not isinstance(value, bool):
            if len(self.slots) > 1:
                message = f"can't use {value} to iterate over more than one variable"
                raise self.unit.error(self.node, message)
            like = type(value) if isinstance(value, (Int64, Uint8, Uint64)) else int
            return ((NO_VALUE, like(number)) for number in range(value))
        if value is None or value is NO_VALUE:
            return ()
        raise self.unit.error(self.node, f"range can't iterate over {short_text(value)}")

    def note_types(self, frame: Frame, value: object) -> None:
        """Note whether the elements have a type of their own."""
        frame.typed_dot = isinstance(value, _TYPED)
        if self.slots:
            slot = self.slots[-1]
            if frame.typed_dot:
                frame.typed_slots |= {slot}
            elif slot in frame.typed_slots:
                frame.typed_slots -= {slot}

    def passes(self, frame: Frame, pairs: Pairs) -> bool:
        """Run the body for every pair; return whether there was one."""
        charge, cost, body = frame.run.charge, self.cost, self.body
        variables = frame.slots
        of_element = self.slots[-1] if self.slots else None
        of_index = self.slots[0] if len(self.slots) > 1 else None
        ran = False
        for index, element in pairs:
            ran = True
            # Before the pass: a loop with an empty body has to run out of steps as well.
            charge(cost)
            if of_element is not None:
                variables[of_element] = element
            if of_index is not None:
                variables[of_index] = index
            body(frame, element)
        return ran

    def passes_with_jumps(self, frame: Frame, pairs: Pairs) -> bool:
        """Do the same for a body that may break or continue."""
        # Apart from `passes`: entering a try for every pass would slow down all other loops.
        ran = False
        try:
            for pair in pairs:
                ran = True
                try:
                    self.passes(frame, (pair,))
                except ContinueLoop:
                    continue
        except BreakLoop:
            pass
        return ran


def compile_loop(loop: Loop, value: Eval, otherwise: Exec | None) -> Exec:
    """Compile a loop over what a pipeline gives."""
    passes = loop.passes_with_jumps if loop.jumps else loop.passes

    def run(frame: Frame, dot: object) -> None:
        items = value(frame, dot)
        outer = frame.typed_dot, frame.typed_slots
        loop.note_types(frame, items)
        try:
            ran = passes(frame, loop.pairs(frame, items))
        except LimitError as error:
            raise loop.unit.error(loop.node, error) from error
        frame.typed_dot, frame.typed_slots = outer
        if ran or otherwise is None:
            return
        try:
            otherwise(frame, dot)
        except BreakLoop:
            return  # Go's parser gives it to the loop around, but this loop catches it

    return run
