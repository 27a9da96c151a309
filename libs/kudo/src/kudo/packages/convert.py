"""Converts a package to the objects that installing it creates.

The checks are those that KUDO 0.19 makes at each installation, verified or not.
"""

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
    Plan,
    default_instance_name,
    operator_version_name,
)
from kudo.api.names import LABEL_OPERATOR
from kudo.api.problems import InvalidInput, Problem
from kudo.api.task_kinds import KINDS, kind_of, templates_of
from kudo.packages.files import OPERATOR_FILE
from kudo.packages.model import Package, PackageParameter, PackagePlan
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
    file = package.operator
    problems: list[Problem] = []
    for task in file.tasks:
        faults = [] if task.kind in KINDS else [f"unknown task kind {task.kind}"]
        faults += kind_of(task).installation_problems(task)
        faults += [
            f"task {task.name} missing {use.what}: {use.name}"
            for use in templates_of(task)
            if use.name not in package.texts
        ]
        problems += [Problem("PackageInvalid", fault, OPERATOR_FILE) for fault in faults]
    if problems:
        raise InvalidInput(problems)
    # Texts that the package leaves out are left out of the objects too, as the original has them.
    version_name = operator_version_name(file.name, file.operator_version, file.app_version)
    operator = Operator(
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
    operator_version = OperatorVersion(
        metadata=ObjectMeta(name=version_name, namespace=namespace),
        spec=OperatorVersionSpec(
            operator=ObjectReference(name=file.name, kind="Operator"),
            version=file.operator_version or None,
            app_version=file.app_version or None,
            templates=dict(package.texts) or None,
            tasks=file.tasks or None,
            parameters=tuple(map(_parameter, package.parameters)) or None,
            plans=None
            if file.plans is None
            else {name: _plan(plan) for name, plan in file.plans.items()},
            prune=file.prune,
        ),
    )
    instance = Instance(
        metadata=ObjectMeta(
            name=default_instance_name(file.name),
            namespace=namespace,
            labels={LABEL_OPERATOR: file.name},
        ),
        spec=InstanceSpec(operator_version=ObjectReference(name=version_name)),
    )
    return PackageObjects(operator, operator_version, instance)


def _plan(plan: PackagePlan) -> Plan:
    return Plan(
        strategy=plan.strategy,
        phases=plan.phases,
        timeout=plan.timeout,
        parameters=tuple(map(_parameter, plan.parameters or ())) or None,
    )


def _parameter(parameter: PackageParameter) -> Parameter:
    # Values of YAML become the texts that Instances store, so that they can be compared.
    enum = parameter.enum
    if enum is not None:
        enum = tuple(to_text(value, parameter.type) or "" for value in enum)
    return Parameter(
        name=parameter.name,
        display_name=parameter.display_name or None,
        description=parameter.description or None,
        required=parameter.required,
        default=to_text(parameter.default, parameter.type) if parameter.has_default else None,
        trigger=parameter.trigger or None,
        value_type=parameter.type or None,
        immutable=parameter.immutable,
        secret=parameter.secret or None,
        on_change=parameter.on_change or None,
        enum=enum,
        **parameter.bounds,
    )
