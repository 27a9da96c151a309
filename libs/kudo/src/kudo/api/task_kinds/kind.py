"""What a kind of task is.

All that differs from kind to kind is asked of the kind: checks, rights, previews, pages and
commands follow from it. `kudo_reconciler.execution.tasks` has how tasks of each kind run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, Protocol

from kudo.api.expressions import Scope
from kudo.api.problems import path_text
from kudo.api.wire import JsonObject

Path = tuple[str | int, ...]
Parameters = Callable[[], Mapping[str, object]]
"""Returns the values of parameters as templates see them, once a task has asked for them."""
USE_DUMMY: Final = "if that's what you need, use a Dummy task instead"


class Action(Enum):
    """What a task does with objects.

    Attributes:
        APPLY: Server-side apply, after a read if it exists.
        DELETE: Read and delete; a cluster-scoped object that others share is patched instead.
        TOGGLE: Either, by the value of a parameter.
        OWN: Apply and, since the template asks for it, delete with the Instance.
        PRUNE: Apply, and delete once no plan applies it any more.
        READ: Read alone.
        LIST: List alone.
        RUN: Create, list and delete: no object is applied again.
    """

    APPLY = "apply"
    DELETE = "delete"
    TOGGLE = "toggle"
    OWN = "own"
    PRUNE = "prune"
    READ = "read"
    LIST = "list"
    RUN = "run"


class TemplateUse(NamedTuple):
    """A template, or a script, that a task names.

    Attributes:
        name: Of the template.
        path: Of the field in the spec of the task.
    """

    name: str
    path: Path

    @property
    def field(self) -> str:
        """The path in the words of error messages: `resources[0]`, `job.script`."""
        return path_text(self.path)

    @property
    def what(self) -> str:
        """What a package calls it."""
        return "script" if self.path[-1] == "script" else "template"


class InlineTemplate(NamedTuple):
    """A text of the spec of a task that is a template itself.

    Attributes:
        path: Of the field in the spec of the task.
        text: The text.
    """

    path: Path
    text: str

    @property
    def field(self) -> str:
        """The path in the words of error messages: `check.name`."""
        return path_text(self.path)


class Expression(NamedTuple):
    """A text of the spec of a task that is an expression in CEL.

    Attributes:
        path: Of the field in the spec of the task.
        text: The text.
        scope: What it can use.
        reason: The reason of its errors.
        gives_text: Whether it gives a text; else it is true or false.
    """

    path: Path
    text: str
    scope: Scope
    reason: str
    gives_text: bool = False


class Shown(NamedTuple):
    """What a task does with one object, as a preview shows it.

    Attributes:
        action: `nothing` where there is no object.
        template: Name of the template; empty where the object is not from one.
        object: The object.
        remark: What is to be known of the object; empty for one that is as its template says.
    """

    action: Literal["apply", "delete", "read", "nothing"]
    template: str = ""
    object: JsonObject | None = None
    remark: str = ""


class PipeFileFields(Protocol):
    """A file of a Pipe task. Kinds read protocols, since the API models are above this package."""

    @property
    def file(self) -> str | None: ...
    @property
    def env_file(self) -> str | None: ...
    @property
    def kind(self) -> str | None: ...
    @property
    def key(self) -> str | None: ...


class JobFields(Protocol):
    """The program of a Job task."""

    @property
    def script(self) -> str | None: ...
    @property
    def pod_template(self) -> str | None: ...
    @property
    def outputs(self) -> Sequence[str] | None: ...
    def to_wire(self) -> JsonObject:
        """Return all fields as JSON."""


class CheckFields(Protocol):
    """What a Check task waits for."""

    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def selector(self) -> Mapping[str, str] | None: ...
    @property
    def until(self) -> str: ...
    @property
    def failure(self) -> str | None: ...
    @property
    def message(self) -> str | None: ...


class TaskSpecFields(Protocol):
    """The fields of all kinds of task."""

    @property
    def resources(self) -> Sequence[str] | None: ...
    @property
    def parameter(self) -> str | None: ...
    @property
    def pod(self) -> str | None: ...
    @property
    def pipe(self) -> Sequence[PipeFileFields] | None: ...
    @property
    def package(self) -> str | None: ...
    @property
    def operator_version(self) -> str | None: ...
    @property
    def app_version(self) -> str | None: ...
    @property
    def parameter_file(self) -> str | None: ...
    @property
    def job(self) -> JobFields | None: ...
    @property
    def want_err(self) -> bool | None: ...
    @property
    def fatal(self) -> bool | None: ...
    @property
    def done(self) -> bool | None: ...
    @property
    def check(self) -> CheckFields | None: ...


class TaskFields(Protocol):
    """A task."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def spec(self) -> TaskSpecFields: ...


class Preview(Protocol):
    """Renders the templates of a task without a cluster; raises what the preview ends with."""

    @property
    def task(self) -> TaskFields:
        """Return the task."""

    def parameters(self) -> Mapping[str, object]:
        """Return the values of parameters as templates see them."""

    def objects(self, template: str) -> list[JsonObject]:
        """Return the objects that a template renders to."""

    def pod(self, template: str) -> JsonObject:
        """Return the pod that a template renders to."""

    def job(self) -> JsonObject:
        """Return the Job that the task makes."""

    def child(self) -> JsonObject:
        """Return the Instance that the task describes."""

    def texts(self) -> Mapping[str, str]:
        """Return what the templates in the spec of the task render to, by their fields."""


