"""Checks of the objects that templates render to with the defaults of the package."""

import re
from collections.abc import Iterator
from typing import Final

from kubeio.names import MAX_LABEL, MAX_SUBDOMAIN, is_subdomain
from kudo.api import JsonObject, bounds
from kudo.api.names import (
    ANNOTATION_APPLY_POLICY,
    ANNOTATION_DELETION_POLICY,
    ANNOTATION_SHOW_TERMINATION_MESSAGE,
)
from kudo.api.problems import path_text, shown, shown_name
from kudo.api.task_kinds import kind_of
from kudo.objects.policies import apply_policy_problem, policy_problem, problem_of
from kudo.packages.model import Package
from kudo.packages.source import Position, Source
from kudo.tasks.rendering import text_faults
from kudo.verification.finding import Finding, at_plan, at_task, at_template, error, warning
from kudo.verification.operator import steps_of
from kudo.verification.rendered.rendering import (
    NAMESPACE,
    RenderedObject,
    Rendering,
    without_objects,
)
from kudo.verification.templates import templates_of

_NAME: Final = ("metadata", "name")
_NAMESPACE: Final = ("metadata", "namespace")
_POLICY: Final = ("metadata", "annotations", ANNOTATION_DELETION_POLICY)
_APPLY_POLICY: Final = ("metadata", "annotations", ANNOTATION_APPLY_POLICY)
_SHOWN: Final = ("true", "false")
"""`false` is as good as none."""
_NOT_OF_A_POD: Final = (
    f"the annotation {ANNOTATION_SHOW_TERMINATION_MESSAGE} counts only for pods; "
    "set it in spec.template.metadata"
)
_METADATA: Final = ("metadata",)
_OF_PODS: Final = (
    ("spec", "template", "metadata"),
    ("spec", "jobTemplate", "spec", "template", "metadata"),
)
"""Where workloads have the metadata of their pods."""
_OF_WORKLOADS: Final = frozenset({"apps", "batch"})
"""Groups whose kinds have such pods."""
# DNS-1035: names of Services begin with a letter.
_SERVICE: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_PATH_SEGMENTS: Final = frozenset({"rbac.authorization.k8s.io"})
"""Groups whose names may contain anything but `/` and `%`."""
# Verification asks no cluster, so kinds of CRDs are known only by this list.
_CLUSTER_SCOPED: Final = frozenset(
    {
        *("Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding"),
        *("CustomResourceDefinition", "StorageClass", "PriorityClass", "IngressClass"),
        *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "RuntimeClass"),
        *("PodSecurityPolicy", "CSIDriver", "VolumeSnapshotClass", "ClusterIssuer"),
    }
)


def templates_are_not_empty(rendering: Rendering) -> Iterator[Finding]:
    package = rendering.package
    used = {file for task in package.operator.tasks for file in templates_of(task)}
    for file, text in package.templates.items():
        if file in used - without_objects(package) and not text.strip():
            message = f'template "{file}" is empty'
            yield warning("TemplateEmpty", message, at_template(file), "write an object into it")


def names_can_be_used(rendering: Rendering) -> Iterator[Finding]:
    """Check the names of objects by the rules of their kind."""
    for item, fill in _objects(rendering):
        name = item.object["metadata"]["name"]
        fault = _name_fault(item, name)
        if fault:
            message = f'{item.object["kind"]} "{shown_name(name)}" cannot have this name: {fault}'
            place = rendering.place(item, _NAME, fill=fill)
            yield error("ObjectNameInvalid", message, place)


def _name_fault(item: RenderedObject, name: str) -> str:
    group = _group(item)
    if group in _PATH_SEGMENTS:
        return 'use no "%" in it' if "%" in name else ""
    if (group, item.object["kind"]) == ("", "Service"):
        if _SERVICE.fullmatch(name) and len(name) <= MAX_LABEL:
            return ""
        return (
            f'use at most {MAX_LABEL} lower-case letters, digits and "-", with a letter at the '
            "beginning and a letter or digit at the end"
        )
    if is_subdomain(name):
        return ""
    return (
        f'use at most {MAX_SUBDOMAIN} lower-case letters, digits, "-" and ".", with a letter or '
        "digit at both ends"
    )


