"""The rules of OperatorVersions in strict mode: what no run could use is not stored.

A flat list of small pure functions over one OperatorVersion. They refuse what the engine refuses,
and ask its own functions, so that whatever runs can be stored: unknown fields, plans without a
strategy, and tasks and templates that no step uses all pass. What verification of packages calls a
warning is none of theirs. They work in a worker process, as templates take long to compile.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from gotemplate import Environment, TemplateError
from kudo.api import OperatorVersion, Parameter, Plan, Task
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE
from kudo.api.problems import (
    Problem,
    first_problems,
    listed,
    parameter_field,
    path_text,
    shown_name,
)
from kudo.api.task_kinds import FatalTaskError, check_task, kind_of, templates_of
from kudo.parameters.definitions import definition_faults, secret_faults
from kudo.parameters.types import is_container
from kudo.parameters.values import FullReader, check_value
from kudo.plans.declaration import check_plan
from kudo.plans.execution import InvalidLimits, limits_of
from kudo.tasks.pipe import pipes

REASON: Final = "InvalidOperatorVersion"
Rule = Callable[[OperatorVersion], Iterable[Problem]]
Tell = Callable[[str], None]

_LABEL: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
# What is wrong with the names of pipes for this Instance is so for each.
_SHORTEST_INSTANCE: Final = "i"
_BEGINNINGS: Final = (PLAN_DEPLOY, PLAN_UPGRADE, PLAN_UPDATE)
_UNATTENDED: Final = frozenset({*_BEGINNINGS, PLAN_CLEANUP})
"""Plans that start by themselves."""


def _problem(message: str, field: str, limit: str = "") -> Problem:
    return Problem(REASON, message, field, limit)


def the_operator_can_be_a_label(version: OperatorVersion) -> Iterator[Problem]:
    """All objects of a plan get the name as a label."""
    name = version.operator_name
    if not _LABEL.fullmatch(name):
        yield _problem(
            f"operator name '{shown_name(name)}' cannot be the value of a label, which all objects "
            'of its plans get: use at most 63 letters, digits, "-", "_" and ".", with a letter or '
            "digit at both ends",
            "spec.operator.name",
        )


def a_plan_can_begin(version: OperatorVersion) -> Iterator[Problem]:
    """An Instance begins with deploy; one of another version with upgrade, update or deploy."""
    if not any(name in version.plans for name in _BEGINNINGS):
        yield _problem(
            "no Instance could use it: it has none of the plans 'deploy', 'upgrade' and 'update'",
            "spec.plans",
        )


def strategies_are_known(version: OperatorVersion) -> Iterator[Problem]:
    for name, plan in version.plans.items():
        for problem in check_plan(shown_name(name), plan):
            yield _problem(problem.message, _plan(name))


def steps_name_tasks(version: OperatorVersion) -> Iterator[Problem]:
    for name, plan in version.plans.items():
        for task, field in _named(name, plan):
            if task not in version.tasks:
                names = listed(sorted(version.tasks)) or "none"
                text = f"task '{shown_name(task)}' does not exist; the tasks are: {names}"
                yield _problem(text, field)


def tasks_can_be_built(version: OperatorVersion) -> Iterator[Problem]:
    for task in _used(version):
        try:
            check_task(task)
        except FatalTaskError as error:
            first = next(iter(kind_of(task).faults(task)), None)
            field = "" if first is None else f".spec.{path_text(first[0])}"
            yield _problem(str(error), f"{_task(task)}{field}")


def tasks_name_templates(version: OperatorVersion) -> Iterator[Problem]:
    templates = version.spec.templates or {}
    for task in _used(version):
        for use in templates_of(task):
            if use.name not in templates:
                name = shown_name(use.name)
                text = f"{use.what} '{name}' of task '{shown_name(task.name)}' is missing"
                yield _problem(text, f"{_task(task)}.spec.{use.field}")


def switches_have_a_text(version: OperatorVersion) -> Iterator[Problem]:
    """The value of a parameter that decides must be a boolean, so never an array or map."""
    for task in _used(version):
        name = kind_of(task).switch(task)
        if not name:
            continue
        parameter, field = version.parameter(name), f"{_task(task)}.spec.parameter"
        what = (
            f"parameter '{shown_name(name)}' of {task.kind.lower()} task '{shown_name(task.name)}'"
        )
        if parameter is None:
            yield _problem(f"{what} is not declared", field)
        elif is_container(parameter.value_type):
            text = f"{what} is of type {parameter.value_type}, and has to be a boolean"
            yield _problem(text, field)


def pipes_can_be_named(version: OperatorVersion) -> Iterator[Problem]:
    for name in version.plans:
        try:
            pipes(_SHORTEST_INSTANCE, name, version)
        except FatalTaskError as error:
            yield _problem(str(error), _plan(name))


def time_limits_are_durations(version: OperatorVersion) -> Iterator[Problem]:
    for name in version.plans:
        try:
            limits_of(version, name, default=None)
        except InvalidLimits as error:
            for problem in error.problems:
                yield _problem(problem.message, f"spec.{problem.field}")


def run_parameters_can_be_given(version: OperatorVersion) -> Iterator[Problem]:
    """Nobody gives any to a plan that starts by itself, and no name means two things."""
    triggered = {parameter.trigger for parameter in version.parameters}
    for name, plan in version.plans.items():
        required = plan.required_parameters
        if required and (name in _UNATTENDED or name in triggered):
            text = (
                f"plan '{shown_name(name)}' requires run parameters, and starts without anybody "
                f"who gives them: {listed(required)}; give them defaults"
            )
            yield _problem(text, f"{_plan(name)}.parameters")
        for parameter in plan.declared.values():
            field = f"{_plan(name)}.parameters[{shown_name(parameter.name)}]"
            what = f"run parameter '{shown_name(parameter.name)}' of plan '{shown_name(name)}'"
            if parameter.name in version.declared:
                yield _problem(f"{what} has the name of a parameter of the operator", field)
            has = {
                "trigger": parameter.trigger,
                "immutable": parameter.immutable,
                "secret": parameter.secret,
                "onChange": parameter.on_change,
            }
            for word in (word for word, value in has.items() if value):
                text = f"{what} has {word}, which only parameters of the operator have"
                yield _problem(text, f"{field}.{word}")


def bounds_can_hold(version: OperatorVersion) -> Iterator[Problem]:
    """Otherwise no Instance could set such a parameter."""
    for parameter, where in _parameters(version):
        bounds = parameter.bounds
        for path, fault in definition_faults(parameter.value_type or "", bounds) if bounds else ():
            field = f"{where}.{path_text(path)}"
            yield _problem(f"parameter '{shown_name(parameter.name)}': {fault}", field)


def defaults_are_values(version: OperatorVersion) -> Iterator[Problem]:
    """Of their type, within their bounds, and of the enum. That of a duplicate is never used."""
    check = FullReader()
    for parameter, where in _parameters(version):
        if parameter.default is not None:
            problem = check_value(parameter, parameter.default, check)
            if problem is not None:
                yield _problem(f"default: {problem.message}", where, problem.limit)


def _parameters(version: OperatorVersion) -> Iterator[tuple[Parameter, str]]:
    """Yield the parameters of Instances and of runs, with their fields."""
    for parameter in version.declared.values():
        yield parameter, parameter_field(parameter.name)
    for name, plan in version.plans.items():
        for parameter in plan.declared.values():
            yield parameter, f"{_plan(name)}.parameters[{shown_name(parameter.name)}]"


def secrets_are_set_by_instances(version: OperatorVersion) -> Iterator[Problem]:
    """Whoever may read OperatorVersions sees a default; and only secrets can have `onChange`."""
    for parameter in version.declared.values():
        faults = secret_faults(
            secret=bool(parameter.secret),
            on_change=parameter.on_change or "",
            has_default=parameter.default is not None,
        )
        for path, fault in faults:
            name = shown_name(parameter.name)
            text, field = f"parameter '{name}': {fault}", f"spec.parameters[{name}]"
            yield _problem(text, f"{field}.{path_text(path)}")


RULES: tuple[Rule, ...] = (
    the_operator_can_be_a_label,
    a_plan_can_begin,
    strategies_are_known,
    steps_name_tasks,
    tasks_can_be_built,
    tasks_name_templates,
    switches_have_a_text,
    pipes_can_be_named,
    time_limits_are_durations,
    run_parameters_can_be_given,
    bounds_can_hold,
    defaults_are_values,
    secrets_are_set_by_instances,
)


def version_problems(version: OperatorVersion, tell: Tell = lambda _: None) -> tuple[Problem, ...]:
    """Return why no run could use an OperatorVersion, the first 20 of many reasons.

    Templates are compiled last, as they take the longest.

    Args:
        version: The OperatorVersion, within `kudo.api.bounds`.
        tell: Called with each template before it is compiled.
    """
    # All of them: the author mends what is listed, and each refusal costs another upload.
    problems = [problem for rule in RULES for problem in rule(version)]
    # Nothing is kept: the compiled templates of one package may be as large as the memory allows.
    environment = Environment(policy="operator", missing_key="error", cache_chars=0)
    for name, text, field in _texts(version):
        tell(f'template "{shown_name(name)}"')
        try:
            environment.parse(name, text)
        except TemplateError as error:
            hint = "; split the template" if error.limit else ""
            message = f"template '{shown_name(name)}' cannot be compiled: {error}{hint}"
            problems.append(_problem(message, field, error.limit))
    return first_problems(problems)


def _texts(version: OperatorVersion) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and field of the templates that steps use: whatever runs can be stored."""
    templates = version.spec.templates or {}
    used = {use.name for task in _used(version) for use in templates_of(task)}
    for name in sorted(used & templates.keys()):
        yield name, templates[name], f"spec.templates[{shown_name(name)}]"
    for task in _used(version):
        for inline in kind_of(task).inline_templates(task):
            yield inline.field, inline.text, f"{_task(task)}.spec.{inline.field}"


def version_warnings(version: OperatorVersion) -> tuple[str, ...]:
    """Return what will deny changes of Instances, though their runs can use the version."""
    unknown = sorted(
        {p.trigger for p in version.parameters if p.trigger and p.trigger not in version.plans}
    )
    if not unknown:
        return ()
    text = f"triggers of parameters name plans that do not exist: {listed(unknown)}"
    return (f"{text}; changes of these parameters will be denied",)


def _used(version: OperatorVersion) -> list[Task]:
    """Return the tasks that steps name, once each."""
    names = dict.fromkeys(
        task for name, plan in version.plans.items() for task, _ in _named(name, plan)
    )
    return [version.tasks[name] for name in names if name in version.tasks]


def _named(name: str, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield each task that steps of a plan name, with its field."""
    for i, phase in enumerate(plan.phases or ()):
        for j, step in enumerate(phase.steps):
            for k, task in enumerate(step.tasks):
                yield task, f"{_plan(name)}.phases[{i}].steps[{j}].tasks[{k}]"


def _plan(name: str) -> str:
    return f"spec.plans[{shown_name(name)}]"


def _task(task: Task) -> str:
    return f"spec.tasks[{shown_name(task.name)}]"
