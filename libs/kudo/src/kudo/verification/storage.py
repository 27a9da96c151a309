"""Checks of what the API server refuses to store: counts, lengths, and the whole size.

The counts and lengths are those of the CustomResourceDefinitions, see `kudo.api.bounds`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from pydantic import BaseModel

from kudo.api import Phase, Plan, Step, Task, bounds
from kudo.api.problems import InvalidInput
from kudo.packages.convert import to_objects
from kudo.packages.fields import fields_of
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.packages.model import Package, PackageParameter, PackagePlan, ParametersFile
from kudo.verification.finding import (
    Finding,
    Place,
    at_parameter,
    at_plan,
    at_task,
    at_template,
    error,
    in_operator,
    in_parameters,
)
from kudo.verification.parameters import declared, stored

MOST_BYTES: Final = 1536 * 1024
"""Of a request to etcd, unless it is told otherwise."""
_BESIDE: Final = 4096
"""Bytes of the request beside the object: its key, and metadata that the API server adds."""
_LONGEST_ESCAPE: Final = 6
"""Bytes that a character of one byte may take in the JSON of the API server: `\\u003c`."""
_ESCAPED: Final = (b"<", b">", b"&")
_SEPARATORS: Final = ("\u2028".encode(), "\u2029".encode())

_PARTS: Final = frozenset({PackageParameter, PackagePlan, Phase, Plan, Step, Task})
"""What has places of its own."""
_Bound = tuple[str, int, int, Place]
"""What is counted, how many there are, how many may be, and where."""


def parts_are_within_bounds(package: Package) -> Iterator[Finding]:
    """The CustomResourceDefinitions bound lists and texts."""
    for what, count, most, place in (*_of_operator(package), *_of_parameters(package)):
        if count > most:
            message = f"{what} is {count}; at most {most} are allowed"
            yield error("PackageTooLarge", message, place)


def the_version_fits_into_etcd(package: Package) -> Iterator[Finding]:
    """A request to etcd has a limit, and the OperatorVersion holds all templates."""
    size = _size(package)
    if size > MOST_BYTES:
        largest = max(package.templates, key=lambda name: len(package.templates[name]), default="")
        message = (
            f"the OperatorVersion would have {size} bytes, and etcd takes {MOST_BYTES} in one "
            f"request: split the package, or make its templates smaller; the largest is {largest}"
        )
        yield error("PackageTooLarge", message, Place(OPERATOR_FILE))


def _size(package: Package) -> int:
    """Return the bytes of the request that stores the OperatorVersion; 0 if it is surely small."""
    files = package.files.files
    read = sum(len(text.encode()) for text in package.texts.values())
    read += len(files.get(OPERATOR_FILE, b"")) + len(files.get(PARAMETERS_FILE, b""))
    # Aliases make a value larger than its text.
    if read * _LONGEST_ESCAPE < MOST_BYTES and b"*" not in files.get(PARAMETERS_FILE, b""):
        return 0
    import orjson  # most packages are small, and need no JSON

    try:
        version = to_objects(package, "default").operator_version
    except InvalidInput:  # which other checks report
        return 0
    content = orjson.dumps(version.to_wire())
    # The API server escapes more characters than are necessary.
    escaped = sum(map(content.count, _ESCAPED)) * (_LONGEST_ESCAPE - 1)
    escaped += sum(map(content.count, _SEPARATORS)) * (_LONGEST_ESCAPE - 3)
    return len(content) + escaped + _BESIDE


def _of_operator(package: Package) -> Iterator[_Bound]:
    file = package.operator
    yield from _of_part(file, "", in_operator)
    for task in file.tasks:
        yield from _of_part(task, " of the task", partial(at_task, task.name))
    plans = file.plans or {}
    phases = [phase for plan in plans.values() for phase in plan.phases or ()]
    steps = [step for phase in phases for step in phase.steps]
    tasks = sum(len(step.tasks) for step in steps)
    of_all = in_operator("plans")
    yield "the number of phases of all plans", len(phases), bounds.PHASES_IN_ALL, of_all
    yield "the number of steps of all plans", len(steps), bounds.STEPS_IN_ALL, of_all
    yield "the number of tasks of all steps", tasks, bounds.STEP_TASKS_IN_ALL, of_all
    for name, plan in plans.items():
        yield from _of_plan(name, plan)
    yield "the number of templates", len(package.texts), bounds.TEMPLATES, Place("templates")
    for name, text in package.templates.items():
        yield _text("the template", text, bounds.TEMPLATE, at_template(name))
    in_all = Place(OPERATOR_FILE)
    yield "the number of entries of all lists", _entries(package), bounds.ENTRIES_IN_ALL, in_all


def _of_plan(name: str, plan: PackagePlan) -> Iterator[_Bound]:
    yield from _of_part(plan, " of the plan", partial(at_plan, name))
    count = sum(len(phase.steps) for phase in plan.phases or ())
    yield "the number of steps of the plan", count, bounds.PLAN_STEPS, at_plan(name)
    for number, parameter in enumerate(plan.parameters or ()):
        place = partial(at_plan, name, "parameters", number)
        yield from _of_part(parameter, " of the run parameter", place)
        for value in _values(parameter):
            yield _text("a value of the run parameter", value, bounds.VALUE, place())
    for number, phase in enumerate(plan.phases or ()):
        place = partial(at_plan, name, "phases", number)
        yield from _of_part(phase, " of the phase", place)
        for n, step in enumerate(phase.steps):
            yield from _of_part(step, " of the step", partial(place, "steps", n))


def _of_parameters(package: Package) -> Iterator[_Bound]:
    file = ParametersFile(parameters=package.parameters, groups=package.groups)
    yield from _of_part(file, "", in_parameters)
    for parameter in package.parameters:
        place = partial(at_parameter, parameter.name)
        yield from _of_part(parameter, " of the parameter", place)
        for value in _values(parameter):
            yield _text("a value of the parameter", value, bounds.VALUE, place())
    of_runs = [
        each for plan in (package.operator.plans or {}).values() for each in plan.parameters or ()
    ]
    all_parameters = (*package.parameters, *of_runs)
    values = sum(bounds.value_counts(declared(each).to_wire() for each in all_parameters))
    what = "the number of items and properties of all parameters, and of values of their enums"
    yield what, values, bounds.VALUES_IN_ALL, in_parameters("parameters")


def _of_part(part: BaseModel, whose: str, place: Callable[..., Place]) -> Iterator[_Bound]:
    """Yield the bounds of the fields of a part, and of those in it that have no place of their own.

    Args:
        part: A mapping of a file.
        whose: Words that follow the name of a field.
        place: Returns where a field is.
    """
    for field in fields_of(type(part)):
        value, shape, what = getattr(part, field.attribute), field.shape, f"{field.name}{whose}"
        if shape.kind == "text" and shape.most is not None:
            yield _text(what, value, shape.most, place(field.name))
        elif shape.kind in {"list", "map"} and shape.most is not None:
            yield f"the number of {what}", len(value or ()), shape.most, place(field.name)
        below = shape.below or shape
        if below is not shape and below.kind == "text" and below.most is not None:
            items = value.values() if isinstance(value, Mapping) else value
            for text in items or ():
                yield _text(f"an item of {what}", text, below.most, place(field.name))
        if below.model is not None and below.model not in _PARTS and value is not None:
            items = value.values() if isinstance(value, Mapping) else value
            for item in items if below is not shape else (value,):
                yield from _of_part(item, f" of {what}", place)


def _values(parameter: PackageParameter) -> Iterator[str | None]:
    for value in (parameter.default, *(parameter.enum or ())):
        yield stored(parameter, value)


def _entries(package: Package) -> int:
    tasks = (task.spec for task in package.operator.tasks)
    plans = (package.operator.plans or {}).values()
    phases = [phase for plan in plans for phase in plan.phases or ()]
    return sum(
        (
            sum(len(parameter.enum or ()) for parameter in package.parameters),
            sum(len(spec.resources or ()) + len(spec.pipe or ()) for spec in tasks),
            len(phases),
            sum(1 + len(step.tasks) for phase in phases for step in phase.steps),
        )
    )


def _text(what: str, text: str | None, most: int, place: Place) -> _Bound:
    return f"the number of characters of {what}", len(text or ""), most, place
