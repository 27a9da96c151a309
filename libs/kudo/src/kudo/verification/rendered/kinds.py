"""Checks of the kinds that templates make: Namespaces, and API versions that were removed."""

import re
from collections.abc import Iterator
from typing import Final

from goyaml import load
from kudo.api import JsonObject
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.removed_apis import NoSuccessor, modernized, removed_in
from kudo.packages.model import Package
from kudo.verification.finding import (
    Edit,
    Finding,
    Place,
    at_template,
    in_operator,
    tolerated,
    warning,
)
from kudo.verification.rendered.rendering import RenderedObject, Rendering

_KIND: Final = "Namespace"
_AT_THE_MARGIN: Final = re.compile(rf"^kind:\s*(['\"]?){_KIND}\1\s*(?:#.*)?$", re.MULTILINE)
_SEPARATOR: Final = re.compile(r"\n---")


def only_the_manifest_is_a_namespace(rendering: Rendering) -> Iterator[Finding]:
    """Check the text, in whichever branch it is, and the objects that it renders to."""
    package = rendering.package
    for file, text in package.templates.items():
        if file == package.operator.namespace_manifest or _KIND not in text:
            continue
        match = _AT_THE_MARGIN.search(text)
        # The text has the kind in any branch; the objects have it also where a value gives it.
        made = any(item.object["kind"] == _KIND for item in rendering.found(file)[0])
        if match or made:
            message = (
                f"template \"{file}\" contains 'kind: Namespace' not allowed unless specified as "
                "'NamespaceManifest'"
            )
            line = text.count("\n", 0, match.start()) + 1 if match else 0
            yield tolerated("NamespaceNotAllowed", message, at_template(file, line))


def the_manifest_is_one_namespace(rendering: Rendering) -> Iterator[Finding]:
    package = rendering.package
    file = package.operator.namespace_manifest
    if file and file not in package.templates:
        message = f'NamespaceManifest "{file}" not found in /templates folder'
        yield tolerated("NamespaceManifestInvalid", message, in_operator("namespaceManifest"))
    elif file:
        message = _manifest_fault(file, rendering)
        if message:
            yield tolerated("NamespaceManifestInvalid", message, at_template(file))


def _manifest_fault(file: str, rendering: Rendering) -> str:
    try:
        kinds = list(_kinds(rendering.text(file)))
    except FatalTaskError:  # which the check of rendering reports
        return ""
    except ValueError:
        return f'Unable to marshal NamespaceManifest "{file}" '
    subject = f'NamespaceManifest "{file}" found but'
    if not kinds:
        return f"{subject} does not contain a manifest"
    if len(kinds) > 1:
        return f"{subject} contains {len(kinds)} manifests which is greater than 1"
    return "" if kinds == [_KIND] else f"{subject} manifest is not kind: {_KIND}"


def _kinds(text: str) -> Iterator[str]:
    """Yield the kind of each object; it needs no name, since the CLI names it.

    Raises:
        ValueError: the text holds something else than objects.
    """
    for chunk in _SEPARATOR.split("\n" + text):
        document = load(chunk) if chunk.strip() else None
        if document is None:
            continue
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise ValueError("no Kubernetes object")
        yield document["kind"]


_REASON: Final = "RemovedAPIVersion"


def versions_are_served(rendering: Rendering) -> Iterator[Finding]:
    """Check the objects that the templates render to; other checks report rendering errors."""
    no_objects = {task.spec.parameter_file for task in rendering.package.operator.tasks}
    for file in rendering.package.templates:
        if file not in no_objects:
            objects, fill = rendering.found(file)
            for item in objects:
                yield from _findings_of(item, rendering, fill=fill)


def _findings_of(item: RenderedObject, rendering: Rendering, *, fill: bool) -> Iterator[Finding]:
    old, kind = item.object["apiVersion"], item.object["kind"]
    try:
        new = modernized(item.object)
    except NoSuccessor as refusal:
        place = rendering.place(item, ("apiVersion",), fill=fill)
        yield warning(_REASON, f"{item} cannot be applied: {refusal}", place)
        return
    if new is not None:
        message = (
            f"{item} is in {old}, which was removed in Kubernetes {removed_in(old, kind)}; "
            f"it is applied as {new['apiVersion']}"
        )
        place = rendering.place(item, ("apiVersion",), fill=fill)
        edit = _edit(item, new, place, rendering.package)
        yield warning(_REASON, message, place, f"write it as {new['apiVersion']}", edit)


def _edit(item: RenderedObject, new: JsonObject, place: Place, package: Package) -> Edit | None:
    """Return the edit of an object of which nothing but the version changes."""
    old, version = item.object["apiVersion"], new["apiVersion"]
    text = package.templates[item.file]
    if {**new, "apiVersion": old} != item.object or not place.line:
        return None
    start = sum(len(line) for line in text.splitlines(keepends=True)[: place.line - 1])
    written = re.compile(rf"apiVersion:[ ]+{re.escape(old)}(?=\s)").match(text, start)
    if written is None:
        return None
    summary = f"changed apiVersion of {item} from {old} to {version}"
    return Edit(place.file, written.end() - len(old), written.end(), version, summary)