class Needing(Protocol):
    """Takes down what a task sends, and why."""

    def need(self, api_version: str, kind: str, action: Action, template: str = "") -> None:
        """Add that objects of a kind are worked on."""

    def copy_files(self, template: str) -> None:
        """Add that commands run in the pod of a template, to copy files."""

    def add_child(self) -> None:
        """Have the plans of the Instance looked at that the task describes."""

    def texts(self) -> Mapping[str, str]:
        """Return what the templates in the spec of the task render to, by their fields.

        It is empty, and noted, where one cannot be rendered.
        """


class TaskKind:
    """A kind of task; `KINDS` has one of each.

    Attributes:
        name: As packages write it.
        does: What a task of the kind does, for tables.
        needed: Fields of its spec that it needs, as packages write them.
        optional: Fields that it can have as well.
        action: What it does with the objects of its `resources`; None if it has none.
        recorded_first: Whether its end is stored before anything of the next task of its step is
            sent: it must not run again after that.
        owns: Whether objects that it makes have the Instance as their owner.
        extended: Whether KUDO 0.19 does not have it.
        begins_with: What the spec of a new task has, whatever else is asked.
        sole: The only field of its spec; a step that has such a task in it gives that alone.
    """

    name: str
    does: str
    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    action: Action | None = None
    recorded_first: bool = False
    owns: bool = False
    extended: bool = False
    begins_with: "Mapping[str, bool]" = MappingProxyType({})
    sole: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields that its spec can have."""
        return self.needed + self.optional

    @property
    def applies(self) -> bool:
        """Whether it may apply the objects of its `resources`."""
        return self.action in {Action.APPLY, Action.TOGGLE}

    def problems(self, task: TaskFields) -> Iterator[str]:
        """Yield why no engine can run a task, in the words of KUDO 0.19."""
        if self.action is not None and not task.spec.resources:
            yield f"{self.name.lower()} task '{task.name}' has an empty resource list. {USE_DUMMY}"

    def problems_as_written(self, task: TaskFields) -> Iterator[str]:
        """Yield the problems of a task of a package, to which installing may add something."""
        return self.problems(task)

    def faults(self, _task: TaskFields) -> Iterator[tuple[Path, str]]:
        """Yield the problems that have a place: the path of a field in the spec, and what it is."""
        return iter(())

    def installation_problems(self, _task: TaskFields) -> Iterator[str]:
        """Yield why KUDO 0.19 does not install a task, besides templates that are missing."""
        return iter(())

    def templates(self, task: TaskFields) -> Iterator[TemplateUse]:
        """Yield the templates that a task needs."""
        if self.action is not None:
            for number, name in enumerate(task.spec.resources or ()):
                yield TemplateUse(name, ("resources", number))

    def inline_templates(self, _task: TaskFields) -> Iterator[InlineTemplate]:
        """Yield the texts of the spec of a task that are templates themselves."""
        return iter(())

    def expressions(self, _task: TaskFields) -> Iterator[Expression]:
        """Yield the texts of the spec of a task that are expressions."""
        return iter(())

    def outputs(self, _task: TaskFields) -> Sequence[str]:
        """Return the names of the texts that a task hands on to later steps."""
        return ()

    def switch(self, _task: TaskFields) -> str | None:
        """Return the parameter that has to be a boolean; empty if it is missing, None if none."""
        return None

    def only_deletes(self, _task: TaskFields, _parameters: Parameters) -> bool:
        """Return whether a task creates nothing.

        Raises:
            FatalTaskError: a parameter that decides cannot be used.
        """
        return self.action is Action.DELETE

    def never_waits(self, _task: TaskFields) -> bool:
        """Return whether a task ends with its first attempt.

        A Delete that does not wait does not: a deletion that is rejected for now is retried.
        """
        return False

    def add_needs(self, _task: TaskFields, _needs: Needing) -> None:
        """Add what a task sends besides the objects of its `resources`."""

    def shown(self, preview: Preview) -> Iterator[Shown]:
        """Yield what a task does, with its objects."""
        if self.action is None:
            yield Shown("nothing")
            return
        for template in dict.fromkeys(preview.task.spec.resources or ()):
            for obj in preview.objects(template):
                yield Shown(self._does(preview), template, obj)

    def _does(self, preview: Preview) -> Literal["apply", "delete", "read"]:
        if self.action is Action.READ:
            return "read"
        return "delete" if self.only_deletes(preview.task, preview.parameters) else "apply"

    def word(self) -> str:
        """Return its name in a tree of plans."""
        return self.name.lower()

    def listed(self, task: TaskFields) -> str:
        """Return what a table of tasks shows of its templates."""
        return f"[{' '.join(task.spec.resources or ())}]"

    def parts(self, task: TaskFields) -> Iterator[tuple[str, str]]:
        """Yield what a tree of plans shows below a task: a word, which may be empty, and a name."""
        switch = self.switch(task)
        if switch is not None:
            yield "parameter", switch
        for use in self.templates(task):
            yield "", use.name
