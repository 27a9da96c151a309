"""Tasks, plans and parameters of a package as data, in the words of its files."""

from typing import Final

from kudo.api import JsonObject, Phase, Plan, Step, Task
from kudo.packages.model import Package, PackageParameter
from kudo.verification.values import stored

SERIAL: Final = "serial"
"""The strategy of plans and phases that name none."""


def default_of(parameter: PackageParameter) -> str | None:
    """Return the default as installing stores it; None if the parameter has none."""
    return stored(parameter, parameter.default) if parameter.has_default else None


def sorted_parameters(package: Package) -> list[PackageParameter]:
    return sorted(package.parameters, key=lambda parameter: parameter.name)


def missing_values(package: Package) -> list[PackageParameter]:
    """Return the parameters that every Instance has to set, sorted by name."""
    return [
        parameter
        for parameter in sorted_parameters(package)
        if parameter.required and default_of(parameter) is None
    ]


def task_data(task: Task) -> JsonObject:
    data: JsonObject = {"name": task.name, "kind": task.kind, "spec": task.spec.to_wire()}
    progress = {"progressDeadline": task.progress_deadline} if task.progress_deadline else {}
    return data | _timeout(task) | progress


def plan_data(name: str, plan: Plan) -> JsonObject:
    return {
        "name": name,
        "strategy": plan.strategy or SERIAL,
        **_timeout(plan),
        "phases": [
            {
                "name": phase.name,
                "strategy": phase.strategy or SERIAL,
                **_timeout(phase),
                "steps": [
                    {"name": step.name, **_timeout(step), "tasks": list(step.tasks)}
                    for step in phase.steps
                ],
            }
            for phase in plan.phases or ()
        ],
    }


def _timeout(part: Plan | Phase | Step | Task) -> JsonObject:
    """Return the field of a timeout; none if it is not set."""
    return {"timeout": part.timeout} if part.timeout else {}


def parameter_data(parameter: PackageParameter) -> JsonObject:
    """Return the fields that the parameter has; `default` is the text that is stored."""
    enum = parameter.enum
    fields: JsonObject = {
        "displayName": parameter.display_name,
        "description": parameter.description,
        "type": parameter.type,
        "trigger": parameter.trigger,
        "enum": None if enum is None else [stored(parameter, value) or "" for value in enum],
        "group": parameter.group,
        "hint": parameter.hint,
    }
    default = default_of(parameter)
    return {
        "name": parameter.name,
        **({} if default is None else {"default": default}),
        "required": parameter.required,
        "immutable": parameter.immutable,
        "advanced": parameter.advanced,
        **{name: value for name, value in fields.items() if value not in ("", None)},
    }
