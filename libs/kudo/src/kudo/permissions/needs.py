"""Finds what the tasks of all plans send, by rendering their templates.

Children are included: they inherit the account, or act as the same default of the namespace. What
cannot be rendered is searched for kinds in its text, and noted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kudo.api import Instance, InstanceSpec, JsonObject, ObjectMeta, OperatorVersion, Task, names
from kudo.api.problems import InvalidInput
from kudo.api.task_kinds import FatalTaskError, kind_of
from kudo.api.task_kinds.kind import Action
from kudo.objects.dependency_hash import dependencies_of
from kudo.objects.health import has_pods
from kudo.objects.inventory.orphans import may_be_pruned, prunes
from kudo.objects.sharing import goes_with_instance
from kudo.parameters.settings import with_marks
from kudo.parameters.sources import parse_parameter_file
from kudo.permissions.kinds import named_in
from kudo.permissions.model import Kind, Need, Needs, Rule, Served, is_kind, plain
from kudo.permissions.rights import RBAC, add_grants
from kudo.tasks.job.outputs import is_placeholder_in, placeholders
from kudo.tasks.kudo_operator import Child, VersionKey, child_of
from kudo.tasks.pipe import read_pod
from kudo.tasks.rendering import Engine, read_objects, render, render_named, stand_ins, variables

Versions = Callable[[VersionKey], OperatorVersion | None]
Values = Mapping[str, object]

# Instances of one tree that are rendered.
_INSTANCES: Final = 50
_RENDERINGS: Final = 2000
_ERROR: Final = 300
_TOO_LONG: Final = "not all templates were rendered, since that would take too long"
_FOLLOWS: Final = "follows from outputs of a task or parameters of a run"
_IN_RUNS: Final = "a run alone has them, so the right is not in this list"
_PODS: Final = Kind("v1", "Pod")
_REPLICA_SETS: Final = Kind("apps/v1", "ReplicaSet")
_OF_KINDS: Final = frozenset({"apiVersion", "kind"})
_INVENTORY: Final = (names.GROUP, "Inventory")
_DEPENDENCIES: Final = {"ConfigMap": Kind("v1", "ConfigMap"), "Secret": Kind("v1", "Secret")}
# What a task does that sends no more of an object than its name.
_WITHOUT_CONTENT: Final = frozenset({Action.DELETE, Action.READ})
_WORKLOADS: Final = frozenset(
    {
        *("CronJob", "DaemonSet", "Deployment", "Job"),
        *("ReplicaSet", "ReplicationController", "StatefulSet"),
    }
)


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
    tree = _Tree(versions, expired or (lambda: False))
    tree.add(version, instance)
    # Level by level: if there are too many, those left out are the deepest.
    while tree.waiting:
        tree.add(*tree.waiting.pop(0))
    return tree.needs


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
        self._seen: set[tuple[VersionKey, str]] = set()
        self._renderings = 0

    def add(self, version: OperatorVersion, instance: Instance) -> None:
        """Add what the plans of one Instance need."""
        key = version.metadata.namespace, version.metadata.name
        self._seen.add((key, instance.metadata.name))
        # What templates make of a secret value is not known, and mostly the same for all values.
        values = with_marks(version.parameters, instance.parameters)
        spec = instance.spec.model_copy(update={"parameters": values})
        marked = instance.model_copy(update={"spec": spec})
        _Plans(self, version, marked).add_all()

    def add_child(self, child: Child, source: str) -> None:
        """Have a child looked at, unless it was."""
        if (child.version, child.name) in self._seen:
            return
        self._seen.add((child.version, child.name))
        version = self.versions(child.version)
        if version is None or len(self._seen) > _INSTANCES:
            why = "does not exist" if version is None else "is one of too many children"
            self.needs.note(
                f"{source}: OperatorVersion {plain('/'.join(child.version))} {why}: what the plans "
                "of the child need is not in this list"
            )
            return
        instance = Instance(
            metadata=ObjectMeta(name=child.name, namespace=child.namespace),
            spec=InstanceSpec(
                operator_version={"name": child.version[1], "namespace": child.version[0]},
                parameters=dict(child.parameters) or None,
            ),
        )
        self.waiting.append((version, instance))

    def may_render(self) -> bool:
        """Count a rendering; return whether it may be done."""
        self._renderings += 1
        return self._renderings <= _RENDERINGS and not self.expired()


@dataclass(frozen=True, slots=True)
class _Plans:
    """The plans of one Instance."""

    tree: _Tree
    version: OperatorVersion
    instance: Instance

    @property
    def needs(self) -> Needs:
        return self.tree.needs

    def add_all(self) -> None:
        rendered: dict[tuple[str, Action], set[Kind]] = {}
        applying = False
        place: tuple[str, str, str] | None = None
        values: Values | None = None
        for plan, phase, step, name in self._places():
            task = self.version.task(name)
            if task is None:
                continue
            if self.tree.expired():
                self.needs.note(_TOO_LONG)
                break
            if (plan, phase, step) != place:
                # Templates see the names of plan, phase and step; the rest is the same for all.
                place = plan, phase, step
                try:
                    values = variables(
                        self.instance,
                        self.version,
                        plan=plan,
                        phase=phase,
                        step=step,
                        outputs=placeholders(self.version.outputs),
                        run_parameters=stand_ins(self.version.plans[plan]),
                    ).read()
                except (FatalTaskError, InvalidInput) as error:
                    self.unknown(self.source(task), error)
                    values = None
            kind = kind_of(task)
            applying = applying or kind.owns
            if kind.action is not None:
                self._add_objects(task, kind.action, values, rendered)
            kind.add_needs(task, _TaskNeeds(self, task, values))
        if applying:
            # The plugin OwnerReferencesPermissionEnforcement of the API server asks for it.
            rule = Rule(
                ("update",),
                (names.GROUP,),
                ("instances/finalizers",),
                (self.instance.metadata.name,),
                sources=(f"{self._operator()}objects block the deletion of their Instance",),
            )
            self.needs.namespaced.append(rule)
        self._add_sources()
        # With other values of parameters a template may render to other kinds.
        for (template, action), kinds in rendered.items():
            self._add_named(template, action, kinds)

    def _add_sources(self) -> None:
        """Add what a run reads before it begins: the sources of parameters."""
        known = {source.name for source in self.instance.sources}
        for source in self.instance.sources:
            reference, why = source.reference, f"{self._operator()}parameter {plain(source.name)}"
            if reference.kind:
                text = f"{why}: its value is read"
                self.need(_DEPENDENCIES[reference.kind], Action.READ, text, (reference.name,))
        for parameter in self.version.parameters:
            if parameter.secret and parameter.name not in known:
                self.needs.note(
                    f"{self._operator()}parameter {plain(parameter.name)} is secret: the account "
                    "has to get the Secret that an Instance names for it"
                )

    def _places(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield plan, phase, step and task of each use of a task."""
        for name, plan in sorted(self.version.plans.items()):
            for phase in plan.phases or ():
                for step in phase.steps:
                    for task in step.tasks:
                        yield name, phase.name, step.name, task

    # The objects of templates

    def _add_objects(
        self,
        task: Task,
        action: Action,
        values: Values | None,
        rendered: dict[tuple[str, Action], set[Kind]],
    ) -> None:
        applied: list[tuple[str, JsonObject]] = []
        for template in dict.fromkeys(task.spec.resources or ()):
            source = self.source(task, template)
            kinds = rendered.setdefault((template, action), set())
            text, objects = self.rendered(template, values, source), []
            try:
                if text is not None:
                    objects = [*read_objects(template, text, Engine.full().budget)]
            except FatalTaskError as error:
                self.unknown(source, error)
            for obj in objects:
                kind = Kind(str(obj["apiVersion"]), str(obj["kind"]))
                if not is_kind(*kind):
                    self.needs.note(f"{source}: {plain(str(kind))} is no kind of an object")
                    continue
                kinds.add(kind)
                if action not in _WITHOUT_CONTENT:
                    if kind.group == RBAC and is_placeholder_in(str(obj)):
                        what = f"what it grants {_FOLLOWS}"
                        self.needs.note(f"{source}: {what}: {_IN_RUNS}")
                    else:
                        add_grants(obj, source, self.needs)
                    self._add_definition(obj)
                metadata: JsonObject = obj["metadata"]
                if not isinstance(metadata.get("annotations"), dict):
                    metadata = {**metadata, "annotations": {}}
                self.need(kind, self._with_deletion(kind, metadata, action), source)
                applied.append((source, obj))
        if action not in _WITHOUT_CONTENT:
            self._add_reads(applied)

    def rendered(self, template: str, values: Values | None, source: str) -> str | None:
        templates = self.version.spec.templates or {}
        return self._made(
            lambda known: render_named(template, templates, known, expired=self.tree.expired),
            values,
            source,
        )

    def rendered_text(
        self, field: str, text: str, values: Values | None, source: str
    ) -> str | None:
        """Render a text of the spec of a task; None, and noted, if that cannot be done."""
        return self._made(
            lambda known: render(field, text, known, what=field, expired=self.tree.expired),
            values,
            source,
        )

    def _made(
        self, make: Callable[[Values], str], values: Values | None, source: str
    ) -> str | None:
        if values is None:
            return None
        if not self.tree.may_render():
            self.needs.note(_TOO_LONG)
            return None
        try:
            return make(values)
        except FatalTaskError as error:
            self.unknown(source, error)
            return None

    def _with_deletion(self, kind: Kind, metadata: JsonObject, action: Action) -> Action:
        """Return what becomes of an object: without a Delete task, it may be deleted all the same.

        Args:
            kind: Its kind.
            metadata: As its template gives it; empty if it is not known.
            action: What its task does.
        """
        if action is not Action.APPLY:
            return action
        if prunes(self.instance, self.version) and may_be_pruned(kind.group, kind.kind, metadata):
            return Action.PRUNE
        return Action.OWN if goes_with_instance(kind.group, kind.kind, metadata) else action

    def _add_definition(self, obj: JsonObject) -> None:
        """Remember the kind that a CustomResourceDefinition defines."""
        spec = obj.get("spec") if obj["kind"] == "CustomResourceDefinition" else None
        served = spec.get("names") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(served, dict):
            return
        group, kind, plural = (
            str(v) for v in (spec.get("group"), served.get("kind"), served.get("plural"))
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
                if is_placeholder_in(used.name):
                    what = f"which {used.kind} its pods use {_FOLLOWS}"
                    self.needs.note(f"{source}: {what}: {_IN_RUNS}")
                elif used.name and (used.kind, used.name) not in own:
                    why = f"{source}: its pods use it"
                    self.need(_DEPENDENCIES[used.kind], Action.READ, why, (used.name,))
            if has_pods(obj):
                why = f"{source}: messages name the pod that is not ready"
                self.need(_PODS, Action.READ, why)
                self.need(_REPLICA_SETS, Action.READ, why)

    def _add_named(self, template: str, action: Action, rendered: set[Kind]) -> None:
        """Add kinds that the text of a template names and that were not rendered."""
        named = named_in((self.version.spec.templates or {}).get(template) or "")
        source = f"{self._operator()}template {plain(template)}, not rendered with these values"
        for kind in named.kinds:
            if kind in rendered:
                continue
            self.need(kind, self._with_deletion(kind, {}, action), source)
            if action not in _WITHOUT_CONTENT and (kind.group == RBAC or kind.kind in _WORKLOADS):
                what = "what it grants" if kind.group == RBAC else "what its pods use"
                self.needs.note(f"{source}: {kind}: {what} is not in this list")
        if named.computed:
            shown = ", ".join(sorted(map(str, rendered))) or "nothing"
            self.needs.note(
                f"{self._operator()}template {plain(template)} computes a kind: with these values "
                f"it renders {plain(shown)}; with others it may need other rights"
            )

    # Texts

    def unknown(self, source: str, error: Exception) -> None:
        self.needs.note(f"{source}: cannot be rendered: {plain(str(error), _ERROR)}")

    def need(self, kind: Kind, action: Action, source: str, only: tuple[str, ...] = ()) -> None:
        if (kind.group, kind.kind) == _INVENTORY:
            self.needs.note(f"{source}: only KUDO writes Inventories; the plan ends with an error")
            return
        self.needs.add(Need(kind, action, source, only))

    def source(self, task: Task, template: str = "") -> str:
        shown = f", template {plain(template)}" if template else ""
        return f"{self._operator()}task {plain(task.name)}{shown}"

    def _operator(self) -> str:
        return f"{plain(self.version.operator_name)}: "


@dataclass(frozen=True, slots=True)
class _TaskNeeds:
    """Takes down what a task of a plan sends besides the objects of its templates."""

    plans: _Plans
    task: Task
    values: Values | None

    def need(self, api_version: str, kind: str, action: Action, template: str = "") -> None:
        source = self.plans.source(self.task, template)
        if not is_kind(api_version, kind):
            self.plans.needs.note(
                f"{source}: {plain(kind)} of {plain(api_version)} is no kind of an object"
            )
            return
        self.plans.need(Kind(api_version, kind), action, source)

    def copy_files(self, template: str) -> None:
        source = self.plans.source(self.task, template)
        rule = Rule(("create", "get"), ("",), ("pods/exec",), sources=(f"{source}: copies files",))
        self.plans.needs.namespaced.append(rule)
        text = self.plans.rendered(template, self.values, source)
        try:
            if text is not None:
                read_pod(text)
        except FatalTaskError as error:
            self.plans.unknown(source, error)

    def texts(self) -> Mapping[str, str]:
        plans, source = self.plans, self.plans.source(self.task)
        texts: dict[str, str] = {}
        for template in kind_of(self.task).inline_templates(self.task):
            rendered = plans.rendered_text(template.field, template.text, self.values, source)
            if rendered is None:
                return {}
            texts[template.field] = rendered
            if template.path[-1] in _OF_KINDS and rendered != template.text:
                plans.needs.note(
                    f"{source} computes {template.field}: with these values it is "
                    f"{plain(rendered)}; with others it may need other rights"
                )
        return texts

    def add_child(self) -> None:
        plans, source = self.plans, self.plans.source(self.task)
        file, parameters = self.task.spec.parameter_file, {}
        text = plans.rendered(file, self.values, source) if file else None
        try:
            if file and text is not None:
                parameters = parse_parameter_file(file, text)
            child = child_of(self.task, plans.instance, plans.version, parameters)
        except (FatalTaskError, InvalidInput) as error:
            plans.unknown(source, error)
            return
        plans.tree.add_child(child, source)
