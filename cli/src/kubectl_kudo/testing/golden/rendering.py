"""Renders all plans of a package as the texts of its golden files."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from kubectl_kudo.commands.package.render import document
from kubectl_kudo.packages.install_checks import check_instance
from kubectl_kudo.packages.install_set import as_declared
from kubectl_kudo.session.output import JsonObject
from kudo.authoring.preview import Previewed, preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.location import locate
from kudo.packages.resolution import resolve

_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a package renders.

    Attributes:
        texts: Text of each file, by its path such as `deploy/main/app.yaml`.
        objects: All objects, for the values that are secret.
        unsteady: The files that are different each time.
    """

    texts: Mapping[str, str]
    objects: tuple[JsonObject, ...]
    unsteady: frozenset[str]


def render_package(folder: Path, given: Mapping[str, str]) -> Rendered:
    """Render all plans of a package.

    Args:
        folder: Of the package.
        given: Values of parameters; the others have their defaults.

    Raises:
        InvalidInput: the package cannot be read, or a value is missing or invalid.
        PreviewError: a template cannot be rendered.
    """
    first, second = list(_items(folder, given)), list(_items(folder, given))
    texts, again = _texts(first), _texts(second)
    return Rendered(
        texts=texts,
        objects=tuple(one.shown.object for one in first if one.shown.object is not None),
        # Random values and the time of day are another one each time.
        unsteady=frozenset(path for path in texts if texts[path] != again.get(path)),
    )


def _items(folder: Path, given: Mapping[str, str]) -> Iterator[Previewed]:
    objects = to_objects(resolve(locate(folder), None).root, _NAMESPACE)
    version, name = objects.operator_version, objects.instance.metadata.name
    values = as_declared(version, given)
    check_instance(name, version, values)
    instance = preview_instance(version, name, _NAMESPACE, values)
    for plan in version.plans:
        yield from preview(version, instance, plan)


def _texts(items: list[Previewed]) -> dict[str, str]:
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        at = item.position
        found[f"{'/'.join(map(_safe, (at.plan, at.phase, at.step)))}.yaml"].append(document(item))
    return {path: "".join(documents) for path, documents in found.items()}


def _safe(name: str) -> str:
    """Return a name as that of a file in its folder; the package chooses it."""
    quoted = quote(name, safe=" ")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted
