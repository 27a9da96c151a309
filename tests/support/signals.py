"""Signals that this process was started to ignore, and that what tests start must not ignore."""

import signal
from types import FrameType


def heed_ignored() -> None:
    """Make processes that are started from now on end by SIGINT and SIGHUP, as usual.

    A shell has what it runs in the background ignore interrupts, and `nohup` hangups; what is
    ignored is inherited, what is handled is not. This process still survives a hangup.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _survive)


def _survive(number: int, frame: FrameType | None) -> None:
    """Do nothing."""
