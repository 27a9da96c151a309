"""Errors that stop a reconcile early, and how errors are reported: without Secrets."""

import traceback
from dataclasses import asdict
from typing import Final

from kubeio.errors import ApiError, ConnectionLost
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api.problems import abridged
from kudo.api.redaction import Cause, ErrorText, redacted
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.api_errors import is_fatal

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


Refusal = ApiError | ConnectionLost

_LONGEST: Final = 700
"""Characters. The API server quotes whole objects between the name of a field and the reason."""


def error_text(error: Refusal, about: Resource | JsonObject, *, confidential: bool = False) -> str:
    """Return the text of an error without secrets; of a long one the beginning and the end.

    The end contains the reason.

    Args:
        error: The error.
        about: The object as it was sent; if none was sent, its kind.
        confidential: Whether the object may have the value of a secret parameter.
    """
    return abridged(str(without_secrets(error, about, confidential=confidential)), _LONGEST)


def without_secrets(
    error: Refusal, about: Resource | JsonObject, *, confidential: bool = False
) -> Refusal:
    """Return an error that may be reported: if it is about a Secret, it quotes nothing of it.

    Nor does one about what is confidential. The error of a lost connection contains nothing of the
    object that was sent.
    """
    if isinstance(error, ConnectionLost):
        return error
    if isinstance(about, Resource):
        about = {"apiVersion": about.api_version, "kind": about.kind}
    causes = tuple(Cause(cause.field, cause.message, cause.reason) for cause in error.causes)
    said = ErrorText(error.message, causes)
    clean = redacted(said, about, confidential=confidential)
    if clean is said:
        return error
    details = {"causes": [asdict(cause) for cause in clean.causes]}
    return type(error)(clean.message, status=error.status, reason=error.reason, details=details)


def is_permanent(error: Refusal) -> bool:
    """Return whether a retry cannot help."""
    return isinstance(error, ApiError) and is_fatal(
        error.status, error.reason, error.message, [cause.reason for cause in error.causes]
    )


def task_error(reason: str, text: str, error: Refusal) -> FatalTaskError | TransientTaskError:
    """Return the task error for a failed request."""
    kind = FatalTaskError if is_permanent(error) else TransientTaskError
    return kind(reason, text)
