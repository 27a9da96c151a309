"""From the templates of a task to Kubernetes objects.

    render -> split into documents -> read as YAML -> unwrap Lists

Objects come in the order of the task's `resources` and of the documents in each template.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gotemplate import Environment, TemplateError
from gotemplate.goyaml import YamlError, load
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.parameters import template_values
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
        FatalTaskError: a map or array parameter cannot be read; reason InvalidParams.
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
        "Pipes": {},
    }


def render_objects(
    resources: tuple[str, ...], templates: Mapping[str, str], values: Mapping[str, object]
) -> tuple[Manifest, ...]:
    """Render the named templates and read the objects in them.

    Raises:
        FatalTaskError: a template is missing, cannot be rendered, or gives no Kubernetes objects;
            the text names template, line and reason.
    """
    manifests: list[Manifest] = []
    for name in dict.fromkeys(resources):
        if name not in templates:
            raise FatalTaskError("TaskRenderingError", f"error finding resource named {name}")
        text = render(name, templates[name], values)
        manifests.extend(Manifest(name, item) for item in _objects(name, text))
    return tuple(manifests)


def render(name: str, text: str, values: Mapping[str, object]) -> str:
    """Render one template.

    Raises:
        FatalTaskError: with the template engine's error, which names line and column.
    """
    step = "parsing"
    try:
        template = _ENVIRONMENT.parse(name, text)
        step = "rendering"
        return template.render(values)
    except TemplateError as error:
        raise FatalTaskError(
            "TaskRenderingError",
            f"error expanding template {name}: error {step} template: {error}",
        ) from error


def _objects(template: str, text: str) -> Iterator[JsonObject]:
    for chunk in _DOCUMENT_SEPARATOR.split("\n" + text):
        if not chunk.strip():
            continue
        try:
            document = load(chunk)
        except YamlError as error:
            raise _unreadable(template, chunk, str(error)) from error
        if document is not None:
            yield from _unwrapped(template, chunk, document)


def _unwrapped(template: str, chunk: str, document: object) -> Iterator[JsonObject]:
    if not isinstance(document, dict):
        raise _unreadable(template, chunk, "a Kubernetes object must be a mapping")
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _unwrapped(template, chunk, item)
        return
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str) or not document[field]:
            raise _unreadable(template, chunk, f"Object '{field}' is missing")
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise _unreadable(
            template,
            chunk,
            "metadata.name is missing; an object that is applied needs a name "
            "(generateName would create another one on each run)",
        )
    for number in _too_large(document):
        raise _unreadable(template, chunk, f"the integer {number} does not fit into 64 bits")
    yield document


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


def _unreadable(template: str, chunk: str, reason: str) -> FatalTaskError:
    first_lines = chunk.strip()[:120]
    return FatalTaskError(
        "TaskRenderingError",
        f'parsing YAML from {template}: decoding chunk "{first_lines}" failed: {reason}',
    )
