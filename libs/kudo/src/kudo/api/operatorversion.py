"""The OperatorVersion: templates, tasks, parameters and plans of one version of an operator."""

from collections.abc import Mapping
from functools import cached_property
from typing import Final, Self

from pydantic import Field, JsonValue, PrivateAttr, ValidationError

from kudo.api import bounds
from kudo.api.base import (
    AnyObject,
    ApiModel,
    ApiObject,
    Duration,
    Name,
    ObjectReference,
    OutputName,
    TemplateText,
    Text,
    at_most,
)
from kudo.api.fingerprints import fingerprint_of_object
from kudo.api.names import API_VERSION
from kudo.api.parameter import Parameter
from kudo.api.problems import path_text
from kudo.api.task_kinds import any_kind, kind_of, kinds_with
from kudo.api.wire import JsonObject

_NULLABLE: dict[str, JsonValue] = {"nullable": True}
_TIMEOUT = (
    "How long it may take, as a Go duration such as 1h30m; the run fails after it. Paused time "
    "does not count."
)


_UNKNOWN: Final = "extra_forbidden"
_EXPRESSION: dict[str, JsonValue] = {"maxLength": bounds.EXPRESSION}
_WHEN = (
    "CEL over `params`, `runParams`, `instance` and `outputs` that decides, when its turn comes, "
    "whether it runs; where it is false, it is skipped."
)


def _of(field: str, text: str) -> str:
    """Return the description of a field of the spec of tasks, with the kinds that have it."""
    return f"{text} ({kinds_with(field)})."


class PipeFile(ApiModel):
    """One file that a Pipe task hands on."""

    file: Text | None = Field(None, description="Path of the file in the pipe pod.")
    env_file: Text | None = Field(None, description="Path of a file of KEY=VALUE lines.")
    kind: Name | None = Field(None, description="ConfigMap or Secret: what the file becomes.")
    key: Name | None = Field(None, description="Name under which templates find it in .Pipes.")


def _between(field: str) -> dict[str, JsonValue]:
    """Return the schema extension that bounds a number of a Job task."""
    least, most = bounds.JOB_NUMBERS[field]
    return {"format": "int32", "minimum": least, "maximum": most}


_WINS = "It wins over that of the podTemplate."


class JobSpec(ApiModel):
    """The program of a Job task. Every text in it is a template, but `script` and `podTemplate`."""

    script: Text | None = Field(
        None,
        description="A file of the folder scripts/ of the package, such as scripts/backup.sh: a "
        "template, which /bin/sh of the image runs.",
    )
    command: tuple[Text, ...] | None = Field(
        None,
        description="Program and its first arguments, in place of a script; as in Kubernetes.",
        json_schema_extra=at_most(bounds.JOB_ARGUMENTS),
    )
    args: tuple[Text, ...] | None = Field(
        None,
        description="Arguments of the script ($1, $2 and so on), or of the command.",
        json_schema_extra=at_most(bounds.JOB_ARGUMENTS),
    )
    image: Text | None = Field(
        None, description=f"Image of the container. Needed without podTemplate. {_WINS}"
    )
    env: tuple[AnyObject, ...] | None = Field(
        None,
        description="Variables of the container, as in Kubernetes: a name, and value, or valueFrom "
        "with secretKeyRef or configMapKeyRef. They replace those of the podTemplate of the same "
        "name.",
        json_schema_extra=at_most(bounds.JOB_ENV),
    )
    volumes: tuple[AnyObject, ...] | None = Field(
        None,
        description="Volumes of the pod, as in Kubernetes. They replace those of the podTemplate "
        "of the same name.",
        json_schema_extra=at_most(bounds.JOB_VOLUMES),
    )
    mounts: tuple[AnyObject, ...] | None = Field(
        None,
        description="Where the container has volumes (volumeMounts of Kubernetes). They replace "
        "those of the podTemplate at the same mountPath.",
        json_schema_extra=at_most(bounds.JOB_VOLUMES),
    )
    service_account_name: Text | None = Field(
        None,
        description="Account of the pod, whose token it then gets, for a program that uses the "
        f"Kubernetes API. {_WINS}",
    )
    resources: AnyObject | None = Field(
        None,
        description=f"Requests and limits of the container, as in Kubernetes. {_WINS}",
    )
    backoff_limit: int | None = Field(
        None,
        description="How many times a pod that failed is replaced by another one; 0 if absent.",
        json_schema_extra=_between("backoffLimit"),
    )
    active_deadline_seconds: int | None = Field(
        None,
        description="Seconds after which Kubernetes ends the Job, which has then failed.",
        json_schema_extra=_between("activeDeadlineSeconds"),
    )
    pod_template: Text | None = Field(
        None,
        description="Template of a pod that is the base of all this: its container `main`, or else "
        "its first one, runs the program.",
    )
    keep: int | None = Field(
        None,
        description="How many Jobs stay of former runs, and of this one; 1 if absent.",
        json_schema_extra=_between("keep"),
    )
    outputs: tuple[OutputName, ...] | None = Field(
        None,
        description="Names of texts that the program hands on to later steps, which are no "
        'secrets: it writes them as a JSON object, such as {"size": "3"}, to '
        "/dev/termination-log.",
        json_schema_extra=at_most(bounds.OUTPUTS),
    )


