"""Lifetimes of certificates, and the times derived from them."""

import re
from dataclasses import dataclass
from datetime import timedelta

_DURATION = re.compile(r"(?=.)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_SHORTEST_LEAF = timedelta(seconds=10)
_LONGEST = timedelta(days=36500)
_RESOLUTION = timedelta(seconds=1)


def duration(text: str) -> timedelta:
    """Convert a duration such as 90d, 12h, 30m, 45s or 1d12h.

    Raises:
        ValueError: it is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration; write 90d, 12h, 30m, 45s or 1d12h")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The configured lifetimes; other times are shares of them, also where tests use short ones.

    Attributes:
        authority: Life of an authority.
        leaf: Life of a serving certificate; never beyond the end of its authority.

    Raises:
        ValueError: the leaf expires too soon to be renewed in time, or the authority expires too
            soon for the leaf.
    """

    authority: timedelta
    leaf: timedelta

    def __post_init__(self) -> None:
        if self.leaf < _SHORTEST_LEAF:
            raise ValueError("a serving certificate must live for 10s at least")
        if self.authority < 2 * self.leaf:
            raise ValueError("the authority must live at least twice as long as what it signs")
        if self.authority > _LONGEST:
            raise ValueError("the authority must not live for more than 36500d")

    @property
    def backdating(self) -> timedelta:
        """How long before its creation a certificate is valid, for clocks that are behind."""
        return min(self.leaf / 10, timedelta(hours=1))

    @property
    def settling(self) -> timedelta:
        """How long an authority is in the caBundles before anything signed by it is stored."""
        return min(self.leaf / 12, timedelta(minutes=1))

    @property
    def polling(self) -> timedelta:
        """Between two attempts of a replica."""
        return min(self.leaf / 60, timedelta(seconds=10))

    @property
    def patience(self) -> timedelta:
        """How long an attempt may take; then it is cancelled."""
        return min(self.leaf / 6, timedelta(seconds=30))

    @property
    def overlap(self) -> timedelta:
        """How long a former authority stays trusted after its successor was created.

        An attempt that began before the successor was written may still sign with it: at most one
        attempt later, by clocks that differ by `backdating` at most.
        """
        return self.leaf + 2 * self.patience + self.backdating + _RESOLUTION
