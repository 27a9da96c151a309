"""The KudoOperator task: has an Instance of another operator."""

from collections.abc import Iterator
from typing import Final

from kudo.api.names import API_VERSION
from kudo.api.task_kinds.fields import TaskFields
from kudo.api.task_kinds.kind import Action, Kind, Needing, Preview, Shown, TemplateUse

KUDO_OPERATOR: Final = "KudoOperator"


class KudoOperator(Kind):
    name = KUDO_OPERATOR
    does = "has an Instance of another operator"
    needed = ("package",)
    optional = ("parameterFile", "instanceName", "appVersion", "operatorVersion")

    def problems(self, task: TaskFields) -> Iterator[str]:
        yield from self.problems_as_written(task)
        if not task.spec.operator_version:
            yield f"kudo operator task '{task.name}' has an empty operatorVersion"

    def problems_as_written(self, task: TaskFields) -> Iterator[str]:
        """Yield the problems of a task that need not name a version: installing adds it."""
        if not task.spec.package:
            yield f"kudo operator task '{task.name}' has an empty package name"

    def templates(self, task: TaskFields) -> Iterator[TemplateUse]:
        if task.spec.parameter_file:
            yield TemplateUse(task.spec.parameter_file, ("parameterFile",))

    def add_needs(self, _: TaskFields, needs: Needing) -> None:
        needs.need(API_VERSION, "Instance", Action.APPLY)
        needs.add_child()

    def shown(self, preview: Preview) -> Iterator[Shown]:
        remark = "the child instance; its own plans are not rendered"
        yield Shown("apply", preview.task.spec.parameter_file or "", preview.child(), remark)

    def word(self) -> str:
        """Return the word of KUDO 0.19, which does not know the kind in trees."""
        return "unknown"

    def parts(self, _task: TaskFields) -> Iterator[tuple[str, str]]:
        return iter(())
