"""What the fields of a Job task have to be, as templates and once they are rendered."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kudo.api import bounds
from kudo.api.names import OUTPUT_NAME
from kudo.api.problems import kind_of_value, shown_name, text_fault
from kudo.api.task_kinds.kind import Path
from kudo.api.wire import JsonObject

SCRIPTS: Final = "scripts"
"""The folder of a package with the scripts of its tasks."""
FIXED: Final = frozenset({"script", "podTemplate", "outputs"})
"""Fields that are no templates: what they name must be known before anything is rendered."""
SOURCES: Final = ("secretKeyRef", "configMapKeyRef")
"""Where the value of a variable can come from."""
_ACTION: Final = "{{"
_OUTPUT: Final = re.compile(OUTPUT_NAME)

Fault = tuple[Path, str]
"""The path of a field in `job`, and what is wrong with it."""


def texts_of(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the texts in a value at any depth, with their paths; keys are none of them."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from texts_of(item, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from texts_of(item, (*path, number))


def templates_in(job: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the texts of the fields of a task that are templates, with their paths."""
    for path, text in texts_of(job):
        if is_template(text) and path[0] not in FIXED:
            yield path, text


def is_template(text: str) -> bool:
    """Return whether a text depends on anything that is rendered."""
    return _ACTION in text


def job_faults(job: JsonObject, *, rendered: bool = False) -> Iterator[Fault]:
    """Yield why no Job can be made of the fields of a task.

    Texts are not quoted, since they may hold values of parameters.

    Args:
        job: `spec.job` of the task as JSON.
        rendered: Whether its texts are what templates rendered to.
    """
    values, depth = bounds.job_values(job)
    if values > bounds.JOB_VALUES or depth > bounds.JOB_DEPTH:
        text = f"has more than {bounds.JOB_VALUES} values, or {bounds.JOB_DEPTH} in each other"
        yield (), text
        return
    yield from _program_faults(job)
    yield from _env_faults(job.get("env"))
    yield from _named_faults("volumes", "name", job.get("volumes"))
    yield from _named_faults("mounts", "mountPath", job.get("mounts"))
    yield from _mounted_faults(job)
    yield from _output_faults(job.get("outputs"))
    length = 0 if rendered else sum(len(text) for _, text in texts_of(job))
    if length > bounds.JOB_TEXT:
        yield (), f"its texts have {length} characters together, more than {bounds.JOB_TEXT}"
    for path in _too_large(job, ()):
        yield path, "does not fit into 64 bits"


def _program_faults(job: JsonObject) -> Iterator[Fault]:
    script, pod = job.get("script"), job.get("podTemplate")
    if script and job.get("command"):
        yield ("command",), "there is a script as well; leave one of them out"
    if not (script or job.get("command") or pod):
        yield (), "needs a script, a command or a podTemplate"
    if script and not is_script(script):
        text = f'"{shown_name(script)}" is no file of the folder {SCRIPTS}/; write {SCRIPTS}/NAME'
        yield ("script",), text
    if not (job.get("image") or pod):
        yield ("image",), "is needed: the program runs in a container of it"
    if not isinstance(job.get("resources") or {}, Mapping):
        yield ("resources",), "is not a mapping"
    for field, (least, most) in bounds.JOB_NUMBERS.items():
        if not least <= job.get(field, least) <= most:
            yield (field,), f"must be from {least} to {most}"


def is_script(path: str) -> bool:
    """Return whether a path can be that of a script, below the folder of a package."""
    return path.startswith(f"{SCRIPTS}/") and posixpath.normpath(path) == path


def _env_faults(env: Any) -> Iterator[Fault]:
    yield from _named_faults("env", "name", env)
    for number, variable in _mappings(env):
        at: Path = ("env", number)
        source = variable.get("valueFrom")
        if ("value" in variable) == (source is not None):
            yield at, "needs value or valueFrom, and not both"
        elif source is None:
            value = variable["value"]
            if value is None:
                yield (*at, "value"), 'is null; write "" for an empty value'
            elif fault := text_fault(value):
                yield (*at, "value"), fault
        else:
            yield from _source_faults(source, (*at, "valueFrom"))


def _source_faults(source: Any, at: Path) -> Iterator[Fault]:
    kinds = list(source) if isinstance(source, Mapping) else []
    if len(kinds) != 1 or kinds[0] not in SOURCES:
        yield at, f"must be one of {' and '.join(SOURCES)}; mount a volume for anything else"
        return
    reference = source[kinds[0]]
    for field in ("name", "key"):
        value = reference.get(field) if isinstance(reference, Mapping) else None
        if not isinstance(value, str) or not value:
            yield (*at, kinds[0]), f"needs a {field}"


def _named_faults(field: str, key: str, items: Any) -> Iterator[Fault]:
    """Yield what is wrong with a list of mappings that a key tells apart."""
    if not isinstance(items, list | tuple | None):
        yield (field,), f"is {kind_of_value(items)} and not a list"
        return
    seen = Counter[str]()
    for number, item in enumerate(items or ()):
        name = item.get(key) if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping):
            yield (field, number), f"is {kind_of_value(item)} and not a mapping"
        elif not isinstance(name, str) or not name:
            yield (field, number), f"needs a {key}"
        else:
            seen[name] += 1
            if seen[name] == 2:
                yield (field, number, key), "there is another one of the same"


def _mounted_faults(job: JsonObject) -> Iterator[Fault]:
    """Yield mounts without their volumes; names that are templates are written alike."""
    volumes = {volume.get("name") for _, volume in _mappings(job.get("volumes"))}
    for number, mount in _mappings(job.get("mounts")):
        name = mount.get("name")
        if not isinstance(name, str) or not name:
            yield ("mounts", number), "needs a name, which is that of a volume"
        elif name not in volumes and not job.get("podTemplate"):
            yield ("mounts", number, "name"), "volumes has no volume of this name"


def _output_faults(names: Any) -> Iterator[Fault]:
    if not isinstance(names, list | tuple | None):
        yield ("outputs",), f"is {kind_of_value(names)} and not a list"
        return
    seen = set[str]()
    for number, name in enumerate(names or ()):
        if not isinstance(name, str) or not _OUTPUT.fullmatch(name):
            text = 'is no name: use at most 63 letters, digits, "_", "." and "-"'
            yield ("outputs", number), text
        elif name in seen:
            yield ("outputs", number), "there is another one of the same"
        else:
            seen.add(name)


def _mappings(items: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, item in enumerate(items if isinstance(items, list | tuple) else ()):
        if isinstance(item, Mapping):
            yield number, item


def _too_large(value: object, path: Path) -> Iterator[Path]:
    """Yield the paths of integers that JSON for the API server cannot hold."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _too_large(item, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _too_large(item, (*path, number))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield path
