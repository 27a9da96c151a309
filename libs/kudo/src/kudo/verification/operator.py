"""Checks of what `operator.yaml` declares: name, versions, tasks, plans, and Pipe tasks."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from gotemplate import VersionError
from kubeio.names import MAX_LABEL, MAX_SUBDOMAIN, is_subdomain
from kudo.api import PipeFile, Plan, Step, default_instance_name
from kudo.api.expressions import CONDITION
from kudo.api.names import EXTENDED, PLAN_CLEANUP, PLAN_DEPLOY, operator_version_name
from kudo.api.problems import path_text, shown_name
from kudo.api.semver import precedence, read_version
from kudo.api.task_kinds import FatalTaskError, check_task, kind_of
from kudo.api.task_kinds.kind import Expression
from kudo.api.task_kinds.kinds import KUDO_OPERATOR, is_pipe
from kudo.packages.model import Package
from kudo.packages.source import Named, Path
from kudo.plans.declaration import check_plan
from kudo.tasks.pipe import naming_problems, read_pod, uses, validate
from kudo.verification.finding import (
    Finding,
    Place,
    at_parameter,
    at_plan,
    at_task,
    did_you_mean,
    error,
    in_operator,
    tolerated,
    warning,
)

_PARAMETER: Final = re.compile(r"\bparams\.([A-Za-z_][A-Za-z0-9_]*)")
"""A parameter in an expression. One whose name has other characters is `params["a-b"]`."""


def versions_are_semantic(package: Package) -> Iterator[Finding]:
    operator = package.operator
    yield from _version("operatorVersion", operator.operator_version, required=True)
    yield from _version("kubernetesVersion", operator.kubernetes_version, required=True, make=error)
    yield from _version("appVersion", operator.app_version)
    yield from _version("kudoVersion", operator.kudo_version)


def _version(
    field: str,
    text: str,
    *,
    required: bool = False,
    make: Callable[[str, str, Place], Finding] = tolerated,
) -> Iterator[Finding]:
    if not text and required:
        message = f'"{field}" is required and must be semver'
        yield error("VersionMissing", message, in_operator(field))
    elif text:
        try:
            read_version(text)
        except VersionError as fault:
            message = f'unable to parse "{field}": {fault}'
            yield make("VersionInvalid", message, in_operator(field))


def the_extended_language_is_declared(package: Package) -> Iterator[Finding]:
    """KUDO 0.19 ignores fields that it does not know, and would run other plans."""
    said, plans = package.operator.kudo_version, (package.operator.plans or {}).values()
    more = [
        *(["the short form of plans"] if package.expansion.is_short else []),
        *(["secret parameters"] if any(each.secret for each in package.parameters) else []),
        *(["when"] if any(True for _ in _conditions(package)) else []),
        *(["parameters of plans"] if any(plan.parameters for plan in plans) else []),
        *(f"tasks of kind {kind}" for kind in _extended_kinds(package)),
    ]
    version, needed = precedence(said), precedence(EXTENDED)
    # Another check reports one that is no version.
    if more and version is not None and needed is not None and version < needed:
        message = (
            f'"kudoVersion" says that KUDO {shown_name(said)} can read the package, and it does '
            f"not know {' and '.join(more)}"
        )
        suggestion = f"set kudoVersion to {EXTENDED} or higher"
        yield warning("KudoVersionTooLow", message, in_operator("kudoVersion"), suggestion)


def _extended_kinds(package: Package) -> list[str]:
    kinds = (kind_of(task) for task in package.operator.tasks)
    return [*dict.fromkeys(kind.name for kind in kinds if kind.extended)]


def expressions_can_be_evaluated(package: Package) -> Iterator[Finding]:
    """Only the reconciler knows what they give; whether it can evaluate them is known before."""
    expressions = [*expressions_of(package)]
    if not expressions:
        return
    # Few packages need it, and it takes as long to import as all rules for plans.
    from kubecel import LibraryMissing, NotCompiled, environment

    declared = {parameter.name for parameter in package.parameters}
    for place, expression in expressions:
        field = ".".join(map(str, expression.path))
        try:
            env = environment(*expression.scope)
            env.compile(expression.text, text=expression.gives_text)
        except LibraryMissing:  # as in the single file of the plugin
            return
        except NotCompiled as fault:
            yield error(expression.reason, f"{field}: {fault}", place)
        for name in dict.fromkeys(_PARAMETER.findall(expression.text)):
            if name not in declared:
                message = f'parameter "{shown_name(name)}" in {field} is not defined'
                yield error("ParameterUnknown", message, place, did_you_mean(name, declared))


def expressions_of(package: Package) -> Iterator[tuple[Place, Expression]]:
    """Yield the expressions of phases, steps and tasks, with their places."""
    for place, text in _conditions(package):
        yield place, Expression(("when",), text, CONDITION, "ConditionInvalid")
    for task in package.operator.tasks:
        for expression in kind_of(task).expressions(task):
            yield at_task(task.name, "spec", *expression.path), expression


def _conditions(package: Package) -> Iterator[tuple[Place, str]]:
    for name, plan in (package.operator.plans or {}).items():
        for index, phase in enumerate(plan.phases or ()):
            if phase.when:
                yield at_plan(name, "phases", index, "when"), phase.when
            for number, step in enumerate(phase.steps):
                if step.when:
                    yield at_plan(name, "phases", index, "steps", number, "when"), step.when


def fragments_are_included(package: Package) -> Iterator[Finding]:
    for name in package.expansion.unused:
        message = f'no plan includes fragment "{shown_name(name)}"'
        place = in_operator("fragments", name)
        yield warning("FragmentUnused", message, place, "include it in a plan, or remove it")


def the_name_can_be_used(package: Package) -> Iterator[Finding]:
    """Objects and labels are named after the operator."""
    name = package.operator.name
    if len(name) > MAX_LABEL or not is_subdomain(name):
        message = (
            f'operator name "{name[: 2 * MAX_LABEL]}" is not a DNS-1123 name, so it cannot be '
            f'installed: use at most {MAX_LABEL} lower-case letters, digits, "-" and ".", with a '
            "letter or digit at both ends"
        )
        yield error("InvalidName", message, in_operator("name"))


def the_version_can_be_named(package: Package) -> Iterator[Finding]:
    """The OperatorVersion is named after the operator and its versions."""
    file = package.operator
    name = operator_version_name(file.name, file.operator_version, file.app_version)
    if not file.operator_version or not is_subdomain(file.name):  # which other checks report
        return
    if len(name) > MAX_SUBDOMAIN or not is_subdomain(name):
        at_fault = "operatorVersion" if not is_subdomain(file.operator_version) else "appVersion"
        message = (
            f'the OperatorVersion would be named "{shown_name(name)}", which no object can be: use '
            f'lower-case letters, digits, "-" and "." in operatorVersion and appVersion, and at '
            f"most {MAX_SUBDOMAIN} characters in all"
        )
        yield error("InvalidName", message, in_operator(at_fault))


def children_can_be_named(package: Package) -> Iterator[Finding]:
    """KUDO 0.19 takes `instanceName` as it is written, too, and fails when the plan gets there."""
    for task in package.operator.tasks:
        name = task.spec.instance_name or ""
        if task.kind != KUDO_OPERATOR or not name or is_subdomain(name):
            continue
        message = (
            f'task {shown_name(task.name)}: no Instance can have the name "{shown_name(name)}"'
        )
        suggestion = (
            "it is no template: leave it out, and the child is named after its parent"
            if "{{" in name
            else f'use at most {MAX_SUBDOMAIN} lower-case letters, digits, "-" and ".", with a '
            "letter or digit at both ends"
        )
        place = at_task(task.name, "spec", "instanceName")
        yield tolerated("ObjectNameInvalid", message, place, suggestion)


_DOES_NOTHING = "it is COMPLETE at once; add what it is to do, or remove it"


def tasks_can_be_built(package: Package) -> Iterator[Finding]:
    used = {name for _, name, _ in _used(package)}
    for task in package.operator.tasks:
        try:
            check_task(task, as_written=True)
        except FatalTaskError as fault:
            make = error if task.name in used else tolerated
            for path, text in kind_of(task).faults(task):
                message = f"task {shown_name(task.name)}: {path_text(path)}: {text}"
                yield make(fault.reason, message, at_task(task.name, "spec", *path))
            if not any(True for _ in kind_of(task).faults(task)):
                yield make(fault.reason, str(fault), at_task(task.name))


def task_names_are_unique(package: Package) -> Iterator[Finding]:
    for name in repeated(task.name for task in package.operator.tasks):
        message = f'task "{name}" is defined more than once; steps would use the first one'
        place = at_task(name, occurrence=1)
        yield tolerated("NameDuplicate", message, place, "remove or rename one of them")


def steps_name_defined_tasks(package: Package) -> Iterator[Finding]:
    defined = list(dict.fromkeys(task.name for task in package.operator.tasks))
    reported: set[tuple[str, str]] = set()
    for plan, name, path in _used(package):
        if name not in defined and (plan, name) not in reported:
            reported.add((plan, name))
            message = f'task "{name}" in plan "{plan}" is not defined'
            yield error("TaskUnknown", message, at_plan(plan, *path), did_you_mean(name, defined))


def steps_have_tasks(package: Package) -> Iterator[Finding]:
    """A step without tasks, and a phase without steps, is COMPLETE without having done anything."""
    for name, plan in (package.operator.plans or {}).items():
        phases = plan.phases or ()
        if not phases:
            yield warning("PlanEmpty", f'plan "{name}" has no phases', at_plan(name), _DOES_NOTHING)
        for number, phase in enumerate(phases):
            place = at_plan(name, "phases", number)
            if not phase.steps:
                message = f'phase "{phase.name}" of plan "{name}" has no steps'
                yield warning("PhaseEmpty", message, place, _DOES_NOTHING)
            for n, step in enumerate(phase.steps):
                if not step.tasks:
                    message = (
                        f'step "{step.name}" of phase "{phase.name}" of plan "{name}" has no tasks'
                    )
                    place = at_plan(name, "phases", number, "steps", n)
                    yield warning("StepEmpty", message, place, _DOES_NOTHING)


def tasks_are_used(package: Package) -> Iterator[Finding]:
    used = {name for _, name, _ in _used(package)}
    for name in dict.fromkeys(task.name for task in package.operator.tasks):
        if name not in used:
            message = f'task "{name}" defined but not used'
            yield warning("TaskUnused", message, at_task(name), "name it in a step, or remove it")


def _used(package: Package) -> Iterator[tuple[str, str, Path]]:
    """Yield plan, task and path in the plan for each task that a step names."""
    for name, plan in (package.operator.plans or {}).items():
        for number, phase in enumerate(plan.phases or ()):
            for n, step in enumerate(phase.steps):
                for position, task in enumerate(step.tasks):
                    yield name, task, ("phases", number, "steps", n, "tasks", position)


def steps_of(plan: Plan) -> Iterator[Step]:
    for phase in plan.phases or ():
        yield from phase.steps


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


_DENIED: Final = "changes of the parameter will be denied; leave trigger out if that is not meant"


def triggers_name_defined_plans(package: Package) -> Iterator[Finding]:
    plans = package.operator.plans or {}
    for parameter in package.parameters:
        if parameter.trigger and parameter.trigger not in plans:
            message = (
                f'plan "{parameter.trigger}" used in parameter "{parameter.name}" is not defined'
            )
            place = at_parameter(parameter.name, "trigger")
            # Published packages forbid changes of a parameter in this way.
            meant = did_you_mean(parameter.trigger, plans)
            yield tolerated("PlanUnknown", message, place, meant or _DENIED)
        elif parameter.trigger == PLAN_CLEANUP:
            message = (
                f'plan "{PLAN_CLEANUP}" used in parameter "{parameter.name}" runs only when an '
                "instance is deleted: changes of the parameter will be denied"
            )
            yield warning("CleanupNotManual", message, at_parameter(parameter.name, "trigger"))


def there_is_a_deploy_plan(package: Package) -> Iterator[Finding]:
    if PLAN_DEPLOY not in (package.operator.plans or {}):
        message = f"an operator is required to have '{PLAN_DEPLOY}' plan"
        suggestion = did_you_mean(PLAN_DEPLOY, package.operator.plans or {})
        yield error("DeployPlanMissing", message, in_operator("plans"), suggestion)


def strategies_are_known(package: Package) -> Iterator[Finding]:
    """A missing strategy is `serial`; a misspelt one would fail the plan when it runs."""
    for name, plan in (package.operator.plans or {}).items():
        for problem in check_plan(name, plan):
            yield error(problem.reason, problem.message, at_plan(name))


def names_in_plans_are_unique(package: Package) -> Iterator[Finding]:
    for plan_name, plan in (package.operator.plans or {}).items():
        for what, name, where, path in _duplicates(plan_name, plan):
            message = f'{what} "{name}" is defined more than once in {where}; names must be unique'
            yield error("NameDuplicate", message, at_plan(plan_name, *path))


def _duplicates(plan_name: str, plan: Plan) -> Iterator[tuple[str, str, str, Path]]:
    phases = plan.phases or ()
    for name in repeated(phase.name for phase in phases):
        yield "phase", name, f'plan "{plan_name}"', ("phases", Named(name, 1))
    for number, phase in enumerate(phases):
        for name in repeated(step.name for step in phase.steps):
            where = f'phase "{phase.name}" of plan "{plan_name}"'
            yield "step", name, where, ("phases", number, "steps", Named(name, 1))


PodFiles = dict[str, list[Sequence[PipeFile]]]
"""What tasks copy, by the template of their pod."""


def keys_are_unique(package: Package) -> Iterator[Finding]:
    for name, keys in _keys_by_plan(package).items():
        for key in repeated(keys):
            yield error("PipeKeyDuplicate", f"duplicated pipe key {key}", at_plan(name))


def artifacts_can_be_named(package: Package) -> Iterator[Finding]:
    """Names are tried with that of the default instance."""
    instance = default_instance_name(package.operator.name)
    for name, plan in (package.operator.plans or {}).items():
        pipe_uses = uses(instance, name, plan, package.operator.tasks)
        for problem in dict.fromkeys(naming_problems(pipe_uses)):
            yield error("InvalidPlan", problem, at_plan(name))


def pods_of(package: Package) -> PodFiles:
    """Return the templates that are pods of Pipe tasks, and nothing else."""
    applied = {name for task in package.operator.tasks for name in task.spec.resources or ()}
    pods: PodFiles = {}
    for task in package.operator.tasks:
        if is_pipe(task) and task.spec.pod and task.spec.pod not in applied:
            pods.setdefault(task.spec.pod, []).append(task.spec.pipe or ())
    return pods


def pod_fault(text: str, copied: Sequence[Sequence[PipeFile]]) -> FatalTaskError | None:
    """Return what the engine would say of a pod.

    Args:
        text: What its template renders to.
        copied: The files of each task that uses it.
    """
    try:
        pod = read_pod(text)
    except FatalTaskError as fault:
        return fault
    problems = dict.fromkeys(problem for files in copied for problem in validate(pod, files))
    return FatalTaskError("ResourceValidationError", "; ".join(problems)) if problems else None


def _keys_by_plan(package: Package) -> dict[str, list[str]]:
    return {
        name: [
            file.key
            for _, task in uses("", name, plan, package.operator.tasks)
            for file in task.spec.pipe or ()
            if file.key
        ]
        for name, plan in (package.operator.plans or {}).items()
    }
