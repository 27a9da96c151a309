"""Check that templates give objects in versions that today's Kubernetes serves.

A warning and no error: most are upgraded when they are applied, and an old cluster serves them all.
"""

import re
from collections.abc import Iterator
from typing import Final

from kudo.api import JsonObject
from kudo.objects.removed_apis import NoSuccessor, modernized, removed_in
from kudo.packages.model import Package
from kudo.verification.finding import Edit, Finding, Place, warning
from kudo.verification.rendered.rendering import RenderedObject, Rendering

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
