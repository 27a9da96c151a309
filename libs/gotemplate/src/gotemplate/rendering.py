"""What one rendering may use: its budget, and its sources of time and randomness.

Work is counted in steps: one for every node of a body each time the body runs (a loop pays for
its body again on every pass), two for every value inside a printed one, and one for every 64
characters or 8 items a function reads or makes, more where it looks at each of them. Steps
therefore bound time and memory together, and they are the same on every machine. The other limits
stop a single call before it allocates. The clock is looked at now and then, for what steps cannot
see: a machine that is busy, and the few functions that take long (see `Limits.expensive`).

An `Environment` is given its `Sources`, so whoever renders decides whether two renderings may
differ. Templates reach them through functions alone: `now`, `uuidv4`, `randAlpha`, `env` and so on.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from gotemplate.errors import LimitError


def _no_addresses(_host: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where functions get time, random bytes, environment variables and addresses of hosts.

    By default, those of the process.

    Attributes:
        now: nanoseconds since 1970.
        elapsed: seconds of a clock that never goes back, for `Limits.seconds`.
        random: returns that many random bytes; keys and passwords are made of them.
        variables: the environment that `env` and `expandenv` of policy "sprig" see.
        resolve: addresses of a host for `getHostByName` of policy "sprig"; none by default.
    """

    now: Callable[[], int] = time.time_ns
    elapsed: Callable[[], float] = time.monotonic
    random: Callable[[int], bytes] = os.urandom
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    resolve: Callable[[str], Sequence[str]] = _no_addresses


_SMALL_TEXT = 64
_SMALL_LIST = 16
_LOOK_EVERY = 200  # steps between two looks at the clock


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what parsing and rendering may cost; every limit exceeded is a `TemplateError`.

    Attributes:
        source: characters of a template's text.
        tokens: words and marks of a template's actions.
        nesting: blocks and parentheses inside each other.
        steps: units of work of one rendering, see the module.
        seconds: time of one rendering.
        output: bytes written by one rendering.
        depth: `template` calls inside each other.
        string: characters of one string made by a function, and of one printed value.
        items: items made by `until`, `seq` and their like.
        pattern: characters of a regular expression.
        program: instructions of a compiled regular expression.
        search: bytes of text times instructions that all searches of one rendering may read.
        expensive: calls, in one rendering, of functions that make keys, certificates and hashes
            of passwords; each may take up to some seconds.
        width: field width and precision of `printf`, columns of `indent`.
        value_depth: containers inside each other in a printed or converted value.
        bits: size of an integer of the data that is printed; arithmetic keeps 64 bits as Go's.
    """

    source: int = 1 << 19
    tokens: int = 50_000
    nesting: int = 100
    steps: int = 500_000
    seconds: float = 10.0
    output: int = 4 << 20
    depth: int = 100
    string: int = 1 << 20
    items: int = 100_000
    pattern: int = 1000
    program: int = 16_000
    search: int = 2 << 30
    expensive: int = 10
    width: int = 10_000
    value_depth: int = 100
    bits: int = 1024


INLINE: Final = Limits(
    source=32 << 10,
    tokens=2_000,
    steps=2_000,
    output=64 << 10,
    depth=20,
    string=16 << 10,
    items=1_000,
    pattern=200,
    program=1_000,
    search=1 << 20,
    expensive=0,
    width=1_000,
)
"""What may be rendered on an event loop. No function takes much over 5 µs for a step, so parsing
and rendering take some 10 ms each at worst. A template that exceeds a limit is to be rendered
again, in another process and under larger limits."""

_OWN = Sources()


class Located(Protocol):
    """A node: it has a place, and its text names it in errors."""

    @property
    def pos(self) -> int: ...


class Rendering:
    """The budget of one rendering. Not shared between threads: each rendering has its own.

    `stopped_at` is the argument that the last `and` or `or` ended at, which errors name.
    """

    __slots__ = (
        "_deadline",
        "_expensive",
        "_look",
        "_searched",
        "depth",
        "expired",
        "limits",
        "sources",
        "steps",
        "stopped_at",
    )

    def __init__(
        self,
        limits: Limits,
        expired: Callable[[], bool] | None = None,
        sources: Sources | None = None,
    ) -> None:
        self.limits = limits
        self.sources = sources or _OWN
        self.steps = limits.steps
        self.depth = 0
        self.expired = expired
        self.stopped_at: Located | None = None
        self._look = limits.steps
        self._expensive = limits.expensive
        self._searched = 0
        self._deadline = self.sources.elapsed() + limits.seconds

    def charge(self, steps: int) -> None:
        """Charge for steps of work.

        Raises:
            LimitError: none are left, or the time is up.
        """
        self.steps -= steps
        # Reading a clock takes longer than most steps, so it is read every `_LOOK_EVERY` of them.
        if self.steps < self._look:
            self._check_time()

    def _check_time(self) -> None:
        if self.steps < 0:
            raise LimitError("steps", self.limits.steps)
        if self.expired is not None and self.expired():
            raise LimitError("time", 0, " seconds left")
        if self.sources.elapsed() > self._deadline:
            raise LimitError("seconds", self.limits.seconds)
        self._look = max(self.steps - _LOOK_EVERY, 0)

    def spend(self) -> None:
        """Charge for a call of an expensive function.

        Raises:
            LimitError: there were too many of them, or the time is up.
        """
        self._expensive -= 1
        if self._expensive < 0:
            raise LimitError("expensive", self.limits.expensive, " calls")
        # A key of 4096 bits takes seconds for a single step.
        self._check_time()

    def search(self, size: int) -> None:
        """Charge for a search of a regular expression before it starts.

        Raises:
            LimitError: all searches together would be too large.
        """
        # Before the search: RE2 cannot be interrupted once it runs.
        self._searched += size
        self.check("search", self._searched)

    def need_library(self) -> None:
        """Check that a large library may be loaded: not where expensive functions are forbidden.

        Raises:
            LimitError: expensive functions are forbidden.
        """
        if not self.limits.expensive:
            raise LimitError("expensive", 0, " calls")

    def enter(self) -> None:
        """Enter a template that another calls.

        Raises:
            LimitError: too many are running inside each other.
        """
        self.depth += 1
        if self.depth > self.limits.depth:
            raise LimitError("depth", self.limits.depth)

    def weigh(self, value: object) -> None:
        """Charge for the size of a function's argument or result; small ones are free.

        Raises:
            LimitError: no steps are left, or a string is longer than `Limits.string`.
        """
        if isinstance(value, str):
            if len(value) > _SMALL_TEXT:
                self.check("string", len(value))
                self.charge(len(value) >> 6)  # 64 characters a step, as the module says
        elif isinstance(value, (list, dict, tuple)) and len(value) > _SMALL_LIST:
            self.charge(len(value) >> 3)

    def check(self, limit: str, expected: int) -> None:
        """Check a size before it is allocated.

        Raises:
            LimitError: `expected` is more than the named limit.
        """
        maximum: int = getattr(self.limits, limit)
        if expected > maximum:
            raise LimitError(limit, maximum)
