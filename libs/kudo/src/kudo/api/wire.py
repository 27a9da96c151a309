"""Types of JSON values, and the states of runs; imports no models."""

from enum import StrEnum
from typing import Any

Json = Any
"""Any JSON value; the one place where a type is left open."""
JsonObject = dict[str, Any]


class ExecutionStatus(StrEnum):
    """The states of a plan, phase or step, as the original names them."""

    NEVER_RUN = "NEVER_RUN"
    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    ERROR = "ERROR"
    """A transient error, which is retried."""
    COMPLETE = "COMPLETE"
    FATAL_ERROR = "FATAL_ERROR"

    @property
    def terminal(self) -> bool:
        return self in {ExecutionStatus.COMPLETE, ExecutionStatus.FATAL_ERROR}

    @property
    def running(self) -> bool:
        return self in {ExecutionStatus.PENDING, ExecutionStatus.IN_PROGRESS, ExecutionStatus.ERROR}
