"""Turns what the API server refused into the end of a plan or another try."""

from kubeio.errors import ApiError, ConnectionLost
from kudo.refusals import is_fatal
from kudo.tasks import FatalTaskError, TransientTaskError

Refusal = ApiError | ConnectionLost

_HEAD, _TAIL = 300, 400
"""Characters. The API server quotes whole objects between what is wrong and why."""


def told(error: Refusal) -> str:
    """Return the words of a refusal; of long ones the beginning and, with the reason, the end."""
    text = str(error)
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} ... {text[-_TAIL:]}"


def stays_refused(error: Refusal) -> bool:
    """Return whether trying again cannot help."""
    return isinstance(error, ApiError) and is_fatal(
        error.status, error.reason, error.message, [cause.reason for cause in error.causes]
    )


def task_error(reason: str, text: str, error: Refusal) -> FatalTaskError | TransientTaskError:
    """Return the error of a task for a refused request."""
    kind = FatalTaskError if stays_refused(error) else TransientTaskError
    return kind(reason, text)
