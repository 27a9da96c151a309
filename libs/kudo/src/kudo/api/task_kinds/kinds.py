"""The kinds of tasks: a class for each, and `KINDS`, which has one of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kudo.api.expressions import CHECK_OF_ONE, CHECK_OF_SEVERAL
from kudo.api.names import API_VERSION
from kudo.api.problems import path_text
from kudo.api.task_errors import FatalTaskError, TransientTaskError
from kudo.api.task_kinds.job import job_faults, templates_in
from kudo.api.task_kinds.kind import (
    USE_DUMMY,
    Action,
    Expression,
    InlineTemplate,
    Needing,
    Parameters,
    Path,
    Preview,
    Shown,
    TaskFields,
    TaskKind,
    TemplateUse,
)
from kudo.api.wire import JsonObject


class Apply(TaskKind):
    name = "Apply"
    does = "applies objects and waits until they are healthy"
    needed = ("resources",)
    action = Action.APPLY
    owns = True


class Delete(TaskKind):
    name = "Delete"
    does = "deletes objects and waits until they are gone"
    needed = ("resources",)
    optional = ("wait",)
    action = Action.DELETE
    recorded_first = True


# What Go's `strconv.ParseBool` reads.
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class Toggle(TaskKind):
    name = "Toggle"
    does = "applies while the parameter is true, deletes otherwise"
    needed = ("parameter", "resources")
    action = Action.TOGGLE
    recorded_first = True
    owns = True

    def problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.resources:
            yield f"toggle task has an empty resource list. {USE_DUMMY}"
        if not task.spec.parameter:
            yield "Missing parameter to evaluate the Toggle Task"

    def installation_problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.parameter:
            yield f"toggle task {task.name} does not have parameter specified"

    def switch(self, task: TaskFields) -> str:
        return task.spec.parameter or ""

    def only_deletes(self, task: TaskFields, parameters: Parameters) -> bool:
        return not toggled_on(task, parameters())


def toggled_on(task: TaskFields, parameters: Mapping[str, object]) -> bool:
    """Return whether a Toggle task applies its resources (True) or deletes them (False).

    Args:
        task: The task.
        parameters: The values as templates see them.

    Raises:
        FatalTaskError: with reason ToggleTaskError, if the parameter has no boolean value.
    """
    name = task.spec.parameter or ""
    if name not in parameters:
        raise FatalTaskError("ToggleTaskError", f"no value for parameter {name} found")
    value = parameters[name]
    if not isinstance(value, str):
        raise FatalTaskError("ToggleTaskError", f"value of parameter {name} isn't a string")
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise FatalTaskError(
        "ToggleTaskError",
        f'could not parse value of parameter {name}: strconv.ParseBool: parsing "{value[:200]}": '
        "invalid syntax; "
        "use true or false",
    )


PIPE: Final = "Pipe"
_KEY: Final = re.compile(r"[a-zA-Z0-9_\-]+")
_ARTIFACTS: Final = ("ConfigMap", "Secret")


class Pipe(TaskKind):
    name = PIPE
    does = "runs a pod and keeps its files in ConfigMaps and Secrets"
    needed = ("pod", "pipe")
    recorded_first = True
    owns = True

    def problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.pipe:
            yield "pipe task has an empty pipe files list"
        for item in task.spec.pipe or ():
            fields = (item.file, item.env_file, item.kind, item.key)
            shown = "{" + " ".join(filter(None, fields)) + "}"
            if bool(item.file) == bool(item.env_file):
                text = "must have either 'file' or 'envFile' field set but not both"
                yield f"pipe file {shown} {text}"
            if item.kind not in _ARTIFACTS:
                yield f"invalid pipe kind (must be Secret or ConfigMap): {shown}"
            if not _KEY.fullmatch(item.key or ""):
                text = "invalid pipe key (only letters, numbers and _ and - are allowed)"
                yield f"{text}: {shown}"

    def installation_problems(self, task: TaskFields) -> Iterator[str]:
        if not task.spec.pipe:
            yield f"task {task.name} does not have pipe files specified"

    def templates(self, task: TaskFields) -> Iterator[TemplateUse]:
        yield TemplateUse(task.spec.pod or "", ("pod",))

    def add_needs(self, task: TaskFields, needs: Needing) -> None:
        template = task.spec.pod or ""
        needs.need("v1", "Pod", Action.TOGGLE, template)
        needs.copy_files(template)
        # Each file becomes an object that the Instance owns.
        for file in task.spec.pipe or ():
            artifact = "Secret" if file.kind == "Secret" else "ConfigMap"
            needs.need("v1", artifact, Action.APPLY, template)

    def shown(self, preview: Preview) -> Iterator[Shown]:
        template = preview.task.spec.pod or ""
        remark = "the pod of a Pipe task; its files become ConfigMaps and Secrets"
        yield Shown("apply", template, preview.pod(template), remark)

    def listed(self, task: TaskFields) -> str:
        return task.spec.pod or ""


def is_pipe(task: TaskFields) -> bool:
    """Return whether files of a pod of a task are found as `.Pipes`."""
    return task.kind == PIPE


KUDO_OPERATOR: Final = "KudoOperator"


class KudoOperator(TaskKind):
    name = KUDO_OPERATOR
    does = "has an Instance of another operator"
    needed = ("package",)
    optional = ("parameterFile", "instanceName", "appVersion", "operatorVersion")

    def problems(self, task: TaskFields) -> Iterator[str]:
        yield from self.problems_as_written(task)
        if not task.spec.operator_version:
            yield f"kudo operator task '{task.name}' has an empty operatorVersion"

    def problems_as_written(self, task: TaskFields) -> Iterator[str]:
        """Yield the problems of a task that need not name a version: installing adds it."""
        if not task.spec.package:
            yield f"kudo operator task '{task.name}' has an empty package name"

    def templates(self, task: TaskFields) -> Iterator[TemplateUse]:
        if task.spec.parameter_file:
            yield TemplateUse(task.spec.parameter_file, ("parameterFile",))

    def add_needs(self, _: TaskFields, needs: Needing) -> None:
        needs.need(API_VERSION, "Instance", Action.APPLY)
        needs.add_child()

    def shown(self, preview: Preview) -> Iterator[Shown]:
        remark = "the child instance; its own plans are not rendered"
        yield Shown("apply", preview.task.spec.parameter_file or "", preview.child(), remark)

    def word(self) -> str:
        # The word of KUDO 0.19, which does not know the kind in trees.
        return "unknown"

    def parts(self, _task: TaskFields) -> Iterator[tuple[str, str]]:
        return iter(())


class Job(TaskKind):
    name = "Job"
    does = "runs a program to its end, in a new Job for each run"
    needed = ("job",)
    recorded_first = True
    owns = True
    extended = True
    sole = "job"

    def problems(self, task: TaskFields) -> Iterator[str]:
        for path, fault in self.faults(task):
            yield f"job task '{task.name}': {path_text(path)}: {fault}"

    def faults(self, task: TaskFields) -> Iterator[tuple[Path, str]]:
        if task.spec.job is None:
            yield ("job",), "is needed: the program that runs"
            return
        for path, fault in job_faults(task.spec.job.to_wire()):
            yield ("job", *path), fault

    def installation_problems(self, task: TaskFields) -> Iterator[str]:
        # KUDO 0.19 has no such tasks, so nothing that it takes is refused.
        return self.problems(task)

    def templates(self, task: TaskFields) -> Iterator[TemplateUse]:
        job = task.spec.job
        if job is not None and job.script:
            yield TemplateUse(job.script, ("job", "script"))
        if job is not None and job.pod_template:
            yield TemplateUse(job.pod_template, ("job", "podTemplate"))

    def outputs(self, task: TaskFields) -> Sequence[str]:
        return () if task.spec.job is None else task.spec.job.outputs or ()

    def inline_templates(self, task: TaskFields) -> Iterator[InlineTemplate]:
        fields = {} if task.spec.job is None else task.spec.job.to_wire()
        for path, text in templates_in(fields):
            yield InlineTemplate(("job", *path), text)

    def add_needs(self, _: TaskFields, needs: Needing) -> None:
        needs.need("batch/v1", "Job", Action.RUN)
        for action in (Action.READ, Action.LIST):
            needs.need("v1", "Pod", action)

    def shown(self, preview: Preview) -> Iterator[Shown]:
        job = preview.task.spec.job
        template = "" if job is None else job.script or job.pod_template or ""
        remark = "the Job of a run; in another run the end of its name is another one"
        yield Shown("apply", template, preview.job(), remark)

    def listed(self, task: TaskFields) -> str:
        return next((use.name for use in self.templates(task)), "")


class Dummy(TaskKind):
    name = "Dummy"
    does = "does nothing, or fails, for tests of plans"
    optional = ("done", "wantErr", "fatal")
    begins_with = MappingProxyType({"done": True})

    def never_waits(self, task: TaskFields) -> bool:
        return bool(task.spec.fatal if task.spec.want_err else task.spec.done)


def dummy_done(task: TaskFields) -> bool:
    """Return whether a Dummy task is done.

    Raises:
        FatalTaskError, TransientTaskError: it was asked to fail; reason DummyTaskError.
    """
    if task.spec.want_err:
        failure = FatalTaskError if task.spec.fatal else TransientTaskError
        raise failure("DummyTaskError", "dummy error")
    return bool(task.spec.done)


class Check(TaskKind):
    name = "Check"
    does = "waits until an expression over objects is true"
    needed = ("check",)
    extended = True
    sole = "check"

    def problems(self, task: TaskFields) -> Iterator[str]:
        for path, fault in self.faults(task):
            yield f"check task '{task.name}': {path_text(path)}: {fault}"

    def faults(self, task: TaskFields) -> Iterator[tuple[Path, str]]:
        check = task.spec.check
        if check is None:
            yield ("check",), "is needed: the objects, and what is waited for"
            return
        needed = {"apiVersion": check.api_version, "kind": check.kind, "until": check.until}
        for field, text in needed.items():
            if not text:
                yield ("check", field), "is needed"
        if not (check.name or check.selector):
            yield ("check",), "needs a name or a selector"
        elif check.name and check.selector:
            yield ("check", "selector"), "there is a name as well; leave one of them out"

    def installation_problems(self, task: TaskFields) -> Iterator[str]:
        # KUDO 0.19 has no such tasks, so nothing that it takes is refused.
        return self.problems(task)

    def inline_templates(self, task: TaskFields) -> Iterator[InlineTemplate]:
        check = task.spec.check
        if check is None:
            return
        texts = {"apiVersion": check.api_version, "kind": check.kind, "name": check.name}
        for field, text in texts.items():
            if text:
                yield InlineTemplate(("check", field), text)
        for label, text in (check.selector or {}).items():
            yield InlineTemplate(("check", "selector", label), text)

    def expressions(self, task: TaskFields) -> Iterator[Expression]:
        check = task.spec.check
        if check is None:
            return
        scope = CHECK_OF_SEVERAL if check.selector else CHECK_OF_ONE
        # In the order in which they are evaluated.
        texts = {"failure": check.failure, "until": check.until, "message": check.message}
        for field, text in texts.items():
            if text:
                yield Expression(("check", field), text, scope, "CheckInvalid", field == "message")

    def add_needs(self, task: TaskFields, needs: Needing) -> None:
        texts = needs.texts()
        if texts:
            named = task.spec.check is not None and task.spec.check.name
            action = Action.READ if named else Action.LIST
            needs.need(texts["check.apiVersion"], texts["check.kind"], action)

    def shown(self, preview: Preview) -> Iterator[Shown]:
        check, texts = preview.task.spec.check, preview.texts()
        labels = check.selector if check is not None and check.selector else ()
        selector = {label: texts[f"check.selector.{label}"] for label in labels}
        # Not all objects with these labels are known here.
        metadata: JsonObject = {"labels": selector} if selector else {"name": texts["check.name"]}
        read = {"apiVersion": texts["check.apiVersion"], "kind": texts["check.kind"]}
        until = " ".join(check.until.split()) if check is not None else ""
        yield Shown("read", "", {**read, "metadata": metadata}, f"until {until}")

    def listed(self, task: TaskFields) -> str:
        check = task.spec.check
        if check is None:
            return ""
        selector = ",".join(f"{label}={text}" for label, text in (check.selector or {}).items())
        return f"{check.kind} {check.name or selector}"

    def parts(self, task: TaskFields) -> Iterator[tuple[str, str]]:
        yield "", self.listed(task)


class _Unknown(TaskKind):
    name = "unknown"
    does = "cannot be run"


_UNKNOWN: Final = _Unknown()


KINDS: Final[Mapping[str, TaskKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Apply(),
            Delete(),
            Toggle(),
            Pipe(),
            KudoOperator(),
            Job(),
            Check(),
            Dummy(),
        )
    }
)
"""By their names, in the order in which people are shown them."""
DEFAULT_KIND: Final = "Apply"
"""What a new task is unless somebody says otherwise."""


def kind_of(task: TaskFields) -> TaskKind:
    """Return the kind of a task; one that can do nothing if there is no such kind."""
    return KINDS.get(task.kind) or _UNKNOWN


def check_task(task: TaskFields, *, as_written: bool = False) -> None:
    """Refuse a task that no engine can run.

    Args:
        task: The task.
        as_written: Whether it is a task of a package, which installing adds to.

    Raises:
        FatalTaskError: with reason TaskBuildError and the original's text.
    """
    kind = KINDS.get(task.kind)
    if kind is None:
        raise FatalTaskError("TaskBuildError", f"unknown task kind {task.kind}")
    for problem in kind.problems_as_written(task) if as_written else kind.problems(task):
        raise FatalTaskError("TaskBuildError", f"task validation error: {problem}")


def templates_of(task: TaskFields) -> Iterator[TemplateUse]:
    """Yield the templates that a task needs, with the field of its spec that names each."""
    return kind_of(task).templates(task)


def any_kind() -> str:
    """Return the names of all kinds, for people: `Apply, Delete or Dummy`."""
    *first, last = KINDS
    return f"{', '.join(first)} or {last}"


def kinds_with(field: str) -> str:
    """Return the names of the kinds whose spec can have a field, for people."""
    return ", ".join(kind.name for kind in KINDS.values() if field in kind.fields)
