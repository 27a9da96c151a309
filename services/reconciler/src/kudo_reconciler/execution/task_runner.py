"""Runs a task by its kind; a task that is finished under a uid is not run again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from kubeio.errors import InvalidPath, KubeError
from kubeio.leader_election.elector import NotLeading
from kudo.api.task_kinds import FatalTaskError, TransientTaskError, check_task
from kudo_reconciler.execution.task_context import TaskContext, TaskResult


class RunsTasks(Protocol):
    """Runs the tasks of one kind."""

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt the task once."""


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks of every kind.

    Attributes:
        kinds: What runs the tasks of each kind.
    """

    kinds: Mapping[str, RunsTasks]

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt a task once.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
            NotLeading: this replica is not the leader any more.
        """
        if context.key in context.memory.finished:
            return TaskResult(done=True)
        self._check(context)
        try:
            result = await self.kinds[context.task.kind].run(context)
        except NotLeading:
            raise
        except InvalidPath as error:
            raise FatalTaskError("TaskEnhancementError", f"{error}") from error
        except KubeError as error:
            raise TransientTaskError("TaskError", f"{error}") from error
        if result.done:
            context.memory.finished.add(context.key)
            # One that applies nothing has rendered nothing.
            context.memory.rendered.setdefault(context.key, frozenset())
        return result

    def _check(self, context: TaskContext) -> None:
        try:
            check_task(context.task)
        except FatalTaskError as error:
            text = f"failed to build task {context.path}: {error}"
            raise FatalTaskError(error.reason, text) from error
