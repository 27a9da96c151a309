"""Bounds on the number of items in KUDO objects and on the length of their texts.

The schemas of the CRDs have these bounds, so the API server rejects what exceeds one. Objects that
were stored before may exceed them (ratcheting: fields that do not change are not validated again),
and no schema counts the items of all lists together: `too_large` finds versions that services do
not read, and `kudo.verification.storage` packages of such versions. Packages of the community have
some hundred parameters, some dozen templates and tasks, and plans of some dozen steps and objects.

A bound on what a run goes over is as large as the event loop of the reconciler can afford, which
serves all tenants: see "many small things" in docs/security.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from kudo.api.problems import shown_name

PARAMETERS: Final = 2000
ENUM: Final = 1000
VALUE_ENUM: Final = 100
"""Values of the enum of an item or a property."""
PROPERTIES: Final = 100
"""Keys of a map that a parameter defines, and of each map in it."""
VALUES_IN_ALL: Final = 2000
"""Items and properties that all parameters define, and values of their enums."""
VALUE_DEPTH: Final = 3
"""Levels of items and properties that a parameter defines."""
TEMPLATES: Final = 1000
TASKS: Final = 1000
RESOURCES: Final = 1000
PIPE_FILES: Final = 100
JOB_ARGUMENTS: Final = 100
"""Words of the command of a Job task, and of its arguments."""
JOB_ENV: Final = 200
JOB_VOLUMES: Final = 50
"""Volumes of a Job task, and mounts."""
JOB_VALUES: Final = 4000
"""Mappings, lists and scalars of a Job task, which an event loop looks at."""
JOB_DEPTH: Final = 20
"""Mappings and lists inside each other."""
JOB_NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "backoffLimit": (0, 1000),
    "activeDeadlineSeconds": (1, 2**31 - 1),
    "keep": (1, 10),
}
"""The least and the most of the numbers of a Job task."""
PLANS: Final = 200
PHASES: Final = 200
STEPS: Final = 500
STEP_TASKS: Final = 500
UPGRADABLE_FROM: Final = 500
MAINTAINERS: Final = 100
HISTORY: Final = 50
"""Runs of the history of an Instance."""
CHECK_OBJECTS: Final = 500
"""Objects that a Check task selects."""
CHECK_BYTES: Final = 8 << 20
"""Bytes of these objects as JSON."""
SELECTOR: Final = 20
"""Labels of the selector of a Check task."""

NAME: Final = 253
"""Characters of a name, as of an object's."""
DURATION: Final = 64
"""Characters of a duration."""
EXPRESSION: Final = 4096
"""Characters of an expression in CEL."""
PATTERN: Final = 256
"""Characters of a pattern."""
MATCHED: Final = 64 * 1024
"""Characters of a text that a pattern is applied to."""
TEXT: Final = 16 * 1024
"""Characters of a text for people."""
VALUE: Final = 256 * 1024
"""Characters of a value of a parameter."""
TEMPLATE: Final = 1024 * 1024
JOB_TEXT: Final = 64 * 1024
"""Characters of all texts of a Job task together."""
SCRIPT: Final = 64 * 1024
"""Bytes of a script: Linux takes no argument of a program that is longer than 128 KiB."""

PLAN_STEPS: Final = 500
"""Steps of a plan, of all its phases."""
PHASES_IN_ALL: Final = 1000
"""Phases of all plans: the status of an Instance has an entry for each, and for each step."""
STEPS_IN_ALL: Final = 1000
STEP_TASKS_IN_ALL: Final = 2000
"""Tasks of all steps; one that several steps name counts for each."""
ENTRIES_IN_ALL: Final = 20_000
"""Enum values, resources, pipe files, phases, and tasks of steps of an OperatorVersion; and, apart
from these, values of all Job tasks."""

OUTPUTS: Final = 50
"""Outputs that a task may declare."""
TASK_OUTPUTS: Final = 4 << 10
"""Bytes of names and texts of the outputs of a task: a kubelet keeps no longer message."""
RUN_OUTPUTS: Final = 64 << 10
"""The same of all tasks of a run."""
INSTANCE_OUTPUTS: Final = 256 << 10
"""The same of the last runs of all plans of an Instance, which one object in etcd has to hold."""

RUN_PARAMETERS: Final = 100
"""Parameters that a plan may declare for its runs."""
RUN_PARAMETER_BYTES: Final = 16 << 10
"""Bytes of names and values of the parameters of a run."""
INSTANCE_RUN_PARAMETERS: Final = 128 << 10
"""The same of the last runs of all plans of an Instance."""

TASK_OBJECTS: Final = 1000
"""Objects of all templates of a task."""
INSTANCE_OBJECTS: Final = 2000
"""Objects on record of an Instance: what its plans have applied, and what a run would add."""

TOO_LARGE: Final = "tooLarge"
"""Key under which caches keep the result of `too_large` instead of the spec."""

_Spec = Mapping[str, object]


def too_large(spec: object) -> str:
    """Return which part of an OperatorVersion's spec is too large to be read; empty if none is.

    It counts and parses nothing, and stops at the first bound that is exceeded. A part of another
    type than its schema has counts as empty.
    """
    for field, count, most in _counted(spec if isinstance(spec, dict) else {}):
        if count > most:
            return (
                f"spec.{field} has {count} entries, more than {most}; create a version with fewer"
            )
    return ""