class CheckSpec(ApiModel):
    """What a Check task waits for: either one object, or all objects with some labels."""

    api_version: Name = Field("", description="API version of the objects; a template.")
    kind: Name = Field("", description="Kind of the objects; a template.")
    name: Text | None = Field(None, description="Name of the only object; a template.")
    selector: Mapping[str, Text] | None = Field(
        None,
        description="Labels of the objects; the values are templates.",
        json_schema_extra={"maxProperties": bounds.SELECTOR},
    )
    until: str = Field(
        "",
        description="CEL that is true once the task is done, over `objects`, `params`, "
        "`runParams`, `instance` and, with a name, `self`.",
        json_schema_extra=_EXPRESSION,
    )
    failure: str | None = Field(
        None, description="CEL that is true if the run is to fail.", json_schema_extra=_EXPRESSION
    )
    message: str | None = Field(
        None,
        description="CEL that gives a text: what the task waits for, or why it failed.",
        json_schema_extra=_EXPRESSION,
    )


class TaskSpec(ApiModel):
    """The union of the fields of all kinds of task."""

    resources: tuple[Text, ...] | None = Field(
        None,
        description=_of("resources", "Templates that are applied or deleted, in order"),
        json_schema_extra=_NULLABLE | at_most(bounds.RESOURCES),
    )
    parameter: Name | None = Field(
        None,
        description=_of("parameter", "Boolean parameter that decides between apply and delete"),
    )
    pod: Text | None = Field(
        None, description=_of("pod", "Template of the pod that makes the files")
    )
    pipe: tuple[PipeFile, ...] | None = Field(
        None,
        description=_of("pipe", "Files that the pod hands on"),
        json_schema_extra=_NULLABLE | at_most(bounds.PIPE_FILES),
    )
    package: Name | None = Field(None, description=_of("package", "Operator of the child"))
    instance_name: Name | None = Field(None, description=_of("instanceName", "Name of the child"))
    app_version: Name | None = Field(
        None, description=_of("appVersion", "App version of the child")
    )
    operator_version: Name | None = Field(
        None, description=_of("operatorVersion", "Operator version of the child")
    )
    parameter_file: Text | None = Field(
        None, description=_of("parameterFile", "Template of the child's parameters")
    )
    job: JobSpec | None = Field(None, description=_of("job", "The program that runs"))
    wait: bool | None = Field(
        None, description=_of("wait", "Whether to wait until the objects are gone; true if absent")
    )
    want_err: bool | None = Field(None, description=_of("wantErr", "End with an error"))
    fatal: bool | None = Field(None, description=_of("fatal", "Make that error fatal"))
    done: bool | None = Field(None, description=_of("done", "Be done at once"))
    check: CheckSpec | None = Field(
        None, description=_of("check", "Objects, and the expression that is waited for")
    )


