"""Renders the templates of a task to Kubernetes objects.

    render -> split into documents -> read as YAML -> unwrap Lists

Objects come in the order of the task's `resources` and of the documents in each template.

Tenants control all of the input, so every step is charged to the limits of an `Engine`: `full` has
the limits that templates must keep, `inline` those that an event loop can afford. A failure by a
limit has its name in `FatalTaskError.limit`.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import goyaml
from gotemplate import INLINE, Environment, TemplateError, nodes
from goyaml import Budget, YamlError, json_documents, load
from kubeio.names import api_version_fault, name_fault
from kudo.api import JsonObject, bounds
from kudo.api.problems import InvalidInput, kind_of_value, shown_name, text_fault
from kudo.api.task_kinds import FatalTaskError
from kudo.parameters.template import RawParameter, TooLarge, raw_values, read_values
from kudo.tasks.pipe import pipes
from kudo.tasks.usage import uses_outputs, uses_run_parameters

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import Instance, OperatorVersion, Plan

_DOCUMENT_SEPARATOR = re.compile(r"\n\ufeff?---")
"""A byte order mark stands there if files were joined on Windows."""
_FULL: Final = Environment(policy="operator", missing_key="error")
_INLINE: Final = Environment(policy="operator", missing_key="error", limits=INLINE)
_STAND_INS: Final = {"integer": "1", "number": "1", "boolean": "true", "array": "[]", "map": "{}"}
OUTPUTS_UNKNOWN: Final = "OutputsUnknown"
_OBJECT_NODES: Final = 150_000
"""Values in one YAML document, because a reconciler copies an object whole, on its event loop."""


@dataclass(slots=True)
class _Count:
    """Counts the objects of a task."""

    objects: int = 0

    def add(self, template: str) -> None:
        """Count one more.

        Raises:
            FatalTaskError: a task may not have so many, reason TooManyObjects.
        """
        self.objects += 1
        if self.objects > bounds.TASK_OBJECTS:
            raise FatalTaskError(
                "TooManyObjects",
                f"template {template}: the task has more than {bounds.TASK_OBJECTS:,} "
                "objects; have several tasks apply them",
                limit="objects",
            )


@dataclass(frozen=True, slots=True)
class Engine:
    """What renders the templates of one task, and what that may cost.

    Attributes:
        environment: Renders; its limits hold for each template.
        budget: Of all YAML that is read: parameters and rendered documents.
        count: Of the objects of all templates.
        outputs_known: Whether templates may use outputs of tasks.
        run_parameters_known: Whether they may use parameters of a run.
    """

    environment: Environment
    budget: Budget
    count: _Count
    outputs_known: bool = True
    run_parameters_known: bool = True

    @classmethod
    def full(cls, known: "Variables | None" = None) -> "Engine":
        """Return an engine with the limits that templates must keep.

        Args:
            known: What templates can refer to; by default all that they name.
        """
        return cls(_FULL, Budget(goyaml.DEFAULT_LIMITS), _Count(), *_known(known))

    @classmethod
    def inline(cls, known: "Variables | None" = None) -> "Engine":
        """Return an engine with the limits that an event loop can afford; see `full`."""
        return cls(_INLINE, Budget(goyaml.INLINE), _Count(), *_known(known))

    def unknown_in(self, tree: nodes.Tree) -> str:
        """Return what a template uses that a run alone has; empty if it uses nothing of it."""
        if not self.outputs_known and uses_outputs(tree):
            return "outputs of tasks"
        if not self.run_parameters_known and uses_run_parameters(tree):
            return "parameters of a run"
        return ""


def _known(variables: "Variables | None") -> tuple[bool, bool]:
    if variables is None:
        return True, True
    return variables.outputs_known, variables.run_parameters_known


class OutputsUnknown(FatalTaskError):
    """A template uses what a run alone has where that is not known; it ends no run."""

    def __init__(self, message: str) -> None:
        super().__init__(OUTPUTS_UNKNOWN, message)


class DocumentError(FatalTaskError):
    """A rendered document is not a Kubernetes object.

    Attributes:
        line: Its line at fault in the rendered text, from 1; that of its beginning where the whole
            document is at fault.
    """

    def __init__(self, reason: str, message: str, *, limit: str = "", line: int) -> None:
        super().__init__(reason, message, limit=limit)
        self.line = line


@dataclass(frozen=True, slots=True)
class Variables:
    """What templates of a task can refer to; the parameters have not been read yet.

    Attributes:
        fixed: Everything but the parameters.
        parameters: The texts of the parameters.
        outputs_known: Whether `fixed` has all outputs of tasks that templates may use. If not, one
            that uses some is not rendered: what it would give depends on a run.
        run_parameters: The texts of the parameters of the run; None if no plan declares any.
        run_parameters_known: The same of these: whether they are those of a run.
    """

    fixed: Mapping[str, object]
    parameters: tuple[RawParameter, ...]
    outputs_known: bool = True
    run_parameters: tuple[RawParameter, ...] | None = None
    run_parameters_known: bool = True

    def read(
        self, budget: Budget | None = None, begin: Callable[[str], None] | None = None
    ) -> dict[str, object]:
        """Return the variables by name.

        Args:
            budget: What reading parameters may cost; see `read_values`.
            begin: Called with the name of each parameter before it is read.

        Raises:
            FatalTaskError: a map or array parameter cannot be read, reason InvalidParams.
        """
        try:
            parameters = read_values(_announced(self.parameters, begin), budget)
            given = read_values(_announced(self.run_parameters or (), begin), budget)
        except InvalidInput as error:
            text = f"could not parse parameters: {error}"
            limit = error.limit if isinstance(error, TooLarge) else ""
            raise FatalTaskError("InvalidParams", text, limit=limit) from error
        of_run = {} if self.run_parameters is None else {"RunParams": given}
        return {**self.fixed, "Params": parameters, **of_run}


def _announced(
    parameters: Iterable[RawParameter], begin: Callable[[str], None] | None
) -> Iterator[RawParameter]:
    for parameter in parameters:
        if begin is not None:
            begin(parameter.name)
        yield parameter


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as a template gives it.

    Attributes:
        template: Name of the template, for messages.
        object: The object, with apiVersion, kind and metadata.name present.
    """

    template: str
    object: JsonObject

    def __str__(self) -> str:
        metadata = self.object["metadata"]
        return f"{self.object['kind']} {metadata['name']} of template {self.template}"


