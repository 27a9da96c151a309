"""The objects that a package and its dependencies install."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubectl_kudo.packages.install_checks import check_instance, check_package
from kubectl_kudo.session.kinds import OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject
from kubeio.resource import Resource
from kudo.api import OperatorVersion
from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.resolution import Resolution
from kudo.parameters.sources import with_plain_booleans


@dataclass(frozen=True, slots=True)
class InstallSet:
    """The objects to install; without Instances of dependencies, which plans create.

    Attributes:
        root: Of the package itself.
        dependencies: Of each package that it depends on and that is installed with it.
    """

    root: PackageObjects
    dependencies: tuple[PackageObjects, ...] = ()

    @property
    def all(self) -> tuple[PackageObjects, ...]:
        return (self.root, *self.dependencies)

    def in_order(self) -> Iterator[tuple[Resource, JsonObject]]:
        """Yield all objects but the Instance, the package's own OperatorVersion as the last.

        An Operator with several versions comes once.
        """
        yield OPERATORS, self.root.operator.to_wire()
        operators = {self.root.operator.metadata.name}
        for needed in self.dependencies:
            if needed.operator.metadata.name not in operators:
                operators.add(needed.operator.metadata.name)
                yield OPERATORS, needed.operator.to_wire()
            yield OPERATOR_VERSIONS, needed.operator_version.to_wire()
        yield OPERATOR_VERSIONS, self.root.operator_version.to_wire()


def install_set_of(resolution: Resolution, namespace: str) -> InstallSet:
    """Return the objects of a package and its dependencies, after checking them.

    Raises:
        InvalidInput: tasks lack what their kind needs.
        CliError: names are invalid, or a package lacks its version.
    """
    packages = (resolution.root, *resolution.dependencies)
    root, *dependencies = [to_objects(package, namespace) for package in packages]
    for objects in (root, *dependencies):
        check_package(objects)
    return InstallSet(root, tuple(dependencies))


def versions_of(install_set: InstallSet) -> dict[tuple[str, str], OperatorVersion]:
    """Return the OperatorVersions to install, by namespace and name."""
    versions = (objects.operator_version for objects in install_set.all)
    return {(one.metadata.namespace, one.metadata.name): one for one in versions}


def checked_instance(install_set: InstallSet, name: str, values: dict[str, str]) -> JsonObject:
    """Return the Instance to create; an empty name means the default one.

    Raises:
        CliError: it would be denied, or sets parameters that the package does not declare.
    """
    wire = install_set.root.instance.to_wire()
    wire["metadata"]["name"] = name or wire["metadata"]["name"]
    version = install_set.root.operator_version
    wire["spec"]["parameters"] = declared = as_declared(version, values)
    check_instance(wire["metadata"]["name"], version, declared)
    return wire


def as_declared(version: OperatorVersion, values: Mapping[str, str]) -> dict[str, str]:
    """Return the values as a version stores them: those of booleans as `true` and `false`."""
    booleans = {one.name for one in version.parameters if one.value_type == "boolean"}
    return with_plain_booleans(booleans, values)
