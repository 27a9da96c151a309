"""The formats of texts: quantity, duration, cron, dns-name, semver.

Checks, descriptions and schemas follow from `FORMATS`. Texts are checked on event loops, so their
length is bounded first, and the expressions take time in proportion to it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kubeio.names import MAX_SUBDOMAIN, is_subdomain

_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        name: As packages write it.
        what: What a text of it is, with examples.
        sample: A text of it.
        accepts: Whether a text is of the format; it has at most `most` characters.
        most: The most characters of a text.
    """

    name: str
    what: str
    sample: str
    accepts: Callable[[str], bool]
    most: int = _LONGEST

    def fault(self, text: str) -> str:
        """Return why a text is not of the format; empty if it is."""
        if len(text) <= self.most and self.accepts(text):
            return ""
        return f"is not {self.what}"


def _is_quantity(text: str) -> bool:
    from kubecel import parse_quantity  # few parameters are quantities

    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _is_duration(text: str) -> bool:
    from gotemplate import durations  # it loads the template engine

    try:
        durations.parse(text)
    except durations.DurationError:
        return False
    return True


_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def _is_semver(text: str) -> bool:
    """Return whether a text is a version of Semantic Versioning 2.0, without the v of tags."""
    return _SEMVER.fullmatch(text) is not None


def _numbered(first: int, names: str) -> Mapping[str, int]:
    """Return names of three letters each with their numbers."""
    return {names[at : at + 3]: first + at // 3 for at in range(0, len(names), 3)}


_CRON_FIELDS: Final[tuple[tuple[range, Mapping[str, int]], ...]] = (
    (range(60), {}),
    (range(24), {}),
    (range(1, 32), {}),
    (range(1, 13), _numbered(1, "janfebmaraprmayjunjulaugsepoctnovdec")),
    (range(7), _numbered(0, "sunmontuewedthufrisat")),
)
"""Minute, hour, day of the month, month, and day of the week from Sunday on: values and names."""
_CRON_ITEM: Final = re.compile(
    r"(?:[*?]|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?"
)


def _is_cron(text: str) -> bool:
    """Return whether Kubernetes takes a text of five fields as the schedule of a CronJob."""
    fields = text.split()
    return len(fields) == len(_CRON_FIELDS) and all(
        _is_cron_item(item, values, names)
        for field, (values, names) in zip(fields, _CRON_FIELDS, strict=True)
        for item in field.lower().split(",")
    )


def _is_cron_item(item: str, values: range, names: Mapping[str, int]) -> bool:
    match = _CRON_ITEM.fullmatch(item)
    if match is None or (match[3] is not None and int(match[3]) == 0):
        return False
    ends = [int(end) if end.isdecimal() else names.get(end, -1) for end in match.group(1, 2) if end]
    return all(end in values for end in ends) and ends == sorted(ends)


FORMATS: Final[Mapping[str, Format]] = {
    each.name: each
    for each in (
        Format("quantity", "a quantity of Kubernetes, such as 500m or 10Gi", "1Gi", _is_quantity),
        Format("duration", "a duration of Go, such as 90s or 1h30m", "10m", _is_duration),
        Format(
            "cron",
            "a schedule of five fields (minute, hour, day of the month, month, day of the week), "
            "such as 0 3 * * 1",
            "0 3 * * *",
            _is_cron,
        ),
        Format(
            "dns-name",
            "a DNS name of lower-case letters, digits, - and ., such as db.example.com",
            "db.example.com",
            is_subdomain,
            MAX_SUBDOMAIN,
        ),
        Format("semver", "a semantic version, such as 1.2.3 or 1.0.0-rc.1", "1.2.3", _is_semver),
    )
}
"""By their names, in the order in which people are shown them."""