class Task(ApiModel):
    name: Name = Field("", description="Name by which steps refer to the task.")
    kind: Name = Field("", description=f"{any_kind()}.")
    spec: TaskSpec = Field(TaskSpec(), description="What the task does, by its kind.")
    timeout: Duration | None = Field(None, description=_TIMEOUT)
    progress_deadline: Duration | None = Field(
        None,
        description="How long what the task waits for may stay unchanged, as a Go duration; the "
        "run fails after it.",
    )


class Step(ApiModel):
    name: Name = Field("", description="Name of the step, unique in its phase.")
    tasks: tuple[Name, ...] = Field(
        (),
        description="Names of the tasks that the step runs.",
        json_schema_extra=at_most(bounds.STEP_TASKS),
    )
    timeout: Duration | None = Field(None, description=_TIMEOUT)
    when: str | None = Field(None, description=_WHEN, json_schema_extra=_EXPRESSION)


class Phase(ApiModel):
    name: Name = Field("", description="Name of the phase, unique in its plan.")
    strategy: Name = Field("", description="Whether steps run serial (the default) or parallel.")
    steps: tuple[Step, ...] = Field(
        (), description="The steps of the phase.", json_schema_extra=at_most(bounds.STEPS)
    )
    timeout: Duration | None = Field(None, description=_TIMEOUT)
    when: str | None = Field(None, description=_WHEN, json_schema_extra=_EXPRESSION)


class Plan(ApiModel):
    strategy: Name = Field("", description="Whether phases run serial (the default) or parallel.")
    phases: tuple[Phase, ...] | None = Field(
        None,
        description="The phases of the plan.",
        json_schema_extra=_NULLABLE | at_most(bounds.PHASES),
    )
    timeout: Duration | None = Field(None, description=_TIMEOUT)
    parameters: tuple[Parameter, ...] | None = Field(
        None,
        description="What whoever triggers the plan can give to that run, `.RunParams` of its "
        "templates; none has a trigger or is immutable.",
        json_schema_extra=at_most(bounds.RUN_PARAMETERS),
    )

    @cached_property
    def declared(self) -> Mapping[str, Parameter]:
        """The parameters of a run by name; of duplicates the first."""
        return {p.name: p for p in reversed(self.parameters or ())}

    @cached_property
    def required_parameters(self) -> tuple[str, ...]:
        """The parameters of a run without which it does not begin."""
        needed = (p for p in self.declared.values() if p.required and p.default is None)
        return tuple(sorted(p.name for p in needed))


class OperatorVersionSpec(ApiModel):
    """The content of the package: parameters, plans, tasks and templates."""

    operator: ObjectReference | None = Field(None, description="The Operator this is a version of.")
    version: Name | None = Field(None, description="Version of the package.")
    app_version: Name | None = Field(None, description="Version of the software it runs.")
    templates: Mapping[str, TemplateText] | None = Field(
        None,
        description="Template texts by name.",
        json_schema_extra={"maxProperties": bounds.TEMPLATES},
    )
    tasks: tuple[Task, ...] | None = Field(
        None, description="What plans can do.", json_schema_extra=at_most(bounds.TASKS)
    )
    parameters: tuple[Parameter, ...] | None = Field(
        None, description="What Instances can set.", json_schema_extra=at_most(bounds.PARAMETERS)
    )
    plans: Mapping[str, Plan] | None = Field(
        None,
        description="The plans by name.",
        json_schema_extra=_NULLABLE | {"maxProperties": bounds.PLANS},
    )
    connection_string: Text | None = Field(None, description="Kept for old objects; not used.")
    prune: bool | None = Field(
        None,
        description="Whether objects that plans no longer apply are deleted, for Instances that "
        "do not say it themselves.",
    )
    upgradable_from: tuple[ObjectReference, ...] | None = Field(
        None,
        description="Versions from which an Instance may be upgraded to this one.",
        json_schema_extra=at_most(bounds.UPGRADABLE_FROM),
    )


