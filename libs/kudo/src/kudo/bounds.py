"""Bounds on the number of items in KUDO objects and on the length of their texts.

The schemas of the CRDs have these bounds, so the API server rejects what exceeds one. Objects that
were stored before may exceed them (ratcheting: fields that do not change are not validated again),
and no schema counts the items of all lists together: `too_large` finds versions that services do
not read. Packages of the community have some hundred parameters and some dozen templates and tasks.
"""

from collections.abc import Iterator, Mapping
from typing import Final

PARAMETERS: Final = 2000
ENUM: Final = 1000
TEMPLATES: Final = 1000
TASKS: Final = 1000
RESOURCES: Final = 1000
PIPE_FILES: Final = 100
PLANS: Final = 200
PHASES: Final = 200
STEPS: Final = 500
STEP_TASKS: Final = 500
UPGRADABLE_FROM: Final = 500
MAINTAINERS: Final = 100
HISTORY: Final = 50
"""Runs of the history of an Instance."""

NAME: Final = 253
"""Characters of a name, as of an object's."""
DURATION: Final = 64
"""Characters of a duration."""
TEXT: Final = 16 * 1024
"""Characters of a text for people."""
VALUE: Final = 256 * 1024
"""Characters of a value of a parameter."""
TEMPLATE: Final = 1024 * 1024

STEPS_IN_ALL: Final = 5000
ENTRIES_IN_ALL: Final = 20_000
"""Enum values, resources, pipe files, phases, and tasks of steps of an OperatorVersion."""

TOO_LARGE: Final = "tooLarge"
"""Key under which caches keep the result of `too_large` instead of the spec."""

_Spec = Mapping[str, object]


def too_large(spec: object) -> str:
    """Return which part of an OperatorVersion's spec is too large to be read; empty if none is.

    It counts and parses nothing, and stops at the first bound that is exceeded. A part of another
    type than its schema has counts as empty.
    """
    found = next(_exceeded(spec if isinstance(spec, dict) else {}), None)
    if found is None:
        return ""
    field, count, most = found
    return f"spec.{field} has {count} entries, more than {most}; create a version with fewer"


def _exceeded(spec: _Spec) -> Iterator[tuple[str, int, int]]:
    own = {
        "parameters": PARAMETERS,
        "templates": TEMPLATES,
        "tasks": TASKS,
        "plans": PLANS,
        "upgradableFrom": UPGRADABLE_FROM,
    }
    for field, most in own.items():
        if (count := _length(spec.get(field))) > most:
            yield field, count, most
    # From here on every list is short, except those of plans.
    entries = 0
    for field, count in _below(spec):
        entries += count
        if entries > ENTRIES_IN_ALL:
            yield field, entries, ENTRIES_IN_ALL
    steps = 0
    for phase in _phases(spec):
        steps += _length(phase.get("steps"))
        if steps > STEPS_IN_ALL:
            yield "plans.phases.steps", steps, STEPS_IN_ALL


def _below(spec: _Spec) -> Iterator[tuple[str, int]]:
    """Yield the length of each list in the lists of a spec."""
    for parameter in _objects(spec.get("parameters")):
        yield "parameters.enum", _length(parameter.get("enum"))
    for task in _objects(spec.get("tasks")):
        own = _object(task.get("spec"))
        yield "tasks.spec.resources", _length(own.get("resources"))
        yield "tasks.spec.pipe", _length(own.get("pipe"))
    for plan in _plans(spec):
        yield "plans.phases", _length(plan.get("phases"))
    for phase in _phases(spec):
        yield "plans.phases.steps", _length(phase.get("steps"))
        for step in _objects(phase.get("steps")):
            yield "plans.phases.steps.tasks", _length(step.get("tasks"))


def _plans(spec: _Spec) -> Iterator[_Spec]:
    yield from (_object(plan) for plan in _object(spec.get("plans")).values())


def _phases(spec: _Spec) -> Iterator[_Spec]:
    for plan in _plans(spec):
        yield from _objects(plan.get("phases"))


def _object(value: object) -> _Spec:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> Iterator[_Spec]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _length(value: object) -> int:
    return len(value) if isinstance(value, list | dict) else 0
