"""Tasks: their kinds, and what they can fail with."""

from kudo.api.task_errors import FatalTaskError, TaskError, TaskPath, TransientTaskError
from kudo.api.task_kinds.kinds import (
    DEFAULT_KIND,
    KINDS,
    any_kind,
    check_task,
    kind_of,
    kinds_with,
    templates_of,
)

__all__ = [
    "DEFAULT_KIND",
    "KINDS",
    "FatalTaskError",
    "TaskError",
    "TaskPath",
    "TransientTaskError",
    "any_kind",
    "check_task",
    "kind_of",
    "kinds_with",
    "templates_of",
]
