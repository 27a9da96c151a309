"""Records what an administrator sees while a plan runs."""

import asyncio
import re
import time
from dataclasses import dataclass, field

from tests.galera.instance import Database

_POLL = 0.5
_DURATION = re.compile(r"\d+(?:ms|[smh])")


@dataclass
class Recording:
    """The output of `kubectl kudo plan status`, whenever it is another one.

    Attributes:
        db: The Instance.
        lines: What was seen, with the seconds since the beginning before each output.
    """

    db: Database
    lines: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Look until cancelled."""
        began, last = time.monotonic(), ""
        while True:
            seen = (await self.db.kudo("plan", "status")).output
            # How long a step has been running changes all the time.
            known = _DURATION.sub("", seen)
            if known != last:
                self.lines += [f"after {time.monotonic() - began:.0f} s:", *seen.splitlines()]
            last = known
            await asyncio.sleep(_POLL)
