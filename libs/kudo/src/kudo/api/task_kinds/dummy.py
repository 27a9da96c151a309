"""The Dummy task."""

from types import MappingProxyType

from kudo.api.task_kinds.errors import FatalTaskError, TransientTaskError
from kudo.api.task_kinds.fields import TaskFields
from kudo.api.task_kinds.kind import Kind


class Dummy(Kind):
    name = "Dummy"
    does = "does nothing, or fails, for tests of plans"
    optional = ("done", "wantErr", "fatal")
    begins_with = MappingProxyType({"done": True})

    def never_waits(self, task: TaskFields) -> bool:
        return bool(task.spec.fatal if task.spec.want_err else task.spec.done)


def dummy_done(task: TaskFields) -> bool:
    """Return whether a Dummy task is done.

    Raises:
        FatalTaskError, TransientTaskError: it was asked to fail; reason DummyTaskError.
    """
    if task.spec.want_err:
        failure = FatalTaskError if task.spec.fatal else TransientTaskError
        raise failure("DummyTaskError", "dummy error")
    return bool(task.spec.done)
