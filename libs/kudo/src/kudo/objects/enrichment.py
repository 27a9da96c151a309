"""Adds labels, annotations, namespace and owner to an object before it is applied.

Labels and annotations overwrite what the template says; selectors are never touched. Objects
that are cluster-scoped get no owner, since an owner must live in the same namespace. Nor do
retained objects: an annotation says whose they are.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kudo.api import JsonObject, names
from kudo.api.identity import identity
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.adoption import Retention
from kudo.objects.policies import apply_policy_problem, is_retained, policy_problem
from kudo.objects.removed_apis.conversions import copied

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import Instance, OperatorVersion

_POD_TEMPLATE = ("spec", "template", "metadata")
_CRON_POD_TEMPLATE = ("spec", "jobTemplate", "spec", "template", "metadata")
_WORKLOADS = {
    ("apps", "StatefulSet"): _POD_TEMPLATE,
    ("apps", "Deployment"): _POD_TEMPLATE,
    ("*", "ReplicaSet"): _POD_TEMPLATE,
    ("*", "ReplicationController"): _POD_TEMPLATE,
    ("*", "DaemonSet"): _POD_TEMPLATE,
    ("batch", "Job"): _POD_TEMPLATE,
    ("batch", "CronJob"): _CRON_POD_TEMPLATE,
}
"""Where workloads keep the metadata of their pods, by group and kind."""
_SERVER_FIELDS = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Metadata that the API server writes; a template that was copied from a cluster may hold it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The run that an object is applied by."""

    instance: "Instance"
    version: "OperatorVersion"
    plan: str
    phase: str
    step: str
    uid: str

    @property
    def labels(self) -> dict[str, str]:
        return {
            names.LABEL_HERITAGE: names.HERITAGE,
            names.LABEL_OPERATOR: self.version.operator_name,
            names.LABEL_INSTANCE: self.instance.metadata.name,
        }

    @property
    def annotations(self) -> dict[str, str]:
        return {
            names.ANNOTATION_PLAN: self.plan,
            names.ANNOTATION_PHASE: self.phase,
            names.ANNOTATION_STEP: self.step,
            names.ANNOTATION_PLAN_UID: self.uid,
        }

    @property
    def owner(self) -> JsonObject:
        return {
            "apiVersion": names.API_VERSION,
            "kind": "Instance",
            "name": self.instance.metadata.name,
            "uid": self.instance.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    @property
    def retention(self) -> Retention:
        return Retention.of(identity(self.instance), self.version.operator_name)


def enrich(source: JsonObject, origin: Origin, *, namespaced: bool) -> JsonObject:
    """Return the object to apply; `source` stays as it is.

    Raises:
        FatalTaskError: the template names another controller as owner, a deletion or apply
            policy that there is not, or a kind that only KUDO writes; TaskEnhancementError.
    """
    target: JsonObject = copied(source)
    for field in _SERVER_FIELDS:
        target["metadata"].pop(field, None)
    _refuse_own_kinds(target, origin)
    metadata = target["metadata"]
    problem = policy_problem(metadata) or apply_policy_problem(metadata, namespaced=namespaced)
    if problem:
        text = f"{target['kind']} {metadata['name']}: {problem}"
        raise FatalTaskError("TaskEnhancementError", text)
    _add(target, ("metadata",), "labels", origin.labels)
    _add(target, ("metadata",), "annotations", origin.annotations)
    for path in _pod_metadata(target):
        _add(target, path, "labels", origin.labels)
        version = {names.ANNOTATION_OPERATOR_VERSION: origin.version.spec.version or ""}
        _add(target, path, "annotations", version)
    if (_group(target), target["kind"]) == ("apps", "StatefulSet"):
        # The controller copies these labels to the claims, which stay when the set is deleted.
        for claim in _walk(target, ("spec", "volumeClaimTemplates")) or ():
            if isinstance(claim, dict):
                _add(claim, ("metadata",), "labels", origin.labels)
    if namespaced:
        _own(target, origin)
    if isinstance(metadata.get("annotations"), dict):
        # Whose a retained object is cannot be said by a template.
        metadata["annotations"].pop(names.ANNOTATION_RETAINED_BY, None)
    if namespaced and is_retained(metadata):
        # A cluster-scoped object has its sharers instead: each would write another value.
        retained_by = {names.ANNOTATION_RETAINED_BY: str(origin.retention)}
        _add(target, ("metadata",), "annotations", retained_by)
    return target


def annotate_pods(source: JsonObject, annotations: dict[str, str]) -> JsonObject:
    """Return a workload with annotations added to its pods; other kinds as they are."""
    target: JsonObject = copied(source)
    for path in _pod_metadata(target):
        _add(target, path, "annotations", annotations)
    return target


def encode_string_data(source: JsonObject) -> JsonObject:
    """Return a Secret with its stringData as data; any other object as it is.

    To be done last before the object is sent: a key dropped from stringData would stay for ever,
    and the hash of the content is over stringData as such.

    Raises:
        FatalTaskError: stringData holds something else than texts; TaskEnhancementError.
    """
    if (source["apiVersion"], source["kind"]) != ("v1", "Secret") or "stringData" not in source:
        return source
    target = {key: value for key, value in source.items() if key != "stringData"}
    texts, data = source["stringData"] or {}, source.get("data") or {}
    name = source["metadata"]["name"]
    if not isinstance(texts, dict) or not isinstance(data, dict):
        text = f"Secret {name}: data and stringData must be mappings"
        raise FatalTaskError("TaskEnhancementError", text)
    wrong = [key for key, text in texts.items() if not isinstance(text, str)]
    if wrong:
        named = ", ".join(wrong)
        text = f"Secret {name}: values of stringData must be strings; put quotes around {named}"
        raise FatalTaskError("TaskEnhancementError", text)
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {**target, "data": {**data, **encoded}} if encoded else target


def _pod_metadata(target: JsonObject) -> Iterator[tuple[str, ...]]:
    group, kind = _group(target), target["kind"]
    path = _WORKLOADS.get((group, kind)) or _WORKLOADS.get(("*", kind))
    if path is not None and isinstance(_walk(target, path[:-1]), dict):
        yield path


def _group(target: JsonObject) -> str:
    group, slash, _ = str(target["apiVersion"]).partition("/")
    return group if slash else ""


def _walk(value: object, path: tuple[str, ...]) -> list[JsonObject] | JsonObject | None:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, dict | list) else None


