"""Durations of limits and moments of statuses, as texts.

Durations are what Go's `time.ParseDuration` reads: `90s`, `10m`, `1h30m`. Moments are RFC 3339 in
UTC and whole seconds, as of metav1.Time.
"""

from datetime import UTC, datetime
from typing import Final

from kudo.api import bounds
from kudo.api.problems import shown

ADVICE: Final = "write a duration of more than zero, such as 90s, 10m or 1h30m"
"""What to do about a text that is none."""
# Characters of an error: Go shows each byte of a character beyond ASCII as four.
_MOST: Final = 200


class DurationError(ValueError):
    """The text is no duration of more than zero; the error's text says why, in 200 characters."""


def seconds_of(text: str) -> float:
    """Return the seconds of a duration.

    Raises:
        DurationError: the text is unreadable or too long, or the duration is zero or negative.
    """
    if len(text) > bounds.DURATION:
        raise DurationError(f"it is longer than {bounds.DURATION} characters")
    # Imported here: most who read times need no template engine.
    from gotemplate import durations

    try:
        nanoseconds = durations.parse(text)
    except durations.DurationError as error:
        raise DurationError(shown(str(error), _MOST)) from error
    if nanoseconds <= 0:
        raise DurationError(f"{durations.quote(text)} is not more than zero")
    return nanoseconds / durations.SECOND


def rfc3339(at: datetime) -> str:
    """Return a moment as text; fractions of a second are cut."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> datetime | None:
    """Return the moment that a status names; None if it names none, or one without a zone."""
    try:
        parsed = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return None if parsed.tzinfo is None else parsed