def job_values(job: object) -> tuple[int, int]:
    """Return how many values the fields of a Job task have, and how deep they are nested.

    Counting stops where one of both is more than it may be.
    """
    count, depth, below = 0, 0, [job]
    while below and count <= JOB_VALUES and depth <= JOB_DEPTH:
        count += len(below)
        depth += 1
        below = list(islice(_values(below), JOB_VALUES + 1))
    return count, depth


def _values(containers: Iterable[object]) -> Iterator[object]:
    for container in containers:
        if isinstance(container, Mapping):
            yield from container.values()
        elif isinstance(container, list | tuple):
            yield from container


def _counted(spec: _Spec) -> Iterator[tuple[str, int, int]]:
    """Yield parts, their number of entries as far as they were counted, and their bounds."""
    own = {
        "parameters": PARAMETERS,
        "templates": TEMPLATES,
        "tasks": TASKS,
        "plans": PLANS,
        "upgradableFrom": UPGRADABLE_FROM,
    }
    for field, most in own.items():
        yield field, _length(spec.get(field)), most
    yield from _of_jobs(spec)
    # Each of these becomes a model, which costs more than an entry of a list.
    values = 0
    for count in value_counts(_objects(spec.get("parameters"))):
        values += count
        yield "parameters.items and properties", values, VALUES_IN_ALL
    in_all = 0
    for name, plan in _plans(spec):
        declared = _objects(plan.get("parameters"))
        count = _length(plan.get("parameters"))
        in_all += count
        yield f"plans[{shown_name(name)}].parameters", count, RUN_PARAMETERS
        yield "plans.parameters", in_all, PARAMETERS
        for count in value_counts(declared):
            values += count
            yield "plans.parameters.items and properties", values, VALUES_IN_ALL
    # From here on every list is short, except those of plans.
    entries = 0
    for field, count in _below(spec):
        entries += count
        yield field, entries, ENTRIES_IN_ALL
    # And from here on those of plans are short enough to be counted.
    for name, plan in _plans(spec):
        steps = sum(_length(phase.get("steps")) for phase in _objects(plan.get("phases")))
        yield f"plans[{shown_name(name)}].phases.steps", steps, PLAN_STEPS
    together = {
        "plans.phases": PHASES_IN_ALL,
        "plans.phases.steps": STEPS_IN_ALL,
        "plans.phases.steps.tasks": STEP_TASKS_IN_ALL,
    }
    sums = dict.fromkeys(together, 0)
    for field, count in _below(spec):
        if field in sums:
            sums[field] += count
    for field, most in together.items():
        yield field, sums[field], most


def _of_jobs(spec: _Spec) -> Iterator[tuple[str, int, int]]:
    in_all = 0
    for task in _objects(spec.get("tasks")):
        job = _object(task.get("spec")).get("job")
        if not job:
            continue
        values, depth = job_values(job)
        field = f"tasks[{shown_name(str(task.get('name', '')))}].spec.job"
        yield field, values, JOB_VALUES
        yield f"{field} (levels)", depth, JOB_DEPTH
        in_all += values
        yield "tasks.spec.job", in_all, ENTRIES_IN_ALL


def value_counts(parameters: Iterable[_Spec]) -> Iterator[int]:
    """Yield 1 for each item or property that parameters define, and the length of its enum.

    What is deeper than a schema reaches is not stored.
    """
    below = [(parameter, 0) for parameter in parameters]
    while below:
        definition, depth = below.pop()
        if depth:
            yield 1 + _length(definition.get("enum"))
        if depth < VALUE_DEPTH:
            items, properties = definition.get("items"), _object(definition.get("properties"))
            below += [(_object(each), depth + 1) for each in properties.values()]
            below += [(items, depth + 1)] if isinstance(items, dict) else []


def _below(spec: _Spec) -> Iterator[tuple[str, int]]:
    """Yield the length of each list in the lists of a spec."""
    for parameter in _objects(spec.get("parameters")):
        yield "parameters.enum", _length(parameter.get("enum"))
    for _, plan in _plans(spec):
        for parameter in _objects(plan.get("parameters")):
            yield "plans.parameters.enum", _length(parameter.get("enum"))
    for task in _objects(spec.get("tasks")):
        own = _object(task.get("spec"))
        yield "tasks.spec.resources", _length(own.get("resources"))
        yield "tasks.spec.pipe", _length(own.get("pipe"))
    for _, plan in _plans(spec):
        yield "plans.phases", _length(plan.get("phases"))
    for _, plan in _plans(spec):
        for phase in _objects(plan.get("phases")):
            yield "plans.phases.steps", _length(phase.get("steps"))
            for step in _objects(phase.get("steps")):
                yield "plans.phases.steps.tasks", _length(step.get("tasks"))


def _plans(spec: _Spec) -> Iterator[tuple[str, _Spec]]:
    yield from ((name, _object(plan)) for name, plan in _object(spec.get("plans")).items())


def _object(value: object) -> _Spec:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> Iterator[_Spec]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _length(value: object) -> int:
    return len(value) if isinstance(value, list | dict) else 0
