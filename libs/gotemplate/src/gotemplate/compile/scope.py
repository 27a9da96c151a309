"""Variables at compile time: names to slots of a frame.

Scopes nest as blocks do. A declaration always takes a new slot, also when it hides a variable of
the same name, so that closing the scope only has to forget it.
"""

from typing import NamedTuple

from gotemplate.compile.runtime import Typed, always, in_slot


class Known(NamedTuple):
    """Where a variable lives, and whether its value has a type of its own in Go."""

    slot: int
    typed: Typed


class Scope:
    """The variables of one template body by scope; `$` has slot 0."""

    def __init__(self) -> None:
        self.size = 1
        self._known: dict[str, Known] = {"$": Known(0, always)}
        self._hidden: list[tuple[str, Known | None]] = []

    def declare(self, name: str, *, typed: Typed) -> int:
        """Declare a variable and return its slot."""
        slot = self.size
        self.size += 1
        self._hidden.append((name, self._known.get(name)))
        self._known[name] = Known(slot, typed)
        return slot

    def find(self, name: str) -> Known | None:
        """Look up a variable of the scope."""
        return self._known.get(name)

    def untype(self, name: str) -> None:
        """Note that a variable holds what a container held."""
        if (known := self._known.get(name)) is not None:
            self._known[name] = known._replace(typed=in_slot(known.slot))

    def mark(self) -> int:
        """Begin a scope."""
        return len(self._hidden)

    def close(self, mark: int) -> None:
        """End the scope that began at `mark`."""
        while len(self._hidden) > mark:
            name, known = self._hidden.pop()
            if known is None:
                del self._known[name]
            else:
                self._known[name] = known