def variables(
    instance: "Instance",
    version: "OperatorVersion",
    *,
    plan: str,
    phase: str,
    step: str,
    outputs: Mapping[str, Mapping[str, str]] | None = None,
    run_parameters: Mapping[str, str] | None = None,
) -> Variables:
    """Return what templates of a task can refer to.

    Args:
        instance: The Instance.
        version: Its OperatorVersion.
        plan: The plan.
        phase: Its phase.
        step: The step of the task.
        outputs: The outputs that the step sees; None outside of its run.
        run_parameters: The parameters of the run; None outside of a run of the plan.

    Raises:
        FatalTaskError: the artifacts of the plan's Pipe tasks cannot be named, reason InvalidPlan.
    """
    fixed = {
        "OperatorName": version.operator_name,
        "Name": instance.metadata.name,
        "Namespace": instance.metadata.namespace,
        "AppVersion": version.spec.app_version or "",
        "OperatorVersion": version.spec.version or "",
        "PlanName": plan,
        "PhaseName": phase,
        "StepName": step,
        "Pipes": pipes(instance.metadata.name, plan, version),
    }
    declares = bool(version.outputs)
    if declares and outputs is not None:
        # Only then: a package of KUDO 0.19 may print all that there is.
        fixed["Outputs"] = outputs
    parameters = raw_values(version.parameters, instance.parameters)
    definition = version.plans.get(plan)
    declared = definition.declared.values() if definition is not None else ()
    of_run = None
    if version.has_run_parameters:
        of_run = raw_values(declared, run_parameters or {})
    return Variables(
        fixed,
        parameters,
        outputs_known=not declares or outputs is not None,
        run_parameters=of_run,
        run_parameters_known=not declared or run_parameters is not None,
    )


def stand_ins(plan: "Plan") -> dict[str, str]:
    """Return what stands for required parameters of a run where there is none.

    It is the first value of an enum, a number, or else `<run.name>`, as `<task.name>`
    stands for outputs.
    """
    given: dict[str, str] = {}
    for name in plan.required_parameters:
        parameter = plan.declared[name]
        fixed = _STAND_INS.get(parameter.value_type or "", f"<run.{name}>")
        given[name] = parameter.enum[0] if parameter.enum else fixed
    return given


def render_objects(
    resources: Iterable[str],
    templates: Mapping[str, str],
    values: Mapping[str, object],
    *,
    engine: Engine | None = None,
    expired: Callable[[], bool] | None = None,
) -> tuple[Manifest, ...]:
    """Render the named templates and read the objects in them.

    Args:
        resources: Names of templates; one that is named twice counts once.
        templates: Their texts.
        values: What they can refer to.
        engine: What renders; by default one with the full limits.
        expired: Asked now and then whether rendering has taken too long.

    Raises:
        FatalTaskError: a template is missing, cannot be rendered, gives no Kubernetes objects, or
            too many of them; the text names template, line and reason.
    """
    engine = engine or Engine.full()
    manifests: list[Manifest] = []
    for name in dict.fromkeys(resources):
        text = render_named(name, templates, values, engine=engine, expired=expired)
        for item in read_objects(name, text, engine.budget):
            engine.count.add(name)
            manifests.append(Manifest(name, item))
    return tuple(manifests)


