"""Says where an unexpected exception comes from, for the log."""

import traceback


def described(fault: BaseException) -> dict[str, str]:
    """Return the type of an exception and its stack, as fields of a log line.

    Its text and the exceptions before it are left out: they may quote what is in a Secret.
    """
    stack = "".join(traceback.format_tb(fault.__traceback__))
    return {"fault": type(fault).__name__, "stack": stack}
