"""Errors that stop a reconcile early, and the log fields of unexpected exceptions."""

import traceback
from typing import Final

REPEATED_FAULTS: Final = 3
"""Internal errors in a row after which the conditions of the Instance name them."""


class Outdated(Exception):
    """The object changed meanwhile; the cache has been updated, decide again."""


class Superseded(Exception):
    """The run is no longer the one that the Instance wants; nothing more is sent for it."""


class Suspended(Exception):
    """The Instance is suspended: nothing is sent for its run until it is resumed."""


def fault_text(fault: BaseException, what: str) -> str:
    """Return what users are told of an internal error: nothing of its message.

    Args:
        fault: The error.
        what: What is retried.
    """
    return (
        f"internal error ({type(fault).__name__}): {what} is retried; "
        "the reconciler's log has the details"
    )


def described(fault: BaseException) -> dict[str, str]:
    """Return the type of an exception and its stack, as fields of a log line.

    Its message and the exceptions that caused it are left out: they may quote a Secret.
    """
    stack = "".join(traceback.format_tb(fault.__traceback__))
    return {"fault": type(fault).__name__, "stack": stack}
