"""What differs between two runs of the same, and what the record has in its place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from kubectl_kudo import __version__

_UID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)([T ])(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?")
_PATTERNS: Final = (
    (_UID, "<uid>"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
    (re.compile(rf"((?:version |kudo/|:v?)){re.escape(__version__)}\b"), r"\1<version>"),
    (re.compile(r"\b[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), "I<time> <pid> "),
    (re.compile(r"\b\d+ milliseconds"), "<n> milliseconds"),
    (re.compile(r"^ +\d+\.\ds  ", re.MULTILINE), "  <n>s  "),
    (re.compile(r"\belapsed time \d+s"), "elapsed time <n>s"),
)


@dataclass(frozen=True, slots=True)
class Placeholders:
    """Replaces what is known to differ.

    Attributes:
        shift: How much later than in the record the times of the fixed set are.
        times: The times of the fixed set, shifted; every other time becomes `<time>`.
        texts: Further texts, such as folders, and what stands for them; the longest come first.
    """

    shift: timedelta = timedelta()
    times: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)

    def put_into(self, text: str) -> str:
        for found in sorted(self.texts, key=len, reverse=True):
            text = text.replace(found, self.texts[found])
        text = _TIME.sub(self._time, text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def _time(self, found: re.Match[str]) -> str:
        day, between, time, fraction, zone = found.groups()
        if f"{day}T{time}Z" not in self.times:
            # As wide as what it replaces, so that columns stay where they are.
            return "<time>".ljust(len(found[0])) if between == " " else "<time>"
        moment = datetime.fromisoformat(f"{day}T{time}+00:00") - self.shift
        return moment.strftime(f"%Y-%m-%d{between}%H:%M:%S") + (fraction or "") + (zone or "")


def shifted(text: str, shift: timedelta) -> tuple[str, frozenset[str]]:
    """Return a text with all its times in RFC 3339 moved, and these times."""
    times = set()

    def move(found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0]).astimezone(UTC) + shift
        times.add(moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        fraction = f".{moment.microsecond:06d}" if found[4] else ""
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"

    return _TIME.sub(move, text), frozenset(times)
