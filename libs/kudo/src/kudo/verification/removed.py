"""Check that templates give objects in versions that today's Kubernetes serves.

A warning and no error: most are upgraded when they are applied, and an old cluster serves them all.
"""

from collections.abc import Iterator
from typing import Final

from kudo.packages import Package
from kudo.removed_apis import NoSuccessor, modernized, removed_in
from kudo.rendering import Manifest, render_objects
from kudo.tasks import FatalTaskError
from kudo.verification.finding import Finding, at_template, warning
from kudo.verification.rendered import Values, values_of

_REASON: Final = "RemovedAPIVersion"


def versions_are_served(package: Package) -> Iterator[Finding]:
    """Check the objects that the templates render to; other checks report rendering errors."""
    strict, filled = values_of(package), values_of(package, fill=True)
    no_objects = {task.spec.parameter_file for task in package.operator.tasks}
    for file, text in package.templates.items():
        if file not in no_objects:
            manifests = _rendered(file, text, strict) or _rendered(file, text, filled)
            for manifest in manifests:
                yield from _findings_of(file, manifest)


def _rendered(file: str, text: str, values: Values) -> tuple[Manifest, ...]:
    try:
        return render_objects((file,), {file: text}, values)
    except FatalTaskError:
        return ()


def _findings_of(file: str, manifest: Manifest) -> Iterator[Finding]:
    old, kind = manifest.object["apiVersion"], manifest.object["kind"]
    what = f'{kind} "{manifest.object["metadata"]["name"]}"'
    try:
        new = modernized(manifest.object)
    except NoSuccessor as refusal:
        yield warning(_REASON, f"{what} cannot be applied: {refusal}", at_template(file))
        return
    if new is not None:
        message = (
            f"{what} is in {old}, which was removed in Kubernetes {removed_in(old, kind)}; "
            f"it is applied as {new['apiVersion']}"
        )
        yield warning(_REASON, message, at_template(file))
