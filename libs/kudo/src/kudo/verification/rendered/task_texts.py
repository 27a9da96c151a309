"""Checks of the templates in the fields of Check tasks by what they render to."""

from collections.abc import Iterator

from gotemplate import TemplateError
from kudo.api import Task
from kudo.api.task_kinds import FatalTaskError, kind_of
from kudo.tasks.check import target_of
from kudo.tasks.rendering import render
from kudo.verification.finding import Finding, at_task
from kudo.verification.rendered.rendering import Rendering, Values, not_rendered


def checks_name_objects(rendering: Rendering) -> Iterator[Finding]:
    """What a Check reads must have a name that an object can have, or labels."""
    for task in rendering.package.operator.tasks:
        # Another check tells of a task that lacks something.
        if task.spec.check is None or any(True for _ in kind_of(task).faults(task)):
            continue
        finding = _finding(task, rendering.strict)
        # What an optional parameter gives is no mistake: users who need it set it.
        if finding is not None and _finding(task, rendering.filled) is not None:
            yield finding


def _finding(task: Task, values: Values) -> Finding | None:
    texts: dict[str, str] = {}
    for template in kind_of(task).inline_templates(task):
        place = at_task(task.name, "spec", *template.path)
        try:
            texts[template.field] = render(
                template.field, template.text, values, what=template.field
            )
        except FatalTaskError as fault:
            # Another check reports what cannot be parsed.
            cause = fault.__cause__
            if not isinstance(cause, TemplateError) or not cause.executing:
                return None
            return not_rendered(fault, str(fault).removeprefix("error expanding "), place)
    try:
        target_of(texts)
    except FatalTaskError as fault:
        field = str(fault).partition(":")[0].removeprefix("check.")
        place = at_task(task.name, "spec", "check", *field.split(".", 1))
        return not_rendered(fault, str(fault), place)
    return None