def render_named(
    name: str,
    templates: Mapping[str, str],
    values: Mapping[str, object],
    *,
    engine: Engine | None = None,
    expired: Callable[[], bool] | None = None,
) -> str:
    """Render one of the templates.

    Raises:
        FatalTaskError: there is none of this name, or it cannot be rendered.
    """
    if name not in templates:
        raise FatalTaskError("TaskRenderingError", f"error finding resource named {name}")
    return render(name, templates[name], values, engine=engine, expired=expired)


def render(
    name: str,
    text: str,
    values: Mapping[str, object],
    *,
    what: str = "",
    engine: Engine | None = None,
    expired: Callable[[], bool] | None = None,
) -> str:
    """Render one template.

    Args:
        name: Its name.
        text: The template.
        values: What it can refer to.
        what: What it is, for messages; by default a template of this name.
        engine: What renders; by default one with the full limits.
        expired: Asked now and then whether rendering has taken too long.

    Raises:
        FatalTaskError: with the template engine's error, which names line and column.
        OutputsUnknown: it uses what a run alone has, and the engine has none of that.
    """
    environment = engine.environment if engine is not None else _FULL
    what = what or f"template {name}"
    # The text of the error is that of KUDO 0.19, which tells the two steps apart.
    step = "parsing"
    try:
        template = environment.parse(name, text)
        unknown = "" if engine is None else engine.unknown_in(template.tree)
        if unknown:
            raise OutputsUnknown(f"{what} uses {unknown}, and only a run has them")
        step = "rendering"
        return template.render(values, expired=expired)
    except TemplateError as error:
        hint = "; split the template, or have it do less" if error.limit else ""
        raise FatalTaskError(
            "TaskRenderingError",
            f"error expanding {what}: error {step} template: {error}{hint}",
            limit=error.limit,
        ) from error


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One document in the text of a template that was rendered.

    Attributes:
        template: Name of the template.
        number: Of the document, from 1.
        text: The rendered text of all documents, after one line break.
        start, end: Where in `text` the document stands.
    """

    template: str
    number: int
    text: str
    start: int
    end: int

    @property
    def first_line(self) -> int:
        """The line of the rendered text in which the document begins, from 1."""
        document = self.text[self.start : self.end]
        blank = len(document) - len(document.lstrip())
        return self.text.count("\n", 0, self.start + blank)

    def unreadable(self, reason: str, *, limit: str = "", line: int = 0) -> DocumentError:
        """Return the error; the document stays out of it, since it may be a Secret.

        Args:
            reason: What is wrong.
            limit: Name of the limit that was exceeded.
            line: Line of the rendered text, from 1; 0 where all of the document is at fault.
        """
        return DocumentError(
            "TaskRenderingError",
            f"parsing YAML from {self.template}: decoding chunk {self.number} failed: {reason}",
            limit=limit,
            line=line or self.first_line,
        )

    def line_of(self, line: int) -> int:
        """Return the line of the rendered text for a line of the document."""
        # The parser finds the end of a document that ends too early below its last line.
        last = self.text[self.start : self.end].rstrip().count("\n") + 1
        # The line break before the text makes up for the first line being number 1.
        return self.text.count("\n", 0, self.start) - 1 + min(line, last)


def read_objects(template: str, text: str, budget: Budget) -> Iterator[JsonObject]:
    """Yield the objects in the rendered text of a template.

    Raises:
        DocumentError: a document is not a Kubernetes object.
    """
    return (item for _, item in _objects(template, text, budget))


def objects_with_lines(
    template: str, text: str, budget: Budget
) -> Iterator[tuple[int, JsonObject]]:
    """Yield the objects in the rendered text of a template, with the line of their document.

    Raises:
        DocumentError: a document is not a Kubernetes object.
    """
    return ((chunk.first_line, item) for chunk, item in _objects(template, text, budget))


def _objects(template: str, text: str, budget: Budget) -> Iterator[tuple[_Chunk, JsonObject]]:
    for chunk in _chunks(template, text):
        document = _document(chunk, budget)
        if document is None:
            continue
        for item in _unwrapped(chunk, document):
            problem = _shape_problem(item)
            if problem is not None:
                raise chunk.unreadable(problem)
            yield chunk, item


def _chunks(template: str, text: str) -> Iterator[_Chunk]:
    """Yield the documents of a text, one at a time: there may be a million separators."""
    text = "\n" + text
    number = 0
    start = 0
    ends = (
        (separator.start(), separator.end()) for separator in _DOCUMENT_SEPARATOR.finditer(text)
    )
    for end, following in itertools.chain(ends, [(len(text), len(text))]):
        # Documents of JSON need no `---` between them.
        for first, last in json_documents(text[start:end]):
            if text[start + first : start + last].strip():
                number += 1
                yield _Chunk(template, number, text, start + first, start + last)
        start = following


def _document(chunk: _Chunk, budget: Budget) -> object:
    # The budget is of all documents of a task, so this one is measured by what it has spent.
    before = budget.nodes
    try:
        document = load(chunk.text[chunk.start : chunk.end], budget=budget, single=True)
    except YamlError as error:
        hint = "; split the template, or have it make less" if error.limit else ""
        from kudo.api.redaction import without_quotes  # not needed where all is well

        line = chunk.line_of(error.line)
        problem = f"line {line}, column {error.column}: {without_quotes(error.message)}{hint}"
        raise chunk.unreadable(problem, limit=error.limit, line=line) from error
    if budget.nodes - before > _OBJECT_NODES:
        problem = f"the document has more than {_OBJECT_NODES} values; make it smaller"
        raise chunk.unreadable(problem, limit="nodes")
    return document


def _unwrapped(chunk: _Chunk, document: object) -> Iterator[JsonObject]:
    """Yield the object of a document, or the items of a list, as `kubectl apply` takes them.

    Lists of one kind, such as ConfigMapList, give their items the kind.
    """
    if not isinstance(document, dict):
        raise chunk.unreadable("a Kubernetes object must be a mapping")
    if not _is_list(document):
        yield document
        return
    items = document.get("items")
    if items is not None and not isinstance(items, list):
        raise chunk.unreadable(f"items of a {document['kind']} must be a list")
    kind = document["kind"].removesuffix("List")
    for item in items or ():
        if kind and isinstance(item, dict) and not item.get("kind"):
            # The API server leaves version and kind out of the items of a list of one kind.
            item = {"apiVersion": document.get("apiVersion"), **item, "kind": kind}
        yield from _unwrapped(chunk, item)


def _is_list(document: JsonObject) -> bool:
    kind = document.get("kind")
    if kind == "List":
        return True
    metadata = document.get("metadata")
    named = isinstance(metadata, dict) and bool(metadata.get("name"))
    # A custom resource may be of a kind such as AllowList; an object has a name.
    return isinstance(kind, str) and kind.endswith("List") and "items" in document and not named


def _shape_problem(document: JsonObject) -> str | None:
    """Return why a mapping cannot be applied as an object."""
    for field in ("apiVersion", "kind"):
        if fault := text_fault(document.get(field)):
            return f"{field} {fault}"
        if not document.get(field):
            return f"Object '{field}' is missing"
    fault = api_version_fault(document["apiVersion"])
    if fault:
        return f"apiVersion {fault}"
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if fault := text_fault(name):
        return f"metadata.name {fault}"
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        return (
            "metadata.name is missing; an object that is applied needs a name "
            "(generateName would create another one on each run)"
        )
    fault = name_fault("name", name)
    if fault:
        return f"metadata.name {fault}"
    owners = metadata.get("ownerReferences")
    if owners is not None and not (
        isinstance(owners, list) and all(isinstance(owner, dict) for owner in owners)
    ):
        return "metadata.ownerReferences is not a list of mappings"
    for field in ("labels", "annotations"):
        for path, fault in text_faults(metadata.get(field)):
            return f"{'.'.join(['metadata', field, *map(shown_name, path)])} {fault}"
    namespace = metadata.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        return "metadata.namespace is not a string"
    fault = name_fault("namespace", namespace) if namespace else ""
    if fault:
        return f"metadata.namespace {fault}"
    return integer_problem(document)


def text_faults(values: object) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield path and fault of what cannot be labels or annotations.

    A value may be null, which the API server takes for an empty text.
    """
    if not isinstance(values, dict | None):
        yield (), f"is {kind_of_value(values)} and not a mapping"
        return
    for name, value in (values or {}).items():
        if fault := text_fault(value):
            yield (str(name),), fault


def integer_problem(document: object) -> str | None:
    """Return which integer JSON for the API server cannot hold."""
    path = next(_too_large(document), None)
    return None if path is None else f"the integer at {path} does not fit into 64 bits"


def _too_large(value: object) -> Iterator[str]:
    """Yield the paths of integers that JSON for the API server cannot hold."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from (f".{name}{path}" for path in _too_large(item))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from (f"[{index}]{path}" for path in _too_large(item))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield ""
