"""Renders the texts of a Job task: those of its fields, its script and its pod template."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NotRequired, TypedDict

from goyaml import Budget, YamlError, load
from kudo.api import JsonObject, bounds
from kudo.api.problems import path_text, shown_name, text_fault
from kudo.api.redaction import without_quotes
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.job import job_faults, templates_in
from kudo.api.task_kinds.kind import Path
from kudo.tasks.rendering import Engine, integer_problem, render, render_named

RENDERED: Final = 256 * 1024
"""Characters of all texts of the fields together, once they are rendered."""
POD_VALUES: Final = 20_000
"""Values in a pod template: the event loop of the reconciler works on all of them."""
_LISTS: Final = ("containers", "initContainers", "volumes")
_OF_CONTAINERS: Final = ("env", "volumeMounts")


class JobError(FatalTaskError):
    """A text of a Job task cannot be rendered, or no Job be made of what it renders to.

    Attributes:
        path: The field of `job` at fault.
        file: The script or pod template that is, instead of a field; empty for a field.
    """

    def __init__(
        self, reason: str, message: str, *, path: Path = (), file: str = "", limit: str = ""
    ) -> None:
        super().__init__(reason, message, limit=limit)
        self.path = path
        self.file = file


class RenderedJob(TypedDict):
    """A Job task of which every text is rendered.

    Attributes:
        job: The fields of the task.
        script: The text of the script; None if the task has none.
        pod: What the pod template gives, with a `spec`; None if the task has none.
    """

    job: JsonObject
    script: str | None
    pod: "PodTemplate | None"


class PodTemplate(TypedDict):
    """A pod as its template gives it."""

    metadata: NotRequired[JsonObject]
    spec: JsonObject


def rendered_job(
    task: str,
    job: JsonObject,
    templates: Mapping[str, str],
    values: Mapping[str, object],
    *,
    engine: Engine,
    begin: Callable[[str], None] | None = None,
    expired: Callable[[], bool] | None = None,
) -> Iterator[RenderedJob | None]:
    """Render the texts of a task one by one: None after each, and what they make at the end.

    Whoever iterates may do something else after each text.

    Args:
        task: Name of the task, for messages.
        job: Its fields (`spec.job`), which stay as they are.
        templates: Texts of the templates by name.
        values: What they can refer to.
        engine: What renders; its budget is of all texts together.
        begin: Called with the name of each text before it is rendered.
        expired: Asked now and then whether rendering has taken too long.

    Raises:
        JobError: a text cannot be rendered, or gives what no Job can be made of. The message names
            the task and the field.
    """
    tell = begin or (lambda _: None)
    texts: dict[Path, str] = {}
    length = 0
    for path, text in templates_in(job):
        field = path_text(("job", *path))
        tell(f"task {shown_name(task)}: {field}")
        what = f"task {shown_name(task)}: {field}"
        with _at(path=path):
            texts[path] = render(field, text, values, what=what, engine=engine, expired=expired)
        length += len(texts[path])
        if length > RENDERED:
            reason = f"the texts of the task have more than {RENDERED} characters together"
            message = f"{field}: {reason}; use a ConfigMap"
            raise _invalid(task, message, path=path, limit="output")
        yield None
    made = _replaced(job, texts, ())
    for path, fault in job_faults(made, rendered=True):
        raise _invalid(task, f"{path_text(('job', *path))}: {fault}", path=path)
    script: str | None = None
    if job.get("script"):
        tell(f'script "{shown_name(job["script"])}"')
        file = job["script"]
        with _at(file=file):
            script = render_named(file, templates, values, engine=engine, expired=expired)
        if len(script.encode()) > bounds.SCRIPT:
            reason = f"it has more than {bounds.SCRIPT} bytes once it is rendered"
            raise _invalid(task, f"{file}: {reason}; make it shorter", file=file, limit="output")
        yield None
    pod: PodTemplate | None = None
    if job.get("podTemplate"):
        file = job["podTemplate"]
        tell(f'template "{shown_name(file)}"')
        with _at(file=file):
            text = render_named(file, templates, values, engine=engine, expired=expired)
            pod = read_pod_template(file, text, engine.budget)
    yield {"job": made, "script": script, "pod": pod}


def _replaced(value: Any, texts: Mapping[Path, str], path: Path) -> Any:
    """Return a copy of a value with the texts at their paths replaced."""
    if isinstance(value, dict):
        return {name: _replaced(item, texts, (*path, name)) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, texts, (*path, number)) for number, item in enumerate(value)]
    return texts.get(path, value)


@contextmanager
def _at(*, path: Path = (), file: str = "") -> Iterator[None]:
    """Add to an error where it is."""
    try:
        yield
    except FatalTaskError as error:
        reason, cause = error.reason, error.__cause__
        raise JobError(reason, str(error), path=path, file=file, limit=error.limit) from cause


def _invalid(task: str, text: str, *, path: Path = (), file: str = "", limit: str = "") -> JobError:
    message = f"task {shown_name(task)}: {text}"
    return JobError("ResourceValidationError", message, path=path, file=file, limit=limit)


def read_pod_template(name: str, text: str, budget: Budget) -> PodTemplate:
    """Return the pod that a template renders to.

    Args:
        name: Of the template.
        text: What it was rendered to: a pod, of which apiVersion and kind may be left out.
        budget: What reading it may cost.

    Raises:
        FatalTaskError: it is no pod; reason ResourceUnmarshalError. The message names what is
            wrong without quoting the document.
    """
    before = budget.nodes
    try:
        document = load(text, budget=budget, single=True)
    except YamlError as error:
        hint = "; make the pod smaller" if error.limit else ""
        raise _unreadable(name, f"{without_quotes(str(error))}{hint}", error.limit) from error
    if budget.nodes - before > POD_VALUES:
        raise _unreadable(name, f"it has more than {POD_VALUES} values; make it smaller", "nodes")
    if not isinstance(document, dict):
        raise _unreadable(name, "a pod must be a mapping")
    kind = document.get("apiVersion", "v1"), document.get("kind", "Pod")
    if kind != ("v1", "Pod"):
        raise _unreadable(name, f"it must be of v1, Kind=Pod and not of {kind[0]}, Kind={kind[1]}")
    for problem in _shape_problems(document):
        raise _unreadable(name, problem)
    return {"metadata": document.get("metadata") or {}, "spec": document["spec"]}


def _unreadable(name: str, problem: str, limit: str = "") -> FatalTaskError:
    text = f"template {name}: the pod cannot be read: {problem}"
    return FatalTaskError("ResourceUnmarshalError", text, limit=limit)


def _shape_problems(pod: JsonObject) -> Iterator[str]:
    """Yield fields that do not have the type with which a pod can be worked on."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec")
    if not isinstance(metadata, dict):
        yield "metadata is not a mapping"
        return
    for field in ("labels", "annotations"):
        if not isinstance(metadata.get(field) or {}, dict):
            yield f"metadata.{field} is not a mapping"
    if not isinstance(spec, dict):
        yield "it has no spec"
        return
    if not isinstance(spec.get("securityContext") or {}, dict):
        yield "spec.securityContext is not a mapping"
    for field in _LISTS:
        if not _is_list_of_mappings(spec.get(field) or []):
            yield f"spec.{field} is not a list of mappings"
            return
    for field in _LISTS[:2]:
        for number, container in enumerate(spec.get(field) or ()):
            yield from _container_problems(f"spec.{field}[{number}]", container)
    if problem := integer_problem(pod):
        yield problem


def _container_problems(at: str, container: JsonObject) -> Iterator[str]:
    context = container.get("securityContext") or {}
    if not isinstance(context, dict) or not isinstance(context.get("capabilities") or {}, dict):
        yield f"{at}.securityContext is not a mapping"
    for field in _OF_CONTAINERS:
        if not _is_list_of_mappings(container.get(field) or []):
            yield f"{at}.{field} is not a list of mappings"
            return
    for number, mount in enumerate(container.get("volumeMounts") or ()):
        if fault := text_fault(mount.get("mountPath")):
            yield f"{at}.volumeMounts[{number}].mountPath {fault}"


def _is_list_of_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
