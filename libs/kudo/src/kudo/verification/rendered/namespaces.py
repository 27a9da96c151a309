"""Checks of the namespace manifest, and that no other template makes a Namespace."""

import re
from collections.abc import Iterator
from typing import Final

from goyaml import load
from kudo.api.task_kinds import FatalTaskError
from kudo.verification.finding import Finding, at_template, in_operator, tolerated
from kudo.verification.rendered.rendering import Rendering

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
        made = next((one for one in rendering.found(file)[0] if one.object["kind"] == _KIND), None)
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
    found = f'NamespaceManifest "{file}" found but'
    if not kinds:
        return f"{found} does not contain a manifest"
    if len(kinds) > 1:
        return f"{found} contains {len(kinds)} manifests which is greater than 1"
    return "" if kinds == [_KIND] else f"{found} manifest is not kind: {_KIND}"


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