def _add(target: JsonObject, path: tuple[str, ...], key: str, values: dict[str, str]) -> None:
    for part in path:
        child = target.setdefault(part, {})
        if child is None:
            child = target[part] = {}
        if not isinstance(child, dict):
            return
        target = child
    present = target.get(key) or {}
    if isinstance(present, dict):
        target[key] = {**present, **values}


def _own(target: JsonObject, origin: Origin) -> None:
    metadata = target["metadata"]
    metadata["namespace"] = origin.instance.metadata.namespace
    owners = metadata.get("ownerReferences") or []
    foreign = [o for o in owners if o.get("controller") and o.get("uid") != origin.owner["uid"]]
    if foreign:
        raise FatalTaskError(
            "TaskEnhancementError",
            f"Object {metadata['namespace']}/{metadata['name']} is already owned by another "
            f"{foreign[0].get('kind')} controller {foreign[0].get('name')}",
        )
    others = [owner for owner in owners if owner.get("uid") != origin.owner["uid"]]
    owned = others if is_retained(metadata) else [*others, origin.owner]
    metadata.pop("ownerReferences", None)
    if owned:
        metadata["ownerReferences"] = owned


def _refuse_own_kinds(target: JsonObject, origin: Origin) -> None:
    """Refuse Inventories, and Instances by which a template would control runs."""
    if _group(target) != names.GROUP:
        return
    kind, name, spec = target["kind"], target["metadata"]["name"], target.get("spec")
    if kind == "Inventory":
        # In compat they would be written with the rights of the reconciler.
        text = f"Inventory {name}: only KUDO writes Inventories; remove the template"
        raise FatalTaskError("TaskEnhancementError", text)
    is_own = name == origin.instance.metadata.name
    if kind == "Instance" and (is_own or (isinstance(spec, dict) and "planExecution" in spec)):
        # A run that changes its own Instance would start itself, or others past admission.
        text = "a template may neither apply the Instance that it belongs to nor set planExecution"
        raise FatalTaskError("TaskEnhancementError", f"Instance {name}: {text}")


def execution_of(obj: JsonObject) -> str:
    """Return the uid of the execution that an object was last applied in; empty if of none."""
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(names.ANNOTATION_PLAN_UID, ""))
