"""A package for people and tools: its plans and parameters as data, and its reference in Markdown.

The data uses the words of the files of the package. In Markdown, texts of the package stay on one
line where a table needs it, and a `<` in them is shown as it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kudo.api import JsonObject, Phase, Plan, Step, Task
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE
from kudo.api.value_bounds import WORDS
from kudo.packages.model import (
    OperatorFile,
    Package,
    PackageParameter,
    PackagePlan,
    ParameterGroup,
)
from kudo.parameters.bound_texts import Code, bounds_text
from kudo.verification.parameters import declared, stored

SERIAL: Final = "serial"
"""The strategy of plans and phases that name none."""


def default_of(parameter: PackageParameter) -> str | None:
    """Return the default as installing stores it; None if the parameter has none."""
    return stored(parameter, parameter.default) if parameter.has_default else None


def bounds_of(parameter: PackageParameter, code: Code = str) -> str:
    """Return the bounds in words; empty if there are none."""
    bounds = declared(parameter).bounds
    return "" if bounds is None else bounds_text(bounds, code)


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
    return data | _timeout_field(task) | progress


def plan_data(name: str, plan: PackagePlan) -> JsonObject:
    return {
        "name": name,
        "strategy": plan.strategy or SERIAL,
        **_timeout_field(plan),
        **_parameters_field(plan),
        "phases": [
            {
                "name": phase.name,
                "strategy": phase.strategy or SERIAL,
                **_timeout_field(phase),
                **_condition_field(phase),
                "steps": [
                    {
                        "name": step.name,
                        **_timeout_field(step),
                        **_condition_field(step),
                        "tasks": list(step.tasks),
                    }
                    for step in phase.steps
                ],
            }
            for phase in plan.phases or ()
        ],
    }


def _parameters_field(plan: PackagePlan) -> JsonObject:
    """Return the field of the parameters of runs; none if the plan declares none."""
    data = [
        {name: value for name, value in parameter_data(each).items() if name not in _OF_INSTANCES}
        for each in plan.parameters or ()
    ]
    return {"parameters": data} if data else {}


def _timeout_field(part: Plan | Phase | Step | Task) -> JsonObject:
    """Return the field of a timeout; none if it is not set."""
    return {"timeout": part.timeout} if part.timeout else {}


def _condition_field(part: Phase | Step) -> JsonObject:
    """Return the field of a condition; none if there is none."""
    return {"when": part.when} if part.when else {}


def parameter_data(parameter: PackageParameter) -> JsonObject:
    """Return the fields that the parameter has; `default` is the text that is stored."""
    enum = parameter.enum
    fields: JsonObject = {
        "displayName": parameter.display_name,
        "description": parameter.description,
        "type": parameter.type,
        "trigger": parameter.trigger,
        "secret": parameter.secret or None,
        "onChange": parameter.on_change,
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
        **{word: value for word, value in declared(parameter).to_wire().items() if word in WORDS},
    }


_OF_INSTANCES: Final = frozenset(
    {"immutable", "trigger", "advanced", "group", "secret", "onChange"}
)
"""Fields that parameters of runs do not have."""
_CHANGES: Final = {
    PLAN_DEPLOY: ("an instance is installed", (PLAN_DEPLOY,)),
    PLAN_UPDATE: ("a parameter without a plan of its own changes", (PLAN_UPDATE, PLAN_DEPLOY)),
    PLAN_UPGRADE: (
        "the version of the operator changes",
        (PLAN_UPGRADE, PLAN_UPDATE, PLAN_DEPLOY),
    ),
    PLAN_CLEANUP: ("the instance is deleted", (PLAN_CLEANUP,)),
}
"""What runs a plan, and the plans for it: the first that the package has."""
_ORDER: Final = {"serial": "one after the other", "parallel": "at the same time"}
_BACKTICKS: Final = re.compile("`+")


def package_markdown(package: Package) -> str:
    """Return the document, ended by a line break."""
    blocks = [
        *_headline(package.operator),
        "## Plans",
        _plans_table(package),
        *_steps(package.operator),
        "## Parameters",
        *_parameters(package),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _headline(operator: OperatorFile) -> Iterator[str]:
    yield f"# {_text(operator.name)}"
    yield _text(operator.description)
    people = ", ".join(
        _text(
            f"{person.name} <{person.email}>"
            if person.name and person.email
            else person.name or person.email or ""
        )
        for person in operator.maintainers
    )
    rows = [
        ("Version", _text(operator.operator_version)),
        ("Application", _text(operator.app_version)),
        ("KUDO", _text(operator.kudo_version)),
        ("Kubernetes", _text(operator.kubernetes_version)),
        ("Website", _text(operator.url)),
        ("Maintainers", people),
        ("Objects that plans no longer apply", "are deleted" if operator.prune else ""),
    ]
    yield _table(("", ""), [row for row in rows if row[1]])


def _plans_table(package: Package) -> str:
    plans = package.operator.plans or {}
    if not plans:
        return "The package has no plans."
    rows = [(_code(name), _when(name, package)) for name in sorted(plans)]
    return _table(("Plan", "Runs when"), rows)


def _when(name: str, package: Package) -> str:
    reasons = [when for change, (when, _) in _CHANGES.items() if _chosen(change, package) == name]
    triggers = [
        _code(parameter.name) for parameter in package.parameters if parameter.trigger == name
    ]
    if triggers:
        reasons.append(
            f"one of {', '.join(triggers)} changes" if triggers[1:] else f"{triggers[0]} changes"
        )
    if name != PLAN_CLEANUP:
        reasons.append("it is triggered")
    return ", or ".join(reasons)


def _chosen(change: str, package: Package) -> str:
    """Return the plan that runs for a change; empty if the package has none for it."""
    plans = package.operator.plans or {}
    return next((name for name in _CHANGES[change][1] if name in plans), "")


def _steps(operator: OperatorFile) -> Iterator[str]:
    kinds = {task.name: task.kind for task in operator.tasks or ()}
    for name, plan in sorted((operator.plans or {}).items()):
        if plan.phases or plan.parameters:
            yield f"### Plan {_code(name)}{_timeout(plan.timeout)}"
        if plan.parameters:
            command = f"kubectl kudo plan trigger --instance NAME --name {name} -p NAME=VALUE"
            yield f"Whoever triggers it can give it parameters: {_code(command)}."
            header = ("Run parameter", "Description", "Type", "Default", "Required")
            yield _table(header, [_row(parameter, "")[:-1] for parameter in plan.parameters])
        if plan.phases:
            yield _phases(plan, kinds)


def _phases(plan: Plan, kinds: Mapping[str, str]) -> str:
    lines = []
    for phase in plan.phases or ():
        order = _order(phase.strategy, len(phase.steps))
        about = (f", its steps {order}" if order else "") + _timeout(phase.timeout)
        about += _only_when(phase)
        lines.append(f"* phase {_code(phase.name)}{about}")
        for step in phase.steps:
            tasks = ", ".join(_task(name, kinds.get(name, "")) for name in step.tasks) or "nothing"
            about = _timeout(step.timeout) + _only_when(step)
            lines.append(f"    * step {_code(step.name)}{about}: {tasks}")
    order = _order(plan.strategy, len(plan.phases or ()))
    return (f"The phases run {order}.\n\n" if order else "") + "\n".join(lines)


def _task(name: str, kind: str) -> str:
    return f"{_code(name)} ({_text(kind)})" if kind else _code(name)


def _timeout(text: str | None) -> str:
    return f", timeout {_code(text)}" if text else ""


def _only_when(part: Phase | Step) -> str:
    return f", only when {_code(part.when)}" if part.when else ""


def _order(strategy: str, count: int) -> str:
    """Return in which order phases or steps run; empty if there is only one."""
    return _ORDER.get(strategy or SERIAL, _text(strategy)) if count > 1 else ""


def _parameters(package: Package) -> Iterator[str]:
    if not package.parameters:
        yield "The package has no parameters."
        return
    groups = {group.name: group for group in package.groups}
    for parameter in package.parameters:
        if parameter.group:
            groups.setdefault(parameter.group, ParameterGroup(name=parameter.group))
    ordered = sorted(groups.values(), key=lambda group: group.priority)
    for group in ordered:
        members = [parameter for parameter in package.parameters if parameter.group == group.name]
        if members:
            yield f"### {_text(group.display_name or group.name)}"
            yield _text(group.description)
            yield from _section(members, package)
    others = [parameter for parameter in package.parameters if not parameter.group]
    if others and len(others) < len(package.parameters):
        yield "### Other parameters"
    yield from _section(others, package)


def _section(parameters: Sequence[PackageParameter], package: Package) -> Iterator[str]:
    """Yield a table of the common parameters, one of the advanced ones, and long defaults."""
    common = [parameter for parameter in parameters if not parameter.advanced]
    advanced = [parameter for parameter in parameters if parameter.advanced]
    if common:
        yield _parameter_table(common, package)
    if advanced:
        yield "**Advanced**"
        yield _parameter_table(advanced, package)
    for parameter in (*common, *advanced):
        default = default_of(parameter) or ""
        if "\n" in default.rstrip("\n"):
            longest = max((len(run) for run in _BACKTICKS.findall(default)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"Default of {_code(parameter.name)}:"
            yield f"{fence}yaml\n{default.rstrip(chr(10))}\n{fence}"


def _parameter_table(parameters: Iterable[PackageParameter], package: Package) -> str:
    header = ("Parameter", "Description", "Type", "Default", "Required", "A change runs")
    return _table(
        header, [_row(parameter, _chosen(PLAN_UPDATE, package)) for parameter in parameters]
    )


def _row(parameter: PackageParameter, plan: str) -> tuple[str, ...]:
    """Return the cells of a parameter; `plan` runs where it names none."""
    default = default_of(parameter)
    name, hint = _text(parameter.display_name), _text(parameter.hint)
    description = (
        f"**{name}**" if name else "",
        _text(parameter.description),
        f"*{hint}*" if parameter.hint else "",
    )
    return (
        _code(parameter.name),
        " ".join(filter(None, description)),
        _type(parameter),
        _default(default),
        "yes" if parameter.required and default is None else "no",
        "cannot be changed" if parameter.immutable else _code(parameter.trigger or plan),
    )


def _type(parameter: PackageParameter) -> str:
    kind = _text(parameter.type or "string")
    kind = f"{kind}, secret" if parameter.secret else kind
    if parameter.enum is not None:
        values = (_code(stored(parameter, value) or "") for value in parameter.enum)
        kind = f"{kind}: {', '.join(filter(None, values))}"
    bounds = bounds_of(parameter, _code)
    return f"{kind}; {bounds}" if bounds else kind


def _default(default: str | None) -> str:
    if default is None:
        return ""
    text = default.rstrip("\n")
    if "\n" in text:
        return "below"
    return _code(text) or "empty"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(text: str) -> str:
    """Return a text for one line of a table."""
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _code(text: str) -> str:
    """Return a text as code, with more backticks around it than are in it; empty for none."""
    flat = " ".join(text.split()).replace("|", "\\|")
    if not flat:
        return ""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(flat)), default=0))
    blank = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{blank}{flat}{blank}{fence}"