def namespaces_are_not_set(rendering: Rendering) -> Iterator[Finding]:
    """Objects get the namespace of their Instance, whatever a template says."""
    for item, fill in _objects(rendering):
        namespace = item.object["metadata"].get("namespace")
        # A template that asks for the namespace of its Instance says what happens anyway.
        if namespace in {None, "", NAMESPACE} or item.object["kind"] in _CLUSTER_SCOPED:
            continue
        message = (
            f'namespace "{shown_name(str(namespace))}" of {item} is replaced by that of the '
            "instance"
        )
        place = rendering.place(item, _NAMESPACE, fill=fill)
        yield warning("NamespaceOverridden", message, place, "remove the field")


def deletion_policies_are_known(rendering: Rendering) -> Iterator[Finding]:
    """A plan fails at an object with another policy than there is."""
    for item, fill in _objects(rendering):
        problem = policy_problem(item.object["metadata"])
        if problem:
            place = rendering.place(item, _POLICY, fill=fill)
            yield error("DeletionPolicyUnknown", f"{item}: {problem}", place)


def apply_policies_are_known(rendering: Rendering) -> Iterator[Finding]:
    """A plan fails at an object with another policy than there is, or that cannot have it."""
    for item, fill in _objects(rendering):
        namespaced = item.object["kind"] not in _CLUSTER_SCOPED
        problem = apply_policy_problem(item.object["metadata"], namespaced=namespaced)
        if problem:
            place = rendering.place(item, _APPLY_POLICY, fill=fill)
            yield error("ApplyPolicyInvalid", f"{item}: {problem}", place)


def labels_and_annotations_of_pods_are_texts(rendering: Rendering) -> Iterator[Finding]:
    """The API server refuses numbers and booleans: `1.10` and `yes` need quotes.

    Those of the object itself are checked wherever it is rendered.
    """
    for item, fill in _objects(rendering):
        for path in _OF_PODS if _group(item) in _OF_WORKLOADS else ():
            for field in ("labels", "annotations"):
                values = _mapping_at(item.object, path).get(field)
                at = (*path, field)
                for below, fault in text_faults(values):
                    message = f"{path_text((*at, *below))} of {item} {fault}"
                    place = rendering.place(item, (*at, *below), fill=fill)
                    yield error("LabelNotText", message, place)


def termination_messages_can_be_shown(rendering: Rendering) -> Iterator[Finding]:
    """An annotation with another value, or of an object that is no pod, shows nothing."""
    for item, fill in _objects(rendering):
        for path in (_METADATA, *_OF_PODS):
            metadata = _mapping_at(item.object, path)
            problem = problem_of(metadata, ANNOTATION_SHOW_TERMINATION_MESSAGE, _SHOWN)
            if path == _METADATA and item.object["kind"] != "Pod":
                has_it = ANNOTATION_SHOW_TERMINATION_MESSAGE in _mapping_at(
                    metadata, ("annotations",)
                )
                problem = _NOT_OF_A_POD if has_it else ""
            if problem:
                annotation = (*path, "annotations", ANNOTATION_SHOW_TERMINATION_MESSAGE)
                place = rendering.place(item, annotation, fill=fill)
                yield warning("TerminationMessageNotShown", f"{item}: {problem}", place)


