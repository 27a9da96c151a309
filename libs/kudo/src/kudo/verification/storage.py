"""Checks of what the API server refuses to store: counts, lengths, and the whole size.

The counts and lengths are those of the CustomResourceDefinitions, see `kudo.bounds`.
"""

from collections.abc import Iterator
from typing import Final

from kudo import bounds
from kudo.api import Phase, Task
from kudo.packages import Package, PackageParameter
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.problems import InvalidInput
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
from kudo.verification.values import stored

MOST_BYTES: Final = 1536 * 1024
"""Of a request to etcd, unless it is told otherwise."""
_BESIDE: Final = 4096
"""Bytes of the request beside the object: its key, and metadata that the API server adds."""
_LONGEST_ESCAPE: Final = 6
"""Bytes that a character of one byte may take in the JSON of the API server: `\\u003c`."""
_ESCAPED: Final = (b"<", b">", b"&")
_SEPARATORS: Final = ("\u2028".encode(), "\u2029".encode())

_MANIFEST: Final = "namespaceManifest"

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
    read = sum(len(text.encode()) for text in package.templates.values())
    read += len(files.get(OPERATOR_FILE, b"")) + len(files.get(PARAMETERS_FILE, b""))
    # Aliases make a value larger than its text.
    if read * _LONGEST_ESCAPE < MOST_BYTES and b"*" not in files.get(PARAMETERS_FILE, b""):
        return 0
    import orjson

    from kudo.packages import to_objects  # the models, which a small package does not need

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
    for field, text in (
        ("operatorVersion", file.operator_version),
        ("appVersion", file.app_version),
        ("kudoVersion", file.kudo_version),
        ("kubernetesVersion", file.kubernetes_version),
    ):
        yield _text(field, text, bounds.NAME, in_operator(field))
    for field, text in (
        ("description", file.description),
        ("url", file.url),
    ):
        yield _text(field, text, bounds.TEXT, in_operator(field))
    yield _text(_MANIFEST, file.namespace_manifest, bounds.TEMPLATE, in_operator(_MANIFEST))
    for maintainer in file.maintainers:
        place = in_operator("maintainers")
        yield _text("the name of a maintainer", maintainer.name, bounds.NAME, place)
        yield _text("the email of a maintainer", maintainer.email, bounds.TEXT, place)
    count = len(file.maintainers)
    yield "the number of maintainers", count, bounds.MAINTAINERS, in_operator("maintainers")
    yield "the number of tasks", len(file.tasks), bounds.TASKS, in_operator("tasks")
    for task in file.tasks:
        yield from _of_task(task)
    plans = file.plans or {}
    yield "the number of plans", len(plans), bounds.PLANS, in_operator("plans")
    phases = [phase for plan in plans.values() for phase in plan.phases or ()]
    steps = [step for phase in phases for step in phase.steps]
    tasks = sum(len(step.tasks) for step in steps)
    of_all = in_operator("plans")
    yield "the number of phases of all plans", len(phases), bounds.PHASES_IN_ALL, of_all
    yield "the number of steps of all plans", len(steps), bounds.STEPS_IN_ALL, of_all
    yield "the number of tasks of all steps", tasks, bounds.STEP_TASKS_IN_ALL, of_all
    for name, plan in plans.items():
        yield _text("strategy", plan.strategy, bounds.NAME, at_plan(name, "strategy"))
        yield _text("timeout", plan.timeout, bounds.DURATION, at_plan(name, "timeout"))
        count = len(plan.phases or ())
        yield "the number of phases of the plan", count, bounds.PHASES, at_plan(name)
        count = sum(len(phase.steps) for phase in plan.phases or ())
        yield "the number of steps of the plan", count, bounds.PLAN_STEPS, at_plan(name)
        for number, phase in enumerate(plan.phases or ()):
            yield from _of_phase(phase, name, number)
    yield "the number of templates", len(package.templates), bounds.TEMPLATES, Place("templates")
    for name, text in package.templates.items():
        yield _text("the template", text, bounds.TEMPLATE, at_template(name))
    in_all = Place(OPERATOR_FILE)
    yield "the number of entries of all lists", _entries(package), bounds.ENTRIES_IN_ALL, in_all


def _of_task(task: Task) -> Iterator[_Bound]:
    spec, place = task.spec, at_task(task.name)
    versions = spec.app_version, spec.operator_version
    for text in (task.name, task.kind, spec.parameter, spec.package, spec.instance_name, *versions):
        yield _text("a text of the task", text, bounds.NAME, place)
    for text in (task.timeout, task.progress_deadline):
        yield _text("a time limit of the task", text, bounds.DURATION, place)
    for text in (spec.pod, spec.parameter_file, *(spec.resources or ())):
        yield _text("the name of a template", text, bounds.TEXT, place)
    yield "the number of resources", len(spec.resources or ()), bounds.RESOURCES, place
    yield "the number of files", len(spec.pipe or ()), bounds.PIPE_FILES, place
    for pipe in spec.pipe or ():
        for text in (pipe.key, pipe.kind):
            yield _text("a text of a file", text, bounds.NAME, place)
        for text in (pipe.file, pipe.env_file):
            yield _text("the path of a file", text, bounds.TEXT, place)


def _of_phase(phase: Phase, plan: str, number: int) -> Iterator[_Bound]:
    place = at_plan(plan, "phases", number)
    for text in (phase.name, phase.strategy):
        yield _text("a text of the phase", text, bounds.NAME, place)
    yield _text("the time limit of the phase", phase.timeout, bounds.DURATION, place)
    yield "the number of steps of the phase", len(phase.steps), bounds.STEPS, place
    for n, step in enumerate(phase.steps):
        place = at_plan(plan, "phases", number, "steps", n)
        yield "the number of tasks of the step", len(step.tasks), bounds.STEP_TASKS, place
        yield _text("the time limit of the step", step.timeout, bounds.DURATION, place)
        for text in (step.name, *step.tasks):
            yield _text("a text of the step", text, bounds.NAME, place)


def _of_parameters(package: Package) -> Iterator[_Bound]:
    count = len(package.parameters)
    yield "the number of parameters", count, bounds.PARAMETERS, in_parameters("parameters")
    for parameter in package.parameters:
        place = at_parameter(parameter.name)
        for text in (parameter.name, parameter.trigger, parameter.type):
            yield _text("a text of the parameter", text, bounds.NAME, place)
        for text in (parameter.display_name, parameter.description):
            yield _text("a text of the parameter", text, bounds.TEXT, place)
        yield "the number of values of the enum", len(parameter.enum or ()), bounds.ENUM, place
        for value in _values(parameter):
            yield _text("a value of the parameter", value, bounds.VALUE, place)


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
