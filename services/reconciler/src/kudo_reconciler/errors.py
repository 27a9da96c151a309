"""Why a reconcile stops early and begins again, and how unexpected exceptions are logged."""

import traceback


class Outdated(Exception):
    """The object changed meanwhile; the cache has been brought up to date, decide again."""


class Superseded(Exception):
    """The run is no longer the one that the Instance wants; nothing more is sent for it."""


def described(fault: BaseException) -> dict[str, str]:
    """Return the type of an exception and its stack, as fields of a log line.

    Its text and the exceptions before it are left out: they may quote what is in a Secret.
    """
    stack = "".join(traceback.format_tb(fault.__traceback__))
    return {"fault": type(fault).__name__, "stack": stack}
