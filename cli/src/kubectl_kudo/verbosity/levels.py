"""The levels of `-v`, and what they turn on; nothing is imported for the levels below."""

import argparse
import sys

# Type checkers read it as True. Importing `typing` would take 5 % of the time of `--help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kubeio.connection.tracing import Tracer

_LOGGED = 2
_DEBUGGED = 4
_TRACED = 6
_WITH_TRACEBACK = 9


def log_to_stderr(level: int) -> None:
    """Show what `kubeio` logs, from level 2 on, and all of it from 4 on."""
    if level < _LOGGED:
        return
    import logging

    shown = logging.DEBUG if level >= _DEBUGGED else logging.INFO
    logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s")
    logging.getLogger("kubeio").setLevel(shown)


def tracer_of(args: argparse.Namespace) -> "Tracer | None":
    """Return what prints requests, from level 6 on."""
    if args.v < _TRACED:
        return None
    from kubectl_kudo.verbosity.request_log import RequestLog

    return RequestLog(args.v)


def show_traceback(level: int) -> None:
    """Print where the present exception comes from, from level 9 on."""
    if level < _WITH_TRACEBACK:
        return
    import traceback

    traceback.print_exc()
