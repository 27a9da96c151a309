"""The Namespace that `install --create-namespace` creates, as the package describes it."""

from collections.abc import Mapping

from goyaml import YamlError, load
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import Forbidden, NotFound
from kubeio.kinds import NAMESPACES
from kudo.api import OperatorVersion
from kudo.api.problems import InvalidInput
from kudo.api.task_kinds import FatalTaskError
from kudo.packages.convert import PackageObjects
from kudo.packages.model import Package
from kudo.parameters.template import template_values
from kudo.tasks.rendering import render_named


async def check_new(session: Session) -> None:
    """Check that the namespace does not exist. Without permission to read it, creating it shows it.

    Raises:
        CliError: it exists.
    """
    if await namespace_exists(session):
        raise CliError(
            f'namespaces "{session.namespace}" already exists; leave out --create-namespace'
        )


async def namespace_exists(session: Session) -> bool:
    """Return whether the namespace exists; False if the user may not know."""
    try:
        await session.client.get(NAMESPACES, session.namespace)
    except (NotFound, Forbidden):
        return False
    return True


def new_namespace(
    package: Package, objects: PackageObjects, name: str, instance: str, values: Mapping[str, str]
) -> JsonObject:
    """Return the Namespace to create.

    Args:
        package: The package; its `namespaceManifest` gives labels and annotations.
        objects: The objects of the package.
        name: Name of the Namespace.
        instance: Name of the Instance, for the template.
        values: Parameters that are set; the template has the defaults of the others as well.

    Raises:
        CliError: the manifest cannot be rendered, or is no object.
    """
    file = package.operator.namespace_manifest
    given = _rendered(package, objects.operator_version, name, instance, values) if file else {}
    metadata = given.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise CliError(f'namespace manifest "{file}": metadata must be a mapping')
    annotations = {**(metadata.get("annotations") or {}), "created-by": "kudo-cli"}
    kept = {key: value for key, value in metadata.items() if key != "namespace"}
    return {
        **given,
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {**kept, "name": name, "annotations": annotations},
    }


def _rendered(
    package: Package,
    version: OperatorVersion,
    namespace: str,
    instance: str,
    values: Mapping[str, str],
) -> JsonObject:
    file, operator = package.operator.namespace_manifest, package.operator
    try:
        text = render_named(
            file,
            package.templates,
            {
                "Name": instance,
                "Namespace": namespace,
                "OperatorName": operator.name,
                "OperatorVersion": operator.operator_version,
                "AppVersion": operator.app_version,
                "Params": template_values(version.parameters, values),
            },
        )
        document = load(text)
    except (FatalTaskError, InvalidInput, YamlError) as error:
        raise CliError(f'failed to render namespace manifest "{file}": {error}') from error
    if not isinstance(document, dict):
        raise CliError(f'namespace manifest "{file}" is no object')
    return document
