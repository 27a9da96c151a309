"""A clock and the time of day for displays of progress; no tests of its own."""

from datetime import datetime, timedelta


class Times:
    """A clock and the time of day, moved together.

    Args:
        began: The time of day when the clock was at 0.
    """

    def __init__(self, began: datetime) -> None:
        self.seconds = 0.0
        self._began = began

    def clock(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self.seconds)
