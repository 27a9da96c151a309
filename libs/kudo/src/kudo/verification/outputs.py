"""Checks of what uses outputs of tasks: that these are declared, and known when they are used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kudo.api import Plan, Task
from kudo.api.problems import shown_name
from kudo.api.task_kinds import kind_of
from kudo.packages.model import Package
from kudo.packages.source import Path
from kudo.verification.finding import Finding, Place, at_plan, at_task, did_you_mean, error
from kudo.verification.templates import templates_of, usages_of

_KEY: Final = r"""(?:\.\??([A-Za-z_]\w*)|\[\s*\??\s*["']([^"']+)["']\s*\])"""
_TEXT: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_USE: Final = re.compile(rf"(?<![.\w])outputs{_KEY}{_KEY}?|{_TEXT}")
"""An output in an expression, or a text, in which there is none; `self.outputs` is none, too."""
_ASKED: Final = (
    re.compile(rf"\bhas\(\s*outputs{_KEY}"),
    re.compile(r"""(?<![.\w])outputs(?:\.\?([A-Za-z_]\w*)|\[\s*\?\s*["']([^"']+)["'])"""),
    re.compile(r"""["']([^"']+)["']()\s+in\s+outputs\b"""),
)
"""A question whether there are outputs of a task."""
_LATER: Final = "a step sees those of the steps that are always COMPLETE before it begins"


@dataclass(frozen=True, slots=True)
class Use:
    """A use of outputs of a task.

    Attributes:
        what: What uses them, in words.
        place: Where.
        task: The task.
        output: The output; empty for all of them.
        asked: Whether there is a question as well whether there are outputs of the task.
    """

    what: str
    place: Place
    task: str
    output: str
    asked: bool

    @property
    def subject(self) -> str:
        output = f'output "{shown_name(self.output)}"' if self.output else "outputs"
        return f'{self.what} uses {output} of task "{shown_name(self.task)}"'


def outputs_are_declared(package: Package) -> Iterator[Finding]:
    tasks, declared = {task.name for task in package.operator.tasks}, _declared(package)
    for use in _all_uses(package):
        if use.task not in tasks:
            message = f"{use.subject}, and there is no such task"
            yield error("OutputUnknown", message, use.place, did_you_mean(use.task, declared))
        elif use.task not in declared:
            message = f"{use.subject}, which declares none"
            yield error("OutputUnknown", message, use.place, "add it to outputs of the task")
        elif use.output and use.output not in declared[use.task]:
            message = f"{use.subject}, which does not declare it"
            names = did_you_mean(use.output, declared[use.task])
            yield error(
                "OutputUnknown", message, use.place, names or "add it to outputs of the task"
            )


def outputs_are_known_when_they_are_used(package: Package) -> Iterator[Finding]:
    """A step sees outputs of steps before it; which these are follows from the strategies."""
    if not any(True for _ in _all_uses(package)):
        return
    uses, declared = _Uses(package), _declared(package)
    for file, _, use in _in_templates(package):
        if file == package.operator.namespace_manifest:
            message = f"{use.subject}, and no plan runs before the namespace is created"
            yield error("OutputUnavailable", message, use.place)
    for name, plan in (package.operator.plans or {}).items():
        reported: set[tuple[str, str, str]] = set()
        for step, use, available in uses.in_plan(name, plan):
            problem = _problem(use, step, plan, available) if use.task in declared else ""
            if problem and (step, use.what, use.task) not in reported:
                reported.add((step, use.what, use.task))
                message = f'{use.subject} in step "{step}" of plan "{name}", {problem}'
                yield error("OutputUnavailable", message, use.place, _LATER)


def _problem(use: Use, step: str, plan: Plan, available: frozenset[str]) -> str:
    """Return why outputs are not known in a step; empty if they are."""
    if use.task in available:
        return ""
    places = [
        f"{phase.name}.{other.name}"
        for phase in plan.phases or ()
        for other in phase.steps
        if use.task in other.tasks
    ]
    if step in places:
        return "which runs in the same step"
    if places:
        return f'which runs later or at the same time, in step "{places[0]}"'
    # A template may be of several plans, and ask.
    return "" if use.asked else "which the plan does not run"


@dataclass(frozen=True)
class _Uses:
    """The uses of outputs in a package."""

    package: Package

    def in_plan(self, name: str, plan: Plan) -> Iterator[tuple[str, Use, frozenset[str]]]:
        """Yield each use with its step, and the tasks of the steps before that."""
        # The machine of plans: few packages need it.
        from kudo.plans.execution import step_of, steps_before, steps_of

        for ref in steps_of(plan):
            before = frozenset(
                task for other in steps_before(plan, ref) for task in step_of(plan, other).tasks
            )
            step, phase = step_of(plan, ref), (plan.phases or ())[ref.phase_index]
            at: Path = ("phases", ref.phase_index)
            uses = [use for task in step.tasks for use in self.of_tasks.get(task, ())]
            if step.when:
                place = at_plan(name, *at, "steps", ref.step_index, "when")
                uses += _in_expression("when", place, step.when)
            if phase.when and ref.step_index == 0:
                uses += _in_expression("when", at_plan(name, *at, "when"), phase.when)
            yield from ((str(ref), use, before) for use in uses)

    @cached_property
    def of_tasks(self) -> Mapping[str, tuple[Use, ...]]:
        """The uses of each task: in its templates, and in texts of its spec."""
        files: dict[str, list[Use]] = {}
        texts: dict[str, list[Use]] = {}
        for kept, task, use in _in_templates(self.package):
            (texts if task else files).setdefault(task or kept, []).append(use)
        return {
            task.name: (
                *(use for file in dict.fromkeys(templates_of(task)) for use in files.get(file, ())),
                *texts.get(task.name, ()),
                *_in_expressions_of(task),
            )
            for task in reversed(self.package.operator.tasks)
        }


def _declared(package: Package) -> Mapping[str, tuple[str, ...]]:
    declared = {
        task.name: tuple(kind_of(task).outputs(task)) for task in reversed(package.operator.tasks)
    }
    return {name: outputs for name, outputs in declared.items() if outputs}


def _all_uses(package: Package) -> Iterator[Use]:
    yield from (use for _, _, use in _in_templates(package))
    for task in package.operator.tasks:
        yield from _in_expressions_of(task)
    for name, plan in (package.operator.plans or {}).items():
        for index, phase in enumerate(plan.phases or ()):
            place = at_plan(name, "phases", index, "when")
            yield from _in_expression("when", place, phase.when or "")
            for number, step in enumerate(phase.steps):
                place = at_plan(name, "phases", index, "steps", number, "when")
                yield from _in_expression("when", place, step.when or "")


def _in_templates(package: Package) -> Iterator[tuple[str, str, Use]]:
    """Yield the name of a template, the task whose text it is, and a use of outputs in it."""
    for template, usage in usages_of(package):
        # One use of an output counts for the task as well.
        names = {task for task, output in usage.outputs if output}
        for (task, output), position in usage.outputs.items():
            if output or task not in names:
                asked = task in usage.tasks_asked
                use = Use(template.what, template.place(*position), task, output, asked)
                yield template.name, template.task, use


def _in_expressions_of(task: Task) -> Iterator[Use]:
    for expression in kind_of(task).expressions(task):
        what = f"{'.'.join(map(str, expression.path))} of task {task.name}"
        place = at_task(task.name, "spec", *expression.path)
        yield from _in_expression(what, place, expression.text)


def _in_expression(what: str, place: Place, text: str) -> Iterator[Use]:
    asked = {match[1] or match[2] for pattern in _ASKED for match in pattern.finditer(text)}
    uses = ((match[1] or match[2], match[3] or match[4] or "") for match in _USE.finditer(text))
    for task, output in dict.fromkeys(uses):
        if task:
            yield Use(what, place, task, output, task in asked)
