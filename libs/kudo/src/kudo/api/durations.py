"""Durations of limits, as Go's `time.ParseDuration` reads them: `90s`, `10m`, `1h30m`."""

from typing import Final

from gotemplate import durations
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
    try:
        nanoseconds = durations.parse(text)
    except durations.DurationError as error:
        raise DurationError(shown(str(error), _MOST)) from error
    if nanoseconds <= 0:
        raise DurationError(f"{durations.quote(text)} is not more than zero")
    return nanoseconds / durations.SECOND