class OperatorVersionStatus(ApiModel):
    """Kept for old objects; not used."""


class OperatorVersion(ApiObject):
    """One version of an operator."""

    api_version: str = API_VERSION
    kind: str = "OperatorVersion"
    spec: OperatorVersionSpec = OperatorVersionSpec()
    status: OperatorVersionStatus | None = None
    _unknown_fields: tuple[str, ...] = PrivateAttr(())

    @classmethod
    def from_wire(cls, data: JsonObject) -> Self:
        """Read a JSON object as the API server sends it; what is unknown is noted.

        Raises:
            pydantic.ValidationError: a field has a type that the schema does not allow.
        """
        spec = data.get("spec")
        unknown: list[str] = []
        if isinstance(spec, dict):
            try:
                # Read once: nearly always nothing is unknown.
                data = {**data, "spec": OperatorVersionSpec.model_validate(spec, extra="forbid")}
            except ValidationError as error:
                found = error.errors(include_url=False, include_input=False, include_context=False)
                unknown = [path_text(e["loc"]) for e in found if e["type"] == _UNKNOWN]
        version = super().from_wire(data)
        version._unknown_fields = tuple(unknown)  # noqa: SLF001 - of its own class
        return version

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """The paths of fields of the spec that a later KUDO may know.

        The CRD drops whatever no KUDO knows, so there are some only while an older process runs
        beside a newer CRD.
        """
        return self._unknown_fields

    @property
    def plans(self) -> Mapping[str, Plan]:
        return self.spec.plans or {}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.spec.parameters or ()

    @property
    def operator_name(self) -> str:
        return (self.spec.operator.name if self.spec.operator else None) or ""

    @cached_property
    def declared(self) -> Mapping[str, Parameter]:
        """The parameters by name; of duplicates the first."""
        return {p.name: p for p in reversed(self.parameters)}

    @cached_property
    def digest(self) -> str:
        """A prefix of the SHA-256 of the spec; metadata does not count.

        Computed at the first use, which takes up to 15 ms for a spec of 1.5 MiB, and then cached.
        """
        return fingerprint_of_object(self.spec.to_wire())

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name; of duplicates the first, as the original resolves them."""
        return {task.name: task for task in reversed(self.spec.tasks or ())}

    @cached_property
    def outputs(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the outputs of each task that declares some."""
        declared = {name: tuple(kind_of(task).outputs(task)) for name, task in self.tasks.items()}
        return {name: outputs for name, outputs in declared.items() if outputs}

    @cached_property
    def has_run_parameters(self) -> bool:
        """Whether a plan declares parameters of its runs."""
        return any(plan.parameters for plan in self.plans.values())

    def parameter(self, name: str) -> Parameter | None:
        return self.declared.get(name)

    def task(self, name: str) -> Task | None:
        return self.tasks.get(name)


class Maintainer(ApiModel):
    name: Name | None = Field(None, description="Name of the maintainer.")
    email: Text | None = Field(None, description="E-mail address of the maintainer.")


class OperatorSpec(ApiModel):
    """What the operator is, as its package says."""

    description: Text | None = Field(None, description="What the operator does.")
    kudo_version: Name | None = Field(None, description="Lowest version of KUDO that it needs.")
    kubernetes_version: Name | None = Field(
        None, description="Lowest version of Kubernetes that it needs."
    )
    maintainers: tuple[Maintainer, ...] | None = Field(
        None, description="Who maintains it.", json_schema_extra=at_most(bounds.MAINTAINERS)
    )
    url: Text | None = Field(None, description="Home page of the operator.")
    namespace_manifest: TemplateText | None = Field(
        None, description="Template of the Namespace that `install --create-namespace` creates."
    )


class OperatorStatus(ApiModel):
    """Kept for old objects; not used."""


class Operator(ApiObject):
    """An operator that can be installed in its namespace."""

    api_version: str = API_VERSION
    kind: str = "Operator"
    spec: OperatorSpec = OperatorSpec()
    status: OperatorStatus | None = None
