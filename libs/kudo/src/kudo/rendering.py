"""From the templates of a task to Kubernetes objects.

    render -> split into documents -> read as YAML -> unwrap Lists

Objects come in the order of the task's `resources` and of the documents in each template.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gotemplate import Environment, TemplateError
from gotemplate.goyaml import YamlError, load
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.parameters import template_values
from kudo.pipe import pipes
from kudo.problems import InvalidInput
from kudo.tasks import FatalTaskError

_DOCUMENT_SEPARATOR = re.compile(r"\n---")
_ENVIRONMENT = Environment(policy="operator", missing_key="error")


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as a template gives it.

    Attributes:
        template: Name of the template, for messages.
        object: The object, with apiVersion, kind and metadata.name present.
    """

    template: str
    object: JsonObject

    def __str__(self) -> str:
        metadata = self.object["metadata"]
        return f"{self.object['kind']} {metadata['name']} of template {self.template}"


def variables(
    instance: Instance, version: OperatorVersion, *, plan: str, phase: str, step: str
) -> dict[str, object]:
    """Return what templates of a task can refer to.

    Raises:
        FatalTaskError: a map or array parameter cannot be read, reason InvalidParams; or the
            artifacts of the plan's Pipe tasks cannot be named, reason InvalidPlan.
    """
    try:
        parameters = template_values(version.parameters, instance.parameters)
    except InvalidInput as error:
        raise FatalTaskError("InvalidParams", f"could not parse parameters: {error}") from error
    return {
        "OperatorName": version.operator_name,
        "Name": instance.metadata.name,
        "Namespace": instance.metadata.namespace,
        "AppVersion": version.spec.app_version or "",
        "OperatorVersion": version.spec.version or "",
        "PlanName": plan,
        "PhaseName": phase,
        "StepName": step,
        "Params": parameters,
        "Pipes": pipes(instance.metadata.name, plan, version),
    }


def render_objects(
    resources: tuple[str, ...],
    templates: Mapping[str, str],
    values: Mapping[str, object],
    *,
    expired: Callable[[], bool] | None = None,
) -> tuple[Manifest, ...]:
    """Render the named templates and read the objects in them.

    Args:
        resources: Names of templates; one that is named twice counts once.
        templates: Their texts.
        values: What they can refer to.
        expired: Asked now and then whether rendering has taken too long.

    Raises:
        FatalTaskError: a template is missing, cannot be rendered, or gives no Kubernetes objects;
            the text names template, line and reason.
    """
    manifests: list[Manifest] = []
    for name in dict.fromkeys(resources):
        text = render_named(name, templates, values, expired=expired)
        manifests.extend(Manifest(name, item) for item in _objects(name, text))
    return tuple(manifests)


def render_named(
    name: str,
    templates: Mapping[str, str],
    values: Mapping[str, object],
    *,
    expired: Callable[[], bool] | None = None,
) -> str:
    """Render one of the templates.

    Raises:
        FatalTaskError: there is none of this name, or it cannot be rendered.
    """
    if name not in templates:
        raise FatalTaskError("TaskRenderingError", f"error finding resource named {name}")
    return render(name, templates[name], values, expired=expired)


def render(
    name: str,
    text: str,
    values: Mapping[str, object],
    *,
    expired: Callable[[], bool] | None = None,
) -> str:
    """Render one template.

    Raises:
        FatalTaskError: with the template engine's error, which names line and column.
    """
    step = "parsing"
    try:
        template = _ENVIRONMENT.parse(name, text)
        step = "rendering"
        return template.render(values, expired=expired)
    except TemplateError as error:
        raise FatalTaskError(
            "TaskRenderingError",
            f"error expanding template {name}: error {step} template: {error}",
        ) from error


def _objects(template: str, text: str) -> Iterator[JsonObject]:
    chunks = [chunk for chunk in _DOCUMENT_SEPARATOR.split("\n" + text) if chunk.strip()]
    for number, chunk in enumerate(chunks, 1):
        try:
            document = load(chunk)
        except YamlError as error:
            raise _unreadable(template, number, str(error)) from error
        if document is not None:
            for item in _unwrapped(template, number, document):
                problem = _shape_problem(item)
                if problem is not None:
                    raise _unreadable(template, number, problem)
                yield item


def _unwrapped(template: str, number: int, document: object) -> Iterator[JsonObject]:
    if not isinstance(document, dict):
        raise _unreadable(template, number, "a Kubernetes object must be a mapping")
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _unwrapped(template, number, item)
        return
    yield document


def _shape_problem(document: JsonObject) -> str | None:
    """Return what keeps a mapping from being an object that can be applied."""
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str) or not document[field]:
            return f"Object '{field}' is missing"
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        return (
            "metadata.name is missing; an object that is applied needs a name "
            "(generateName would create another one on each run)"
        )
    if name in {".", ".."} or "/" in name:
        return f"metadata.name {name!r} is no name of an object"
    owners = metadata.get("ownerReferences")
    if owners is not None and not _is_list_of_mappings(owners):
        return "metadata.ownerReferences is no list of mappings"
    if metadata.get("namespace") is not None and not isinstance(metadata["namespace"], str):
        return "metadata.namespace is no text"
    number = next(_too_large(document), None)
    return None if number is None else f"the integer {number} does not fit into 64 bits"


def _is_list_of_mappings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _too_large(value: object) -> Iterator[int]:
    """Yield the integers that JSON for the API server cannot hold."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _too_large(item)
    elif isinstance(value, list):
        for item in value:
            yield from _too_large(item)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield value


def _unreadable(template: str, number: int, reason: str) -> FatalTaskError:
    """Return the error for a document; its text stays out, since it may be a Secret."""
    return FatalTaskError(
        "TaskRenderingError",
        f"parsing YAML from {template}: decoding chunk {number} failed: {reason}",
    )