def _mapping_at(obj: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """Return the mapping at a path; empty if there is none."""
    for name in path:
        below = obj.get(name)
        obj = below if isinstance(below, dict) else {}
    return obj


def objects_are_defined_once(rendering: Rendering) -> Iterator[Finding]:
    """Of two definitions of an object in one plan, the one that is applied last wins."""
    # Each template once, however many tasks apply it: rendering is what takes time.
    by_file = {file: rendering.found(file) for file in rendering.package.templates}
    reported: set[tuple[str, ...]] = set()
    for plan in rendering.package.operator.plans or {}:
        seen: dict[tuple[str, ...], RenderedObject] = {}
        for file in dict.fromkeys(_files_of(rendering.package, plan)):
            objects, fill = by_file.get(file, ((), False))
            for item in objects:
                # Without the version: the API server has one object for all versions of a kind.
                key = _group(item), item.object["kind"], item.object["metadata"]["name"]
                first = seen.setdefault(key, item)
                # Once for two templates, however many plans apply both.
                if first is item or (*key, first.file, file) in reported:
                    continue
                reported.add((*key, first.file, file))
                message = f'{item} is defined in template "{first.file}" as well, in plan "{plan}"'
                place = rendering.place(item, _NAME, fill=fill)
                yield warning("ObjectDuplicate", message, place, "give one of them another name")


def kinds_are_defined_before(rendering: Rendering) -> Iterator[Finding]:
    """A task looks up the kinds of all its objects before it applies the first one."""
    templates = rendering.package.templates
    for task in rendering.package.operator.tasks:
        if not kind_of(task).applies:
            continue
        files = [file for file in task.spec.resources or () if file in templates]
        rendered = [rendering.found(file) for file in files]
        items = [(item, fill) for objects, fill in rendered for item in objects]
        defined: dict[tuple[str, str], RenderedObject] = {}
        for item, _ in items:
            kind = _group(item), item.object["kind"]
            if kind == ("apiextensions.k8s.io", "CustomResourceDefinition"):
                spec = _mapping_at(item.object, ("spec",))
                named = str(_mapping_at(spec, ("names",)).get("kind"))
                defined[str(spec.get("group")), named] = item
        for item, fill in items:
            crd = defined.get((_group(item), item.object["kind"]))
            if crd is None:
                continue
            message = (
                f'{item} and the CRD of its kind, {crd}, are applied by one task, "{task.name}"; '
                "where the CRD does not exist before, the plan ends in FATAL_ERROR"
            )
            place = rendering.place(item, ("kind",), fill=fill)
            advice = "apply the CRD by a task of an earlier step"
            yield warning("KindDefinedTooLate", message, place, advice)


def objects_are_not_too_many(rendering: Rendering) -> Iterator[Finding]:
    """A plan would end before it sends anything."""
    by_file = {file: rendering.found(file)[0] for file in rendering.package.templates}
    for task in rendering.package.operator.tasks:
        files = dict.fromkeys(task.spec.resources or ())
        count = sum(len(by_file.get(file, ())) for file in files)
        if count > bounds.TASK_OBJECTS:
            message = f'task "{task.name}" has {count:,} objects, more than {bounds.TASK_OBJECTS:,}'
            yield error("TooManyObjects", message, at_task(task.name), "make several tasks of it")
    for plan in rendering.package.operator.plans or {}:
        number = sum(len(by_file.get(file, ())) for file in _files_of(rendering.package, plan))
        if number > bounds.INSTANCE_OBJECTS:
            message = (
                f'plan "{plan}" applies {number:,} objects, more than {bounds.INSTANCE_OBJECTS:,}'
            )
            suggestion = "make several packages of it"
            yield error("TooManyObjects", message, at_plan(plan), suggestion)


def _files_of(package: Package, plan: str) -> Iterator[str]:
    """Yield the templates that the tasks of a plan apply, once for each task of a step."""
    # Of two tasks of one name the first counts.
    tasks = {task.name: task for task in reversed(package.operator.tasks)}
    steps = steps_of((package.operator.plans or {})[plan])
    used = [tasks[name] for step in steps for name in step.tasks if name in tasks]
    for task in used:
        if kind_of(task).applies:
            yield from dict.fromkeys(task.spec.resources or ())


def keys_of_objects_are_unique(rendering: Rendering) -> Iterator[Finding]:
    """Of a key that comes twice in an object the last one counts."""
    for file in rendering.package.templates:
        objects, fill = rendering.found(file)
        lines = rendering.text(file, fill=fill).split("\n") if objects else []
        reported: set[int] = set()
        for item in objects:
            # The items of a List are of one document, whose keys are looked at once.
            if item.line in reported:
                continue
            reported.add(item.line)
            for entry in Source("\n".join(lines[item.line - 1 :])).entries:
                if entry.shadowed and entry.name != "<<":
                    at = item.line + Position.of(entry.key).line - 1
                    key = shown(path_text((*entry.path, entry.name)))
                    message = f'key "{key}" of {item} is given twice; only the last one counts'
                    place = rendering.place(item, fill=fill, line=at)
                    yield warning("KeyDuplicate", message, place, "remove one of them")


def _objects(rendering: Rendering) -> Iterator[tuple[RenderedObject, bool]]:
    """Yield the objects of all templates that tasks apply or delete."""
    skipped = without_objects(rendering.package)
    for file in rendering.package.templates:
        if file not in skipped:
            objects, fill = rendering.found(file)
            yield from ((item, fill) for item in objects)


def _group(item: RenderedObject) -> str:
    return str(item.object["apiVersion"]).rpartition("/")[0]
