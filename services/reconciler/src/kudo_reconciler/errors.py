"""Errors that stop a reconcile early, and the log fields of unexpected exceptions."""

import traceback


class Outdated(Exception):
    """The object changed meanwhile; the cache has been updated, decide again."""


class Superseded(Exception):
    """The run is no longer the one that the Instance wants; nothing more is sent for it."""


class Suspended(Exception):
    """The Instance is suspended: nothing is sent for its run until it is resumed."""


def described(fault: BaseException) -> dict[str, str]:
    """Return the type of an exception and its stack, as fields of a log line.

    Its message and the exceptions that caused it are left out: they may quote a Secret.
    """
    stack = "".join(traceback.format_tb(fault.__traceback__))
    return {"fault": type(fault).__name__, "stack": stack}
