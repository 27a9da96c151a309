"""The child Instance that a KudoOperator task describes, and its manifest."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubeio.names import is_subdomain
from kudo.api import Instance, JsonObject, OperatorVersion, Task, names, operator_version_name
from kudo.api.task_kinds import FatalTaskError

VersionKey = tuple[str, str]
"""Namespace and name of an OperatorVersion."""


@dataclass(frozen=True, slots=True)
class Child:
    """The Instance that a task describes.

    Attributes:
        task: Name of the task, for messages.
        namespace, name: Of the Instance.
        operator: Name of its operator.
        version: Its OperatorVersion.
        parameters: What the parameter file sets, as Instances store it.
        account: `spec.serviceAccountName` of the parent; None if it has none.
    """

    task: str
    namespace: str
    name: str
    operator: str
    version: VersionKey
    parameters: Mapping[str, str]
    account: str | None = None

    def __str__(self) -> str:
        return f"Instance {self.namespace}/{self.name}"


def child_of(
    task: Task, parent: Instance, version: OperatorVersion, parameters: Mapping[str, str]
) -> Child:
    """Return the child that a task describes.

    Its OperatorVersion is that of package, appVersion and operatorVersion as the task has them, in
    the namespace of the parent's OperatorVersion: they were installed together.

    Args:
        task: A KudoOperator task.
        parent: The Instance whose plan has the task.
        version: The OperatorVersion of the parent.
        parameters: What the parameter file sets.

    Raises:
        FatalTaskError: no Instance can have the name; TaskEnhancementError.
    """
    operator = task.spec.package or ""
    name = task.spec.instance_name or f"{parent.metadata.name}-{operator}"
    if not is_subdomain(name):
        text = f"task {task.name}: '{name}' cannot be the name of an Instance; set instanceName"
        raise FatalTaskError("TaskEnhancementError", text)
    return Child(
        task=task.name,
        namespace=parent.metadata.namespace,
        name=name,
        operator=operator,
        version=version_of(task, version),
        parameters=parameters,
        account=parent.spec.service_account_name or None,
    )


def version_of(task: Task, version: OperatorVersion) -> VersionKey:
    """Return the OperatorVersion that a KudoOperator task of a version refers to."""
    spec = task.spec
    name = operator_version_name(
        spec.package or "", spec.operator_version or "", spec.app_version or ""
    )
    return version.metadata.namespace, name


def manifest(
    child: Child, parent: Instance, uid: str, version: VersionKey, parameters: Mapping[str, str]
) -> JsonObject:
    """Return the Instance to apply.

    Args:
        child: The child.
        parent: Its parent.
        uid: Execution of the parent that sends it.
        version: The OperatorVersion it gets; only its name is written where the child finds it in
            its own namespace.
        parameters: The parameters it gets from us.
    """
    namespace, name = version
    reference = {"name": name}
    if namespace != child.namespace:
        reference["namespace"] = namespace
    spec: JsonObject = {"operatorVersion": reference}
    if parameters:
        spec["parameters"] = dict(parameters)
    if child.account:
        spec["serviceAccountName"] = child.account
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Instance",
        "metadata": {
            "namespace": child.namespace,
            "name": child.name,
            "labels": {names.LABEL_OPERATOR: child.operator},
            "annotations": {names.ANNOTATION_PLAN_UID: uid},
            "ownerReferences": [_owner(parent)],
        },
        "spec": spec,
    }


def execution_of(metadata: Mapping[str, object]) -> str:
    """Return the execution of the parent that sent a child last; empty if the original did."""
    annotations = metadata.get("annotations")
    found = annotations.get(names.ANNOTATION_PLAN_UID) if isinstance(annotations, dict) else None
    return str(found or "")


def _owner(parent: Instance) -> JsonObject:
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Instance",
        "name": parent.metadata.name,
        "uid": parent.metadata.uid,
    }
