"""Versions as packages write them: semantic versions with the leniency of Masterminds/semver 3.1.

A leading `v` and one or two missing numbers are fine, and so are leading zeros.
"""

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final, Self

_IDENTIFIERS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_PATTERN: Final = re.compile(
    rf"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?", re.ASCII
)
_LONGEST: Final = 256
_Rank = tuple[int, int, str]


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A version; build metadata does not count."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the version that `text` writes, or None if it writes none."""
        match = _PATTERN.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            return None
        major, minor, patch, prerelease = match.groups()
        numbers = (int(major), int(minor or 0), int(patch or 0))
        return cls(numbers, tuple(prerelease.split(".")) if prerelease else ())

    def __lt__(self, other: Self) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[tuple[int, int, int], bool, tuple[_Rank, ...]]:
        """Return the order of semver.org: a release comes after its pre-releases."""
        return self.numbers, not self.prerelease, tuple(map(_rank, self.prerelease))


def _rank(identifier: str) -> _Rank:
    # Numbers come before words, and are compared as numbers.
    return (0, int(identifier), "") if identifier.isdigit() else (1, 0, identifier)
