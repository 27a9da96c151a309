"""A network at random: delays, lost connections, refusals, late events; no tests of its own."""

from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.support.apiserver import status
from tests.support.apiserver.network.faults import UNHARMED, Fate
from tests.support.apiserver.server import Request

LONGEST: Final = 3.0
"""Seconds that a request is on its way at most: less than a Lease outlasts its holder."""


@dataclass
class RandomNetwork:
    """Harms a share of the requests and events.

    Attributes:
        share: Of requests that are harmed.
        late: Seconds that events of a kind take at most, by plural name.
        calm: Whether everything arrives, and at once.
    """

    rng: Random
    share: float
    late: dict[str, float] = field(default_factory=dict)
    calm: bool = False

    def fate(self, request: Request) -> Fate:
        del request
        if self.calm:
            return UNHARMED
        rng = self.rng
        if rng.random() >= self.share:
            return Fate(before=rng.random() * 0.02, after=rng.random() * 0.02)
        match rng.randrange(6):
            case 0:
                return Fate(before=rng.random() * LONGEST)
            case 1:
                return Fate(after=rng.random() * LONGEST)
            case 2:
                return Fate(before=rng.random(), lost="request")
            case 3:
                return Fate(before=rng.random(), lost="answer")
            case 4:
                return Fate(refused=status.too_many_requests(1))
        return Fate(refused=status.internal_error("etcdserver: request timed out"))

    def event_delay(self, plural: str) -> float:
        return 0.0 if self.calm else self.rng.random() * self.late.get(plural, 0.02)

    def watch_lasts(self, plural: str) -> float | None:
        del plural
        if self.calm or self.rng.random() >= self.share * 2:
            return None
        return self.rng.random() * 60
