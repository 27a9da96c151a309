"""Converts a package to the objects that installing it creates.

The checks are those that KUDO 0.19 makes at each installation, verified or not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kudo.api import (
    Instance,
    InstanceSpec,
    ObjectMeta,
    ObjectReference,
    Operator,
    OperatorSpec,
    OperatorVersion,
    OperatorVersionSpec,
    Parameter,
    Task,
    default_instance_name,
    operator_version_name,
)
from kudo.api.names import LABEL_OPERATOR
from kudo.api.problems import InvalidInput, Problem
from kudo.api.task_kinds import KINDS, kind_of, templates_of
from kudo.packages.files import OPERATOR_FILE
from kudo.packages.model import OperatorFile, Package, PackageParameter
from kudo.parameters.sources import to_text


@dataclass(frozen=True, slots=True)
class PackageObjects:
    """The objects of a package, before a server has given them uids."""

    operator: Operator
    operator_version: OperatorVersion
    instance: Instance


def to_objects(package: Package, namespace: str) -> PackageObjects:
    """Return the Operator, the OperatorVersion and the default Instance of `package`.

    The default of an array or map is null if the package gives none, as in the original, unless
    the package says `required: true`.

    Raises:
        InvalidInput: tasks are of an unknown kind, lack what their kind needs, or name templates
            that the package does not have; all of them are named.
    """
    problems = [
        Problem("PackageInvalid", message, OPERATOR_FILE)
        for task in package.operator.tasks
        for message in _task_faults(task, package)
    ]
    if problems:
        raise InvalidInput(problems)
    return PackageObjects(
        _operator(package.operator, namespace),
        _operator_version(package, namespace),
        _instance(package.operator, namespace),
    )


def _task_faults(task: Task, package: Package) -> Iterator[str]:
    if task.kind not in KINDS:
        yield f"unknown task kind {task.kind}"
    yield from kind_of(task).installation_problems(task)
    for use in templates_of(task):
        if use.name not in package.templates:
            yield f"task {task.name} missing template: {use.name}"


def _operator(file: OperatorFile, namespace: str) -> Operator:
    return Operator(
        metadata=ObjectMeta(name=file.name, namespace=namespace),
        spec=OperatorSpec(
            description=file.description or None,
            kudo_version=file.kudo_version or None,
            kubernetes_version=file.kubernetes_version or None,
            maintainers=file.maintainers or None,
            url=file.url or None,
            namespace_manifest=file.namespace_manifest or None,
        ),
    )


def _operator_version(package: Package, namespace: str) -> OperatorVersion:
    file = package.operator
    return OperatorVersion(
        metadata=ObjectMeta(name=_version_name(file), namespace=namespace),
        spec=OperatorVersionSpec(
            operator=ObjectReference(name=file.name, kind="Operator"),
            version=file.operator_version or None,
            app_version=file.app_version or None,
            templates=dict(package.templates) or None,
            tasks=file.tasks or None,
            parameters=tuple(map(_parameter, package.parameters)) or None,
            plans=file.plans,
            prune=file.prune,
        ),
    )


def _instance(file: OperatorFile, namespace: str) -> Instance:
    return Instance(
        metadata=ObjectMeta(
            name=default_instance_name(file.name),
            namespace=namespace,
            labels={LABEL_OPERATOR: file.name},
        ),
        spec=InstanceSpec(operator_version=ObjectReference(name=_version_name(file))),
    )


def _version_name(file: OperatorFile) -> str:
    return operator_version_name(file.name, file.operator_version, file.app_version)


def _parameter(parameter: PackageParameter) -> Parameter:
    return Parameter(
        name=parameter.name,
        display_name=parameter.display_name or None,
        description=parameter.description or None,
        required=parameter.required,
        default=to_text(parameter.default, parameter.type) if parameter.has_default else None,
        trigger=parameter.trigger or None,
        value_type=parameter.type or None,
        immutable=parameter.immutable,
        enum=_enum(parameter),
    )


def _enum(parameter: PackageParameter) -> tuple[str, ...] | None:
    if parameter.enum is None:
        return None
    return tuple(to_text(value, parameter.type) or "" for value in parameter.enum)
