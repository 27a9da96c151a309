"""What one template may cost, and the account of one rendering.

Work is counted in steps: one for every node of a body each time the body runs (a loop pays for
its body again on every pass), two for every value inside a printed one, and one for every 64
characters or 16 items a function reads or makes beyond a small size. Steps therefore bound time
and memory together. The other limits stop a single call before it allocates. Counting is exact
and has no clock; a caller who wants wall clock passes `expired` to `Template.render`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gotemplate.errors import LimitError

_SMALL = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what parsing and rendering may cost; every limit exceeded is a `TemplateError`.

    Attributes:
        source: characters of a template's text.
        tokens: words and marks of a template's actions.
        nesting: blocks and parentheses inside each other.
        steps: units of work of one rendering, see the module.
        output: characters written by one rendering.
        depth: `template` calls inside each other.
        string: characters of one string made by a function, and of one printed value.
        items: items made by `until` and its like.
        width: field width and precision of `printf`, columns of `indent`.
        value_depth: containers inside each other in a printed or converted value.
        bits: size of an integer of the data that is printed; arithmetic keeps 64 bits as Go's.
    """

    source: int = 1 << 19
    tokens: int = 50_000
    nesting: int = 100
    steps: int = 500_000
    output: int = 4 << 20
    depth: int = 100
    string: int = 1 << 20
    items: int = 100_000
    width: int = 10_000
    value_depth: int = 100
    bits: int = 1024


class Run:
    """Account for one rendering. Not shared between threads; every rendering has its own."""

    __slots__ = ("depth", "expired", "limits", "steps")

    def __init__(self, limits: Limits, expired: Callable[[], bool] | None = None) -> None:
        self.limits = limits
        self.steps = limits.steps
        self.depth = 0
        self.expired = expired

    def charge(self, steps: int) -> None:
        """Take steps off the account.

        Raises:
            LimitError: none are left, or the caller's time is up.
        """
        self.steps -= steps
        if self.steps < 0:
            raise LimitError("steps", self.limits.steps)
        if self.expired is not None and self.expired():
            raise LimitError("time", 0, " seconds left")

    def enter(self) -> None:
        """Begin a template inside another.

        Raises:
            LimitError: too many are running inside each other.
        """
        self.depth += 1
        if self.depth > self.limits.depth:
            raise LimitError("depth", self.limits.depth)

    def weigh(self, value: object) -> None:
        """Charge for the size of a function's argument or result; small ones are free.

        Raises:
            LimitError: the account is empty, or a string is longer than `Limits.string`.
        """
        if isinstance(value, str):
            if len(value) > _SMALL:
                self.check("string", len(value))
                self.charge(len(value) >> 6)
        elif isinstance(value, (list, dict, tuple)) and len(value) > _SMALL:
            self.charge(len(value) >> 4)

    def check(self, limit: str, wanted: int) -> None:
        """Refuse a size before it is allocated.

        Raises:
            LimitError: `wanted` is more than the named limit.
        """
        maximum: int = getattr(self.limits, limit)
        if wanted > maximum:
            raise LimitError(limit, maximum)
