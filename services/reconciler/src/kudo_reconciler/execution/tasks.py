"""Runs a task by its kind; a task that is finished under a uid is not run again."""

from dataclasses import dataclass
from typing import Protocol

from kubeio.errors import InvalidPath, KubeError
from kubeio.leader_election.elector import NotLeading
from kudo.tasks import FatalTaskError, TransientTaskError, check_task, dummy_done
from kudo_reconciler.execution.task_context import TaskContext, TaskResult
from kudo_reconciler.execution.toggles import is_on


class ObjectTask(Protocol):
    """Runs the tasks of one kind that work on objects."""

    async def run(self, context: TaskContext) -> TaskResult:
        """Attempt the task once."""


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks of every kind."""

    apply: ObjectTask
    delete: ObjectTask
    pipe: ObjectTask
    child: ObjectTask

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
            result = await self._run_by_kind(context)
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

    def only_deletes(self, context: TaskContext) -> bool:
        """Return whether a task creates nothing: a Delete, or a Toggle that is off.

        Raises:
            FatalTaskError: the parameter of the Toggle is not a boolean.
        """
        task = context.task
        if task.kind == "Toggle":
            return not is_on(context)
        return task.kind == "Delete"

    def _check(self, context: TaskContext) -> None:
        try:
            check_task(context.task)
        except FatalTaskError as error:
            text = f"failed to build task {context.path}: {error}"
            raise FatalTaskError(error.reason, text) from error

    async def _run_by_kind(self, context: TaskContext) -> TaskResult:
        match context.task.kind:
            case "Apply":
                return await self.apply.run(context)
            case "Delete":
                return await self.delete.run(context)
            case "Toggle":
                return await self._toggle(context).run(context)
            case "KudoOperator":
                return await self.child.run(context)
            case "Pipe":
                return await self.pipe.run(context)
            case "Dummy":
                return _dummy(context)
            case kind:
                text = f"task kind {kind} is not supported by this version"
                raise FatalTaskError(
                    "TaskBuildError", f"failed to build task {context.path}: {text}"
                )

    def _toggle(self, context: TaskContext) -> ObjectTask:
        return self.apply if is_on(context) else self.delete


def _dummy(context: TaskContext) -> TaskResult:
    done = dummy_done(context.task)
    name = context.task.name
    return TaskResult(done, "" if done else f"dummy task {name} is not done, by its own definition")
