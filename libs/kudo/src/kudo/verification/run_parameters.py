"""Checks of the parameters of runs: how plans declare them, and what uses them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kudo.api.known_secrets import is_sensitive
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE
from kudo.api.problems import path_text, shown_name
from kudo.packages.model import Package, PackageParameter, PackagePlan
from kudo.packages.source import Named
from kudo.parameters.definitions import definition_faults
from kudo.parameters.types import TYPES
from kudo.tasks.usage import Usage
from kudo.verification.finding import Finding, Place, at_plan, did_you_mean, error, warning
from kudo.verification.operator import expressions_of, repeated, steps_of
from kudo.verification.parameters import bounds_fault, declared, enum_fault, type_fault
from kudo.verification.templates import Written, templates_of, usages_of, written_in

_KEY: Final = r"""(?:\.\??([A-Za-z_]\w*)|\[\s*\??\s*["']([^"']+)["']\s*\])"""
_USE: Final = re.compile(rf"(?<![.\w])runParams{_KEY}")
_WHOLE: Final = re.compile(r"(?<![.\w])runParams\b")
_UNATTENDED: Final = (PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE, PLAN_CLEANUP)
NOT_OF_RUNS: Final = {
    "trigger": "trigger",
    "immutable": "immutable",
    "secret": "secret",
    "on_change": "onChange",
}
"""Fields that parameters of runs cannot have, by their attributes."""


def run_parameters_are_valid(package: Package) -> Iterator[Finding]:
    """No KUDO before this one reads them, so nothing of it is tolerated."""
    for name, plan in _plans(package):
        for duplicate in repeated(parameter.name for parameter in plan.parameters or ()):
            text = f'run parameter "{duplicate}" of plan "{name}" has a duplicate'
            place = at_plan(name, "parameters", Named(duplicate, 1))
            yield error("ParameterDuplicate", text, place, "remove or rename one of them")
        for parameter in plan.parameters or ():
            yield from _faults(package, name, parameter)


def _faults(package: Package, plan: str, parameter: PackageParameter) -> Iterator[Finding]:
    subject = f'run parameter "{shown_name(parameter.name)}" of plan "{plan}"'

    def place(*path: str | int | Named) -> Place:
        return at_plan(plan, "parameters", Named(parameter.name, 0), *path)

    if not parameter.name:
        yield error("ParameterNameInvalid", f"{subject} has no name", at_plan(plan, "parameters"))
    if parameter.name in {each.name for each in package.parameters}:
        text = f"{subject} has the name of a parameter of the operator"
        yield error("ParameterDuplicate", text, place("name"), "rename one of them")
    for attribute, field in NOT_OF_RUNS.items():
        if getattr(parameter, attribute):
            text = f"{subject} has {field}, which only parameters of the operator have"
            advice = "take the name of a Secret" if attribute == "secret" else "remove it"
            yield error("ParameterInvalid", text, place(field), advice)
    if parameter.type and parameter.type not in TYPES:
        text = f'{subject} has the unknown type "{shown_name(parameter.type)}"'
        suggestion = f"types are {', '.join(TYPES)}"
        yield error("ParameterTypeUnknown", text, place("type"), suggestion)
    bounds = declared(parameter).bounds
    for path, fault in definition_faults(parameter.type, bounds) if bounds else ():
        text = f'bound "{path_text(path)}" of {subject}: {fault}'
        yield error("ParameterBoundInvalid", text, place(*path))
    for value in parameter.enum or ():
        wrong = type_fault(value, parameter.type) or bounds_fault(parameter, value)
        if wrong:
            text = f"{subject} has an invalid enum value: {wrong}"
            yield error("ParameterInvalid", text, place("enum"))
    if parameter.has_default and parameter.default is not None:
        wrong = (
            type_fault(parameter.default, parameter.type)
            or enum_fault(parameter, parameter.default)
            or bounds_fault(parameter, parameter.default)
        )
        if wrong:
            text = f"{subject} has an invalid default value: {wrong}"
            yield error("ParameterInvalid", text, place("default"))
    if is_sensitive(parameter.name, of_user=True):
        text = (
            f"{subject} sounds like a secret, and parameters of runs stand in the spec, the status "
            "and the history of the Instance"
        )
        yield warning("RunParameterSecret", text, place("name"), "take the name of a Secret")


def plans_that_start_by_themselves_need_nothing(package: Package) -> Iterator[Finding]:
    """Nobody gives a value to a plan that a change of the Instance starts."""
    triggers: dict[str, str] = {}
    for parameter in package.parameters:
        triggers.setdefault(parameter.trigger, parameter.name)
    for name, plan in _plans(package):
        why = f'a change of parameter "{triggers[name]}" starts it' if name in triggers else ""
        if name in _UNATTENDED:
            why = "it starts by itself"
        for parameter in plan.parameters or ():
            if why and parameter.required and not _has_default(parameter):
                what = f'run parameter "{shown_name(parameter.name)}"'
                text = f'plan "{name}" requires {what}, and {why}'
                place = at_plan(name, "parameters", Named(parameter.name, 0))
                yield error(
                    "ParameterRequired", text, place, "give it a default, or required: false"
                )


def run_parameters_are_declared(package: Package) -> Iterator[Finding]:
    """A plan sees its own parameters alone."""
    uses = _Uses(package)
    for name, plan in (package.operator.plans or {}).items():
        names = [parameter.name for parameter in plan.parameters or ()]
        reported: set[tuple[str, str]] = set()
        for use in uses.in_plan(name, plan):
            if use.name in names or use.asked or (use.what, use.name) in reported:
                continue
            reported.add((use.what, use.name))
            text = f'{use.what} uses run parameter "{shown_name(use.name)}" in plan "{name}"'
            if names:
                text = f"{text}, which does not declare it"
                hint = did_you_mean(use.name, names) or "declare it in parameters of the plan"
            else:
                text = f"{text}, which declares none"
                hint = 'declare it in parameters of the plan, or ask with hasKey .RunParams "NAME"'
            yield error("RunParameterUnknown", text, use.place, hint)


def run_parameters_are_used(package: Package) -> Iterator[Finding]:
    """Nothing is said of a plan that takes all of them at once."""
    uses = _Uses(package)
    for name, plan in _plans(package):
        if uses.takes_all(plan):
            continue
        used = {use.name for use in uses.in_plan(name, plan)}
        for parameter in plan.parameters or ():
            if parameter.name not in used:
                text = f'run parameter "{shown_name(parameter.name)}" of plan "{name}" is not used'
                place = at_plan(name, "parameters", Named(parameter.name, 0))
                yield warning("ParameterUnused", text, place, "use it in a task, or remove it")


@dataclass(frozen=True, slots=True)
class _Use:
    what: str
    place: Place
    name: str
    asked: bool = False


@dataclass(frozen=True)
class _Uses:
    """The uses of run parameters in a package."""

    package: Package

    def in_plan(self, name: str, plan: PackagePlan) -> Iterator[_Use]:
        """Yield the uses in the tasks and conditions of a plan."""
        for task in dict.fromkeys(task for step in steps_of(plan) for task in step.tasks):
            for template, usage in self._templates.get(task, ()):
                for used, position in usage.run_parameters.items():
                    asked = used in usage.run_parameters_asked
                    yield _Use(template.what, template.place(*position), used, asked)
                for used in usage.run_parameters_asked:
                    yield _Use(template.what, template.place(1), used, asked=True)
        tasks = {task for step in steps_of(plan) for task in step.tasks}
        for place, expression in expressions_of(self.package):
            root, key = place.path[0], place.path[1]
            own = key == name if root == "plans" else getattr(key, "name", "") in tasks
            if own:
                what = ".".join(map(str, expression.path))
                for match in _USE.finditer(expression.text):
                    asked = f"has({match[0]}" in expression.text.replace(" ", "")
                    yield _Use(what, place, match[1] or match[2], asked)

    def takes_all(self, plan: PackagePlan) -> bool:
        """Return whether a task of a plan hands on all of them, or cannot be read."""
        tasks = {task for step in steps_of(plan) for task in step.tasks}
        usages = [usage for task in tasks for _, usage in self._templates.get(task, ())]
        texts = [expression.text for _, expression in expressions_of(self.package)]
        return (
            any(usage.every_run_parameter for usage in usages)
            or any(len(_WHOLE.findall(text)) > len(_USE.findall(text)) for text in texts)
            or self._unread
        )

    @cached_property
    def _unread(self) -> bool:
        return len([*usages_of(self.package)]) < len([*written_in(self.package)])

    @cached_property
    def _templates(self) -> Mapping[str, tuple[tuple[Written, Usage], ...]]:
        """The templates of each task, and the texts of its spec, with what they use."""
        files: dict[str, list[tuple[Written, Usage]]] = {}
        texts: dict[str, list[tuple[Written, Usage]]] = {}
        for template, usage in usages_of(self.package):
            kept = (texts, template.task) if template.task else (files, template.name)
            kept[0].setdefault(kept[1], []).append((template, usage))
        return {
            task.name: (
                *(one for file in dict.fromkeys(templates_of(task)) for one in files.get(file, ())),
                *texts.get(task.name, ()),
            )
            for task in reversed(self.package.operator.tasks)
        }


def _plans(package: Package) -> Iterator[tuple[str, PackagePlan]]:
    """Yield the plans that declare parameters of their runs."""
    for name, plan in (package.operator.plans or {}).items():
        if plan.parameters:
            yield name, plan


def _has_default(parameter: PackageParameter) -> bool:
    return parameter.has_default and parameter.default is not None
