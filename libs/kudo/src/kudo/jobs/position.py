"""Reports which part of a job is being worked on, for errors of limits that end it there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


def _ignore(_: str) -> None:
    """Tell nobody: a service that runs a job inline has the error itself."""


@dataclass(slots=True)
class Position:
    """Tells the part of a job.

    Attributes:
        tell: Called with each part before it is worked on, such as a parameter or a template;
            empty for nothing of its own.
    """

    tell: Callable[[str], None] = _ignore


position: Final = Position()
"""That of this process."""


def report_to(tell: Callable[[str], None]) -> None:
    """Have all parts told to a function; a worker process calls this before its first job."""
    position.tell = tell
