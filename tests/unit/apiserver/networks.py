"""A network whose behaviour a test says beforehand."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.apiserver.network.faults import UNHARMED, Fate
from tests.support.apiserver.server import Request


@dataclass
class Scripted:
    """Gives each request the next fate of a list, and what comes later none.

    Attributes:
        only: Which requests this is about.
        delays: Seconds by plural name that events of a kind take.
        breaks: Seconds after which watches break, one entry for each.
    """

    fates: list[Fate] = field(default_factory=list)
    only: Callable[[Request], bool] = lambda request: request.method != "GET"
    delays: dict[str, float] = field(default_factory=dict)
    breaks: list[float] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def fate(self, request: Request) -> Fate:
        self.requests.append(request)
        return self.fates.pop(0) if self.fates and self.only(request) else UNHARMED

    def event_delay(self, plural: str) -> float:
        return self.delays.get(plural, 0.0)

    def watch_lasts(self, plural: str) -> float | None:
        del plural
        return self.breaks.pop(0) if self.breaks else None
