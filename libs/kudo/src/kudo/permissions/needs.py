"""Finds what the tasks of all plans send, by rendering their templates.

Children are included: they inherit the account, or act as the same default of the namespace. What
cannot be rendered is searched for kinds in its text, and noted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kudo import names
from kudo.api import Instance, InstanceSpec, JsonObject, ObjectMeta, OperatorVersion, Task
from kudo.children import Child, VersionKey, child_of
from kudo.health import has_pods
from kudo.objects.dependency_hash import dependencies_of
from kudo.objects.inventory.pruning import may_be_pruned, prunes
from kudo.objects.sharing import goes_with_instance
from kudo.parameters import parse_parameter_file
from kudo.permissions.grants import RBAC, add_grants
from kudo.permissions.model import Action, Kind, Need, Needs, Rule, Served
from kudo.permissions.named import named_in
from kudo.permissions.texts import is_kind, plain
from kudo.pipe import read_pod
from kudo.problems import InvalidInput
from kudo.rendering import Engine, read_objects, render_named, variables
from kudo.tasks import FatalTaskError

Versions = Callable[[VersionKey], OperatorVersion | None]
Values = Mapping[str, object]

_INSTANCES: Final = 50
"""Instances of one tree that are rendered."""
_RENDERINGS: Final = 2000
_ERROR: Final = 300
_TOO_LONG: Final = "not all templates were rendered, since that would take too long"
_PODS: Final = Kind("v1", "Pod")
_REPLICA_SETS: Final = Kind("apps/v1", "ReplicaSet")
_INSTANCE: Final = Kind(names.API_VERSION, "Instance")
_INVENTORY: Final = (names.GROUP, "Inventory")
_DEPENDENCIES: Final = {"ConfigMap": Kind("v1", "ConfigMap"), "Secret": Kind("v1", "Secret")}
_WORKLOADS: Final = frozenset(
    {
        *("CronJob", "DaemonSet", "Deployment", "Job"),
        *("ReplicaSet", "ReplicationController", "StatefulSet"),
    }
)
_OWNING: Final = frozenset({"Apply", "Toggle", "Pipe"})
_WITH_TEMPLATES: Final = {
    "Apply": Action.APPLY,
    "Delete": Action.DELETE,
    "Toggle": Action.TOGGLE,
}


def needs_of(
    version: OperatorVersion,
    instance: Instance,
    versions: Versions,
    *,
    expired: Callable[[], bool] | None = None,
) -> Needs:
    """Return what all plans of an Instance, and those of its children, send as their account.

    Args:
        version: Its OperatorVersion.
        instance: The Instance, with the values of its parameters.
        versions: Finds the OperatorVersions of its children; None if there is none.
        expired: Asked now and then whether rendering has taken too long; what is left is noted.
    """
    tree = _Tree(versions, expired or _never)
    tree.add(version, instance)
    while tree.waiting:
        tree.add(*tree.waiting.pop(0))
    return tree.needs


def _never() -> bool:
    return False


class _Tree:
    """What the Instances of a tree need.

    Attributes:
        needs: What was found.
        waiting: Children that have not been looked at.
    """

    def __init__(self, versions: Versions, expired: Callable[[], bool]) -> None:
        self.needs = Needs()
        self.waiting: list[tuple[OperatorVersion, Instance]] = []
        self.versions = versions
        self.expired = expired
        self._known: set[tuple[VersionKey, str]] = set()
        self._renderings = 0

    def add(self, version: OperatorVersion, instance: Instance) -> None:
        """Add what the plans of one Instance need."""
        tasks = version.tasks
        known = self._known
        known.add(((version.metadata.namespace, version.metadata.name), instance.metadata.name))
        plans = _Plans(self, version, instance, tasks)
        plans.add_all()

    def add_child(self, child: Child, source: str) -> None:
        """Have a child looked at, unless it was."""
        if (child.version, child.name) in self._known:
            return
        self._known.add((child.version, child.name))
        found = self.versions(child.version)
        if found is None or len(self._known) > _INSTANCES:
            why = "does not exist" if found is None else "is one of too many children"
            self.needs.note(
                f"{source}: OperatorVersion {plain('/'.join(child.version))} {why}: what the plans "
                "of the child need is not in this list"
            )
            return
        self.waiting.append((found, _instance_of(child)))

    def may_render(self) -> bool:
        """Count a rendering; return whether it may be done."""
        self._renderings += 1
        return self._renderings <= _RENDERINGS and not self.expired()


def _instance_of(child: Child) -> Instance:
    return Instance(
        metadata=ObjectMeta(name=child.name, namespace=child.namespace),
        spec=InstanceSpec(
            operator_version={"name": child.version[1], "namespace": child.version[0]},
            parameters=dict(child.parameters) or None,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Plans:
    """The plans of one Instance."""

    tree: _Tree
    version: OperatorVersion
    instance: Instance
    tasks: Mapping[str, Task]

    @property
    def needs(self) -> Needs:
        return self.tree.needs

    @property
    def prunes(self) -> bool:
        return prunes(self.instance, self.version)

    def add_all(self) -> None:
        rendered: dict[tuple[str, Action], set[Kind]] = {}
        applying = False
        place: tuple[str, str, str] | None = None
        values: Values | None = None
        for plan, phase, step, name in self._places():
            task = self.tasks.get(name)
            if task is None:
                continue
            if self.tree.expired():
                self.needs.note(_TOO_LONG)
                break
            if (plan, phase, step) != place:
                place = plan, phase, step
                values = self._values(*place, self._source(task))
            applying = applying or task.kind in _OWNING
            if task.kind in _WITH_TEMPLATES:
                self._add_task(task, values, rendered)
            elif task.kind == "Pipe":
                self._add_pipe(task, values)
            elif task.kind == "KudoOperator":
                self._add_child(task, values)
        if applying:
            self._add_finalizer()
        for (template, action), kinds in rendered.items():
            self._add_named(template, action, kinds)

    def _places(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield plan, phase, step and task of each use of a task."""
        for plan, found in sorted(self.version.plans.items()):
            for phase in found.phases or ():
                for step in phase.steps:
                    for task in step.tasks:
                        yield plan, phase.name, step.name, task

    def _values(self, plan: str, phase: str, step: str, source: str) -> Values | None:
        try:
            return variables(self.instance, self.version, plan=plan, phase=phase, step=step).read()
        except (FatalTaskError, InvalidInput) as error:
            self.needs.note(f"{source}: cannot be rendered: {plain(str(error), _ERROR)}")
            return None

    # Apply, Delete, Toggle

    def _add_task(
        self,
        task: Task,
        values: Values | None,
        rendered: dict[tuple[str, Action], set[Kind]],
    ) -> None:
        action = _WITH_TEMPLATES[task.kind]
        applied: list[tuple[str, JsonObject]] = []
        for template in dict.fromkeys(task.spec.resources or ()):
            source = self._source(task, template)
            kinds = rendered.setdefault((template, action), set())
            for obj in self._objects(template, values, source):
                kind = Kind(str(obj["apiVersion"]), str(obj["kind"]))
                if not is_kind(*kind):
                    self.needs.note(f"{source}: {plain(str(kind))} is no kind of an object")
                    continue
                kinds.add(kind)
                self._add_object(kind, obj, action, source)
                applied.append((source, obj))
        if action is not Action.DELETE:
            self._add_reads(applied)

    def _objects(self, template: str, values: Values | None, source: str) -> list[JsonObject]:
        """Return the objects of a template; none, and a note, if it cannot be rendered."""
        text = self._rendered(template, values, source)
        if text is None:
            return []
        try:
            return [*read_objects(template, text, Engine.full().budget)]
        except FatalTaskError as error:
            self.needs.note(f"{source}: cannot be rendered: {plain(str(error), _ERROR)}")
            return []

    def _rendered(self, template: str, values: Values | None, source: str) -> str | None:
        if values is None:
            return None
        if not self.tree.may_render():
            self.needs.note(_TOO_LONG)
            return None
        try:
            templates = self.version.spec.templates or {}
            return render_named(template, templates, values, expired=self.tree.expired)
        except FatalTaskError as error:
            self.needs.note(f"{source}: cannot be rendered: {plain(str(error), _ERROR)}")
            return None

    def _add_object(self, kind: Kind, obj: JsonObject, action: Action, source: str) -> None:
        if action is not Action.DELETE:
            add_grants(obj, source, self.needs)
            self._add_definition(obj)
        self._need(kind, self._with_deletion(kind, _metadata(obj), action), source)

    def _with_deletion(self, kind: Kind, metadata: JsonObject, action: Action) -> Action:
        """Return what becomes of an object: without a Delete task, it may be deleted all the same.

        Args:
            kind: Its kind.
            metadata: As its template gives it; empty if it is not known.
            action: What its task does.
        """
        if action is not Action.APPLY:
            return action
        if self.prunes and may_be_pruned(kind.group, kind.kind, metadata):
            return Action.PRUNE
        return Action.OWN if goes_with_instance(kind.group, kind.kind, metadata) else action

    def _add_definition(self, obj: JsonObject) -> None:
        """Remember the kind that a CustomResourceDefinition defines."""
        spec = obj.get("spec") if obj["kind"] == "CustomResourceDefinition" else None
        found = spec.get("names") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(found, dict):
            return
        group, kind, plural = (
            str(v) for v in (spec.get("group"), found.get("kind"), found.get("plural"))
        )
        if is_kind(f"{group}/v1", kind) and plural.isascii() and plural.isalnum():
            namespaced = spec.get("scope") == "Namespaced"
            self.needs.defined[group, kind] = Served(group, plural, namespaced)

    def _add_reads(self, applied: Iterable[tuple[str, JsonObject]]) -> None:
        """Add what is read for the hash of dependencies, and for messages about pods."""
        objects = list(applied)
        own = {(str(obj["kind"]), str(obj["metadata"]["name"])) for _, obj in objects}
        for source, obj in objects:
            for used in dependencies_of(obj):
                if used.name and (used.kind, used.name) not in own:
                    why = f"{source}: its pods use it"
                    self._need(_DEPENDENCIES[used.kind], Action.READ, why, (used.name,))
            if has_pods(obj):
                why = f"{source}: messages name the pod that is not ready"
                self._need(_PODS, Action.READ, why)
                self._need(_REPLICA_SETS, Action.READ, why)

    def _add_finalizer(self) -> None:
        """Add the right that the plugin OwnerReferencesPermissionEnforcement asks for."""
        rule = Rule(
            ("update",),
            (names.GROUP,),
            ("instances/finalizers",),
            (self.instance.metadata.name,),
            sources=(f"{self._operator()}objects block the deletion of their Instance",),
        )
        self.needs.namespaced.append(rule)

    def _add_named(self, template: str, action: Action, rendered: set[Kind]) -> None:
        """Add kinds that the text of a template names and that were not rendered."""
        found = named_in((self.version.spec.templates or {}).get(template) or "")
        source = f"{self._operator()}template {plain(template)}, not rendered with these values"
        for kind in found.kinds:
            if kind in rendered:
                continue
            self._need(kind, self._with_deletion(kind, {}, action), source)
            if action is not Action.DELETE and (kind.group == RBAC or kind.kind in _WORKLOADS):
                what = "what it grants" if kind.group == RBAC else "what its pods use"
                self.needs.note(f"{source}: {kind}: {what} is not in this list")
        if found.computed:
            shown = ", ".join(sorted(map(str, rendered))) or "nothing"
            self.needs.note(
                f"{self._operator()}template {plain(template)} computes a kind: with these values "
                f"it renders {plain(shown)}; with others it may need other rights"
            )

    # Pipe, KudoOperator

    def _add_pipe(self, task: Task, values: Values | None) -> None:
        source = self._source(task, task.spec.pod or "")
        self._need(_PODS, Action.TOGGLE, source)
        rule = Rule(("create", "get"), ("",), ("pods/exec",), sources=(f"{source}: copies files",))
        self.needs.namespaced.append(rule)
        for file in task.spec.pipe or ():
            self._need(_DEPENDENCIES[_artifact(file.kind)], Action.APPLY, source)
        text = self._rendered(task.spec.pod or "", values, source)
        try:
            if text is not None:
                read_pod(text)
        except FatalTaskError as error:
            self.needs.note(f"{source}: cannot be rendered: {plain(str(error), _ERROR)}")

    def _add_child(self, task: Task, values: Values | None) -> None:
        source = self._source(task)
        self._need(_INSTANCE, Action.APPLY, source)
        file, parameters = task.spec.parameter_file, {}
        text = self._rendered(file, values, source) if file else None
        try:
            if file and text is not None:
                parameters = parse_parameter_file(file, text)
            child = child_of(task, self.instance, self.version, parameters)
        except (FatalTaskError, InvalidInput) as error:
            self.needs.note(f"{source}: cannot be rendered: {plain(str(error), _ERROR)}")
            return
        self.tree.add_child(child, source)

    # Texts

    def _need(self, kind: Kind, action: Action, source: str, only: tuple[str, ...] = ()) -> None:
        if (kind.group, kind.kind) == _INVENTORY:
            self.needs.note(f"{source}: only KUDO writes Inventories; the plan ends with an error")
            return
        self.needs.add(Need(kind, action, source, only))

    def _source(self, task: Task, template: str = "") -> str:
        shown = f", template {plain(template)}" if template else ""
        return f"{self._operator()}task {plain(task.name)}{shown}"

    def _operator(self) -> str:
        return f"{plain(self.version.operator_name)}: "


def _artifact(kind: str | None) -> str:
    return "Secret" if kind == "Secret" else "ConfigMap"


def _metadata(obj: JsonObject) -> JsonObject:
    metadata: JsonObject = obj["metadata"]
    annotations = metadata.get("annotations")
    return metadata if isinstance(annotations, dict) else {**metadata, "annotations": {}}
