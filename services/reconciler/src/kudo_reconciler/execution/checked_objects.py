"""What a run remembers of the objects of a Check task, and when these are read again.

    a watch reports all of them ──> when one has changed, at most once a second
    some are not watched ─────────> also after 2 s, then after twice as long each time, up to 30 s

Objects that have not changed cost no request as long as a watch reports all of them.
"""

from dataclasses import dataclass, field
from typing import Final

from kubeio.resource import Resource
from kudo.tasks.check import Target
from kudo_reconciler.objects.observer import ObjectVersion

_AT_LEAST: Final = 1.0
"""Seconds between two reads, however often objects change."""
_PRECISION: Final = 0.001
_POLL_SECONDS: Final = 2.0
_POLL_CAP: Final = 30.0


@dataclass(frozen=True, slots=True)
class Watched:
    """What watches tell of the objects of a task now.

    Attributes:
        versions: Of those that they tell of.
        all: Whether they tell of each change of what the task reads.
    """

    versions: frozenset[ObjectVersion] = frozenset()
    all: bool = False


@dataclass
class CheckedObjects:
    """What is remembered of the objects of one task. It is lost with the process.

    Attributes:
        target: The objects, as the templates named them first: they may give another text each
            time.
        resource: Their kind, once it was looked up.
        versions: Of those that watches told of when all were read last.
        message: What was told of them.
        awaits: Digest of them, as `TaskResult` has it.
        read_at: When that was, in seconds of the event loop; None if they were never read.
        poll: Seconds after which they are read again unless watches tell of all.
    """

    target: Target
    resource: Resource | None = None
    versions: frozenset[ObjectVersion] = frozenset()
    message: str = ""
    awaits: str = ""
    read_at: float | None = None
    poll: float = field(default=_POLL_SECONDS)

    def seconds_left(self, now: float, watched: Watched) -> float | None:
        """Return the seconds until the objects are read again; None if that needs an event.

        Args:
            now: Seconds of the event loop.
            watched: What watches tell of the objects now.
        """
        if self.read_at is None:
            return 0.0
        if watched.versions == self.versions and watched.all:
            return None
        changed = watched.versions != self.versions
        left = self.read_at + (_AT_LEAST if changed else self.poll) - now
        # Else a clock that is early by a rounding error would ask again at once.
        return left if left > _PRECISION else 0.0

    def read(self, now: float, watched: Watched) -> None:
        """Take down that the objects were read.

        Args:
            now: Seconds of the event loop.
            watched: What watches told of what was read.
        """
        is_first = self.read_at is None or watched.all
        self.poll = _POLL_SECONDS if is_first else min(_POLL_CAP, 2 * self.poll)
        self.read_at, self.versions = now, watched.versions
