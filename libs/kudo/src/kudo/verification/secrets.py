"""Checks of where secret parameters are used: in no expression, script, Check task or switch.

Where templates put them is found in what they render to (`rendered.secrets`).
"""

import re
from collections.abc import Iterator
from typing import Final

from kudo.api.problems import path_text, shown_name
from kudo.api.task_kinds import kind_of
from kudo.packages.model import Package
from kudo.parameters.definitions import secret_faults
from kudo.verification.finding import Finding, at_parameter, at_task, error
from kudo.verification.operator import expressions_of
from kudo.verification.templates import usages_of

EXPOSED: Final = "SecretExposed"
IN_ENVIRONMENT: Final = (
    "put it into a Secret, and take it from there in the environment of the program (secretKeyRef)"
)
_PLAIN: Final = "use a parameter that is not secret"


def secret_parameters_are_declared_as_such(package: Package) -> Iterator[Finding]:
    """None has a default, which whoever may read the OperatorVersion would see."""
    for parameter in package.parameters:
        faults = secret_faults(
            secret=parameter.secret,
            on_change=parameter.on_change,
            has_default=parameter.default is not None,
        )
        for path, fault in faults:
            message = f'parameter "{shown_name(parameter.name)}": {fault}'
            yield error("ParameterInvalid", message, at_parameter(parameter.name, *path))


def secrets_are_not_shown(package: Package) -> Iterator[Finding]:
    """Expressions do not see them; texts of scripts and of Check tasks can be read by many."""
    secrets = sorted(parameter.name for parameter in package.parameters if parameter.secret)
    if not secrets:
        return
    for place, expression in expressions_of(package):
        for name in secrets:
            if _is_used(name, expression.text):
                where = path_text(expression.path)
                message = f"{_subject(name)} is used in {where}, and expressions do not see it"
                yield error(EXPOSED, message, place, _PLAIN)
    for task in package.operator.tasks:
        switch = kind_of(task).switch(task)
        if switch in secrets:
            message = f"{_subject(switch)} decides what task {task.name} does, which is seen"
            yield error(EXPOSED, message, at_task(task.name, "spec", "parameter"), _PLAIN)
    kinds = {task.name: task.kind for task in package.operator.tasks}
    for template, usage in usages_of(package):
        # The texts of a Job task are in its pod, which is looked at when it is rendered.
        kind = kinds.get(template.task, "")
        if template.name not in package.scripts and kind in {"", "Job"}:
            continue
        for name in secrets:
            if name in usage.parameters:
                message = f"{_subject(name)} in {template.what} would be seen by many"
                place = template.place(*usage.parameters[name])
                yield error(EXPOSED, message, place, IN_ENVIRONMENT)


def _subject(name: str) -> str:
    return f'secret parameter "{shown_name(name)}"'


def _is_used(name: str, text: str) -> bool:
    """Return whether an expression uses a parameter: `params.NAME` or `params["NAME"]`."""
    key = re.escape(name)
    return bool(
        re.search(rf"""(?<![.\w])params(?:\.\??{key}(?!\w)|\[\s*\??\s*["']{key}["'])""", text)
    )
