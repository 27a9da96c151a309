"""The Instance: one installation of an operator, with the run in progress and the last runs."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final

from pydantic import ConfigDict, Field, JsonValue

from kudo.api import bounds
from kudo.api.base import (
    NAMESPACE_NAME,
    OBJECT_NAME,
    ApiModel,
    ApiObject,
    Duration,
    Name,
    ObjectReference,
    OwnerReference,
    ParameterValue,
    ServiceAccountName,
    Text,
    at_most,
    validations,
)
from kudo.api.names import API_VERSION, GROUP
from kudo.api.parameter_source import ParameterSource, SourceRecord
from kudo.api.setting import Setting
from kudo.api.wire import ExecutionStatus, JsonObject

NO_PLAN_TO_RETRY: Final = "has no plan to retry; name the plan of that run in planName"
NO_RUN_TO_RETRY: Final = (
    "a run that is no retry begins at its first step; leave from out, or name the failed run in "
    "retryOf"
)
NO_VERSION_NAMED: Final = "is empty; name the OperatorVersion to run"
"""What both the CRD and the rules of admission say."""

# Each rule passes what is stored already: of an Instance that breaks one, all else can be changed.
_STATUS_IS_KNOWN: dict[str, JsonValue] = {
    "rule": "!has(self.status) || self.status in ['', 'NEVER_RUN', 'PENDING', 'IN_PROGRESS', "
    "'ERROR', 'COMPLETE', 'FATAL_ERROR'] || oldSelf.?status.orValue('') == self.status",
    "message": "no such status; leave it out, or set FATAL_ERROR to cancel the running plan",
    "fieldPath": ".status",
}
_RETRY_NAMES_A_PLAN: dict[str, JsonValue] = {
    "rule": "!has(self.retryOf) || self.retryOf == '' || self.?planName.orValue('') != '' || "
    "oldSelf.?retryOf.orValue('') == self.retryOf",
    "message": f"it {NO_PLAN_TO_RETRY}",
    "reason": "FieldValueRequired",
    "fieldPath": ".planName",
}
_FROM_NAMES_A_RUN: dict[str, JsonValue] = {
    "rule": "!has(self.from) || self.from == '' || self.?retryOf.orValue('') != '' || "
    "oldSelf.?from.orValue('') == self.from",
    "message": NO_RUN_TO_RETRY,
    "fieldPath": ".from",
}
_NAMES_ITS_VERSION: dict[str, JsonValue] = {
    "rule": "self.?spec.?operatorVersion.?name.orValue('') != '' || (oldSelf.hasValue() && "
    "oldSelf.?spec.?operatorVersion.?name.orValue('') == '')",
    "message": f"OperatorVersionNotFound: it {NO_VERSION_NAMED}",
    "reason": "FieldValueRequired",
    "fieldPath": ".spec.operatorVersion.name",
}


class PlanExecution(ApiModel):
    """The scheduled run: which plan, and the identity of this execution of it."""

    model_config = ConfigDict(
        json_schema_extra=validations(_STATUS_IS_KNOWN, _RETRY_NAMES_A_PLAN, _FROM_NAMES_A_RUN)
    )

    plan_name: Name | None = Field(None, description="Plan that is scheduled or running.")
    uid: Name | None = Field(
        None, description="Identity of this execution; a new one restarts the plan."
    )
    status: str | None = Field(
        None,
        description="Set by admission when a run is scheduled. FATAL_ERROR for the running plan "
        "and uid cancels it.",
    )
    cancelled_by: Text | None = Field(None, description="Who cancelled the run.")
    retry_of: Name | None = Field(
        None,
        description="Uid of the failed run of the plan that this one continues: its finished steps "
        "stay finished.",
    )
    from_step: Text | None = Field(
        None,
        alias="from",
        description="Where a retry begins, as `phase.step`; at the first unfinished step if empty. "
        "Steps before it count as finished.",
    )
    requested_by: Text | None = Field(
        None, description="Who asked for the run; set by admission, whatever is submitted."
    )
    parameters: Mapping[str, ParameterValue] | None = Field(
        None,
        description="Values of parameters that the plan declares for its runs. They cannot change "
        "while the plan runs, and are no secrets.",
        json_schema_extra={"maxProperties": bounds.RUN_PARAMETERS},
    )


def new_run(
    plan: str,
    uid: str,
    asked: PlanExecution | None = None,
    parameters: Mapping[str, str] | None = None,
) -> JsonObject:
    """Return the `spec.planExecution` that schedules a run of a plan under a fresh uid.

    Args:
        plan: The plan.
        uid: Identity of the run.
        asked: The request for it; the retry that it asks for is kept.
        parameters: The parameters of the run.
    """
    run: JsonObject = {"planName": plan, "uid": uid, "status": ExecutionStatus.NEVER_RUN.value}
    if asked is not None and asked.retry_of:
        run["retryOf"] = asked.retry_of
        if asked.from_step:
            run["from"] = asked.from_step
    if parameters:
        run["parameters"] = dict(parameters)
    return run


# Fields of a spec for which no plan has to run, so that no OperatorVersion decides about them.
_CONTROLS: Final = frozenset(
    {"suspend", "plan_timeout", "history_limit", "service_account_name", "prune"}
)


class InstanceSpec(ApiModel):
    """What is installed, its parameters, and the plan that is to run."""

    operator_version: ObjectReference | None = Field(
        None,
        description="The OperatorVersion in force; its namespace defaults to the Instance's.",
        # Not of every reference: what a status repeats of a stored spec can always be written.
        json_schema_extra={"properties": {"name": OBJECT_NAME, "namespace": NAMESPACE_NAME}},
    )
    parameters: Mapping[str, ParameterValue] | None = Field(
        None,
        description="Values by parameter name.",
        json_schema_extra={"maxProperties": bounds.PARAMETERS},
    )
    parameters_from: tuple[ParameterSource, ...] | None = Field(
        None,
        description="Parameters whose values stand in Secrets and ConfigMaps of the namespace. A "
        "run takes the values that it finds when it begins.",
        json_schema_extra={
            **at_most(bounds.PARAMETERS),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    )
    plan_execution: PlanExecution | None = Field(
        None, description="The scheduled run. Set planName to run a plan; empty when idle."
    )
    suspend: bool | None = Field(
        None,
        description="Pause: what was sent is observed, nothing more is sent until this is false or "
        "removed.",
    )
    plan_timeout: Duration | None = Field(
        None,
        description="How long a run may take if its plan sets no timeout, as a Go duration such as "
        "1h30m. Paused time does not count.",
    )
    history_limit: int | None = Field(
        None,
        description="Runs that status.history keeps; 10 if it is not set.",
        json_schema_extra={"format": "int32", "minimum": 0, "maximum": bounds.HISTORY},
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="ServiceAccount of the namespace that plans act as. It must exist, and its "
        "rights bound what plans do.",
    )
    prune: bool | None = Field(
        None,
        description="Whether objects that plans no longer apply are deleted; if it is not set, the "
        "OperatorVersion decides.",
    )

    def differing(self, other: "InstanceSpec") -> frozenset[str]:
        """Return the fields that differ, but not those for which no plan has to run."""
        fields = _deciding(type(self))
        return frozenset([name for name in fields if getattr(self, name) != getattr(other, name)])


@cache
def _deciding(model: type[InstanceSpec]) -> tuple[str, ...]:
    return tuple(model.model_fields.keys() - _CONTROLS)


Time = Annotated[str, Field(json_schema_extra={"format": "date-time", "nullable": True})]
Count = Annotated[int, Field(json_schema_extra={"format": "int64", "minimum": 0})]
_PAUSED: Final = "Seconds that the Instance was suspended since then."


_SKIPPED: Final = "Whether it was left out, since its `when`, which is the message, was false."


class _State(ApiModel):
    """A part of the record of a run.

    What a later KUDO has written in it is kept, and written again: a process that is older, and
    still leads during an update, must not take from a run what is stored of it.
    """

    model_config = ConfigDict(extra="allow")


class TaskStatus(_State):
    name: str = Field("", description="Name of the task.")
    status: str = Field("", description="State of the task.")
    message: str | None = Field(None, description="What the task waits for, or why it failed.")
    started_at: Time | None = Field(None, description="When the task was first tried.")
    finished_at: Time | None = Field(None, description="When the task was done or failed.")
    suspended_seconds: Count | None = Field(None, description=_PAUSED)
    failures: Count | None = Field(
        None, description="Attempts that failed in a row, while the task is retried."
    )
    next_attempt_at: Time | None = Field(
        None, description="When the task is tried again after that."
    )
    progressed_at: Time | None = Field(
        None, description="When what the task waits for last changed, if it has a progressDeadline."
    )
    progress: str | None = Field(
        None, description="A digest of that state of what the task waits for."
    )
    applied: str | None = Field(
        None,
        description="Digests of the objects that the task has applied, 8 digits each, while it "
        "waits: after a restart what is unchanged is not applied again.",
    )
    job_uid: str | None = Field(
        None,
        description="uid of the Job that a Job task has created, while the task waits: one that is "
        "gone before its end was seen is not created again.",
    )


class StepStatus(_State):
    name: str = Field("", description="Name of the step.")
    status: str = Field("", description="State of the step.")
    message: str | None = Field(None, description="Why the step is in that state.")
    tasks: tuple[TaskStatus, ...] | None = Field(
        None, description="State of each task that was tried."
    )
    started_at: Time | None = Field(None, description="When the step began, if it has a timeout.")
    suspended_seconds: Count | None = Field(None, description=_PAUSED)
    skipped: bool | None = Field(None, description=_SKIPPED)
    outputs: Mapping[str, Mapping[str, str]] | None = Field(
        None,
        description="What tasks of the step hand on to later steps: texts by task and name. They "
        "are no secrets.",
    )


class PhaseStatus(_State):
    name: str = Field("", description="Name of the phase.")
    status: str = Field("", description="State of the phase.")
    message: str | None = Field(None, description="Why the phase is in that state.")
    steps: tuple[StepStatus, ...] | None = Field(None, description="State of each step.")
    started_at: Time | None = Field(None, description="When the phase began, if it has a timeout.")
    suspended_seconds: Count | None = Field(None, description=_PAUSED)
    skipped: bool | None = Field(None, description=_SKIPPED)


class PlanStatus(_State):
    name: str = Field("", description="Name of the plan.")
    status: str = Field("", description="State of the last run of the plan.")
    message: str | None = Field(None, description="Why the plan is in that state.")
    last_updated_timestamp: Time | None = Field(None, description="When the state last changed.")
    started_at: Time | None = Field(None, description="When the last run began.")
    finished_at: Time | None = Field(None, description="When the last run ended.")
    phases: tuple[PhaseStatus, ...] | None = Field(None, description="State of each phase.")
    uid: str | None = Field(None, description="Identity of the last run of the plan.")
    suspended_seconds: Count | None = Field(None, description=_PAUSED)
    retry_of: str | None = Field(None, description="The run that the last one was a retry of.")
    retried: str | None = Field(
        None, description="The run of the plan that was retried last, by whatever run."
    )
    run_parameters: Mapping[str, str] | None = Field(
        None,
        description="Parameters that were given to the last run, for a retry of it; an empty map "
        "if they are no longer kept, since those of other plans need the room.",
    )


class Condition(ApiModel):
    """metav1.Condition."""

    type: str = Field(
        description="Type of condition in CamelCase.",
        json_schema_extra={
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
    )
    status: str = Field(
        description="True, False or Unknown.",
        json_schema_extra={"enum": ["True", "False", "Unknown"]},
    )
    reason: str = Field(
        description="Why the condition has this status, in one CamelCase word.",
        json_schema_extra={
            "minLength": 1,
            "maxLength": 1024,
            "pattern": r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
    )
    message: str = Field(
        description="Why the condition has this status, for people.",
        json_schema_extra={"maxLength": 32768},
    )
    last_transition_time: str = Field(
        description="When the status last changed.", json_schema_extra={"format": "date-time"}
    )
    observed_generation: Count | None = Field(
        None, description="Generation of the Instance that the condition speaks of."
    )


class Cause(ApiModel):
    """What asked for a run."""

    requested_by: str | None = Field(None, description="The user who asked for it.")
    parameters: tuple[str, ...] | None = Field(
        None, description="Names of parameters whose change it brings into force, 20 at most."
    )
    parameters_left_out: Count | None = Field(None, description="How many more there are.")
    parent: str | None = Field(None, description="The Instance that this one belongs to.")
    retry_of: str | None = Field(None, description="Uid of the failed run that it continues.")
    from_step: str | None = Field(
        None, alias="from", description="The step where the retry was told to begin."
    )


class RunRecord(ApiModel):
    """A run that has ended."""

    plan: str = Field("", description="Plan of the run.")
    uid: str = Field("", description="Identity of the run.")
    status: str = Field("", description="COMPLETE or FATAL_ERROR.")
    reason: str | None = Field(None, description="Why it did not complete, in one CamelCase word.")
    message: str | None = Field(None, description="The same for people, in at most 200 characters.")
    started_at: Time | None = Field(None, description="When the run began.")
    finished_at: Time | None = Field(None, description="When the run ended.")
    suspended_seconds: Count | None = Field(None, description=_PAUSED)
    operator_version: str | None = Field(
        None, description="The OperatorVersion, as `namespace/name`, that the run began with."
    )
    cause: Cause | None = Field(None, description="What asked for the run.")
    failed_step: str | None = Field(
        None, description="The step, as `phase.step`, that failed or was not finished."
    )
    configuration: str | None = Field(
        None,
        description="A prefix of the SHA-256 of the OperatorVersion and the values of its "
        "parameters that the run began with.",
    )
    run_parameters: Mapping[str, str] | None = Field(
        None,
        description="Parameters that were given to the run, 20 at most; long values are cut.",
    )
    run_parameters_left_out: Count | None = Field(None, description="How many more there are.")


class LastRun(ApiModel):
    """The configuration that the last run started with, its state, and what is in force.

    Changes are compared with `operatorVersion` and `parameters`, which move only in a run that is
    chosen for their change.
    """

    plan: str | None = Field(None, description="Plan of the run.")
    uid: str | None = Field(None, description="Identity of the run.")
    status: str | None = Field(None, description="State of the run.")
    operator_version: ObjectReference | None = Field(None, description="OperatorVersion in force.")
    operator: str | None = Field(None, description="Operator of the OperatorVersion in force.")
    operator_version_digest: str | None = Field(
        None,
        description="A prefix of the SHA-256 of the spec of the OperatorVersion that the run began "
        "with.",
    )
    parameters: Mapping[str, str] | None = Field(
        None,
        description="A prefix of the SHA-256 of each value in force that the Instance has set; of "
        "a parameter in parametersFrom, that of the reference.",
    )
    pending_parameters: Mapping[str, str] | None = Field(
        None,
        description="The same of values that the Instance had set when the run began and that "
        "another plan has to bring into force; empty for those it had removed.",
    )
    secrets: Mapping[str, SourceRecord] | None = Field(
        None, description="What the run read from Secrets, by parameter."
    )
    config_maps: Mapping[str, SourceRecord] | None = Field(
        None, description="What the run read from ConfigMaps, by parameter."
    )
    cause: Cause | None = Field(None, description="What asked for the run.")
    configuration: str | None = Field(
        None,
        description="A prefix of the SHA-256 of the OperatorVersion and the values of its "
        "parameters that the run began with.",
    )
    version: str | None = Field(
        None, description="The OperatorVersion, as `namespace/name`, that the run began with."
    )
    previous_operator_version: ObjectReference | None = Field(
        None,
        description="The OperatorVersion that was in force before an upgrade, until a run of the "
        "new version is COMPLETE: the Instance may go back to it.",
    )
    service_account_name: str | None = Field(
        None, description="ServiceAccount that the run acts as; none if it acts as the reconciler."
    )
    labels: Mapping[str, str] | None = Field(
        None,
        description="Labels that the Instance had when the run began, if conditions of its plan "
        "(`when`) use them.",
    )
    run_parameters: str | None = Field(
        None,
        description="A prefix of the SHA-256 of the parameters that were given to the run.",
    )


class Orphan(ApiModel):
    """An object that a plan has applied, and that no task applies any more."""

    api_version: str = Field("", description="API version in which it was applied last.")
    kind: str = Field("", description="Kind of the object.")
    namespace: str | None = Field(
        None, description="Namespace of the object; absent if it is cluster-scoped."
    )
    name: str = Field("", description="Name of the object.")
    plan: str | None = Field(None, description="The plan that applied it last.")
    task: str | None = Field(None, description="The task that applied it last.")


class NotInForce(ApiModel):
    """Parameters that have another value than the one in force."""

    parameters: tuple[str, ...] = Field((), description="Their names, 20 at most.")
    parameters_left_out: Count | None = Field(None, description="How many more there are.")
    plan: str | None = Field(
        None,
        description="The plan that brings them into force: it runs once the last run is COMPLETE, "
        "or when somebody triggers it. None while Ready says what forbids it.",
    )


class InstanceStatus(ApiModel):
    """What the reconciler observed: the state of plans, and conditions."""

    plan_status: Mapping[str, PlanStatus] | None = Field(
        None, description="The last run of each plan, by plan name."
    )
    conditions: tuple[Condition, ...] | None = Field(
        None,
        description="Conditions of the Instance, Ready among them.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    observed_generation: Count | None = Field(
        None, description="Generation of the Instance that this status speaks of."
    )
    last_run: LastRun | None = Field(
        None, description="What the last run was started with, and its state."
    )
    not_in_force: NotInForce | None = Field(
        None, description="Parameters whose value no run has brought into force yet."
    )
    suspended_at: Time | None = Field(None, description="Since when the Instance is suspended.")
    history: tuple[RunRecord, ...] | None = Field(
        None, description="The runs that ended last, newest first; see spec.historyLimit."
    )
    orphans: tuple[Orphan, ...] | None = Field(
        None, description="Objects that plans no longer apply, 20 at most; see spec.prune."
    )
    orphans_left_out: Count | None = Field(None, description="How many more there are.")


_NOTHING_SCHEDULED = PlanExecution()
_NO_REFERENCE = ObjectReference()


class Instance(ApiObject):
    """One installation of an operator."""

    model_config = ConfigDict(json_schema_extra=validations(_NAMES_ITS_VERSION))

    api_version: str = API_VERSION
    kind: str = "Instance"
    spec: InstanceSpec = InstanceSpec()
    status: InstanceStatus = InstanceStatus()

    @property
    def key(self) -> str:
        """`namespace/name`, as messages and logs name an Instance."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def parameters(self) -> Mapping[str, str]:
        """The values that the Instance itself has; see `settings`."""
        return self.spec.parameters or {}

    @property
    def sources(self) -> tuple[ParameterSource, ...]:
        return self.spec.parameters_from or ()

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What the Instance sets for each parameter: a value, or a reference to one.

        All that compares Instances uses it. Of a parameter with both, which rules refuse, it is the
        reference.
        """
        if not self.spec.parameters_from:
            return self.parameters
        return {**self.parameters, **{each.name: each.reference for each in self.sources}}

    @property
    def scheduled(self) -> PlanExecution:
        """The scheduled run as stored; empty when there is none."""
        return self.spec.plan_execution or _NOTHING_SCHEDULED

    @property
    def suspended(self) -> bool:
        """Whether nothing may be sent for its runs: it is suspended, and not being deleted."""
        return bool(self.spec.suspend) and not self.metadata.deleting

    @property
    def parents(self) -> tuple[OwnerReference, ...]:
        """The owners of the Instance that are Instances."""
        return tuple(
            owner
            for owner in self.metadata.owner_references or ()
            if owner.kind == "Instance" and owner.api_version.partition("/")[0] == GROUP
        )

    @property
    def plan_status(self) -> Mapping[str, PlanStatus]:
        return self.status.plan_status or {}

    @property
    def operator_version_key(self) -> tuple[str, str]:
        """Namespace and name of the OperatorVersion that the spec resolves to."""
        ref = self.spec.operator_version or _NO_REFERENCE
        return ref.namespace or self.metadata.namespace, ref.name or ""
