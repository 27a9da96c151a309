"""Mutating and validating admission of Instances, with the same rules.

* `mutate` checks what was submitted and schedules the plan that the change runs, with a new uid.
  It is idempotent except for that uid.
* `validate` checks the final state: `mutate` must have been able to produce it from the stored one.
  So the rules also hold where the mutating configuration is missing.

No rule depends on the user. Only the status of `old_object` counts: in a mutating webhook the
submitted status is whatever the client sent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from kudo.admission.change import Change
from kudo.admission.reading import NAMELESS, OBJECT_NAME, InstanceReader
from kudo.admission.rules import evaluate
from kudo.api import (
    ExecutionStatus,
    Instance,
    JsonObject,
    OperatorVersion,
    PlanExecution,
    new_run,
)
from kudo.names import FINALIZER_CLEANUP, PLAN_CLEANUP, PLAN_DEPLOY
from kudo.parameters import check_value, missing_required
from kudo.problems import (
    MOST_PROBLEMS,
    Problem,
    first_problems,
    listed,
    shown,
    shown_name,
)
from kudo.runs.plan_choice import used_uids
from kudo.runs.upgrades import goes_up
from kudo.values.checks import Check, read_fully

VersionKey = tuple[str, str]
"""Namespace and name of an OperatorVersion."""
Versions = Mapping[VersionKey, OperatorVersion | None]


@dataclass(frozen=True, slots=True)
class Request:
    """The part of an AdmissionRequest that decisions depend on.

    No decision depends on `username`; it is recorded with the run that a user cancels.
    """

    operation: Literal["CREATE", "UPDATE"]
    namespace: str
    name: str
    object: JsonObject
    old_object: JsonObject | None = None
    username: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a request.

    Attributes:
        problems: What forbids it, the deciding one first; empty if it is allowed.
        warnings: Shown to the client although the request is allowed.
        patch: JSON Patch (RFC 6902) that schedules the plan; empty if nothing is to change.
        plan: The plan that the patch schedules.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[JsonObject, ...] = ()
    plan: str | None = None

    @property
    def allowed(self) -> bool:
        return not self.problems

    @property
    def reason(self) -> str:
        """The deciding reason, or an empty string."""
        return self.problems[0].reason if self.problems else ""


@dataclass(frozen=True, slots=True)
class Review:
    """A request whose objects have been read.

    Attributes:
        request: The request.
        new: The submitted Instance, without its status.
        old: The stored Instance; None when one is created.
        unchanged: Whether the spec stays as it is: labels, finalizers and the like always pass.
    """

    request: Request
    new: Instance
    old: Instance | None
    unchanged: bool

    @classmethod
    def of(cls, request: Request) -> "Review":
        """Read the objects of the request.

        Raises:
            InvalidInput: an object does not match the schema of an Instance.
        """
        reader = InstanceReader(request.namespace, request.name)
        new = reader.submitted(request.object)
        old = None if request.old_object is None else reader.stored(request.old_object)
        return cls(request, new, old, old is not None and _same_spec(old, new))

    def references(self) -> tuple[VersionKey, ...]:
        """Return the OperatorVersions that the decision needs; none for an unchanged spec."""
        if self.unchanged:
            return ()
        keys = [self.new.operator_version_key]
        if self.old is not None and self.old.operator_version_key not in keys:
            keys.append(self.old.operator_version_key)
        return tuple(keys)


def _same_spec(old: Instance, new: Instance) -> bool:
    # Most changes are of parameters. Comparing two maps takes a tenth of comparing two models.
    return old.spec.parameters == new.spec.parameters and old.spec == new.spec


def mutate(
    review: Review,
    versions: Versions,
    *,
    fresh_uid: Callable[[], str],
    check: Check = read_fully,
) -> Decision:
    """Check what was submitted and schedule the plan that it needs.

    Args:
        review: The request.
        versions: The OperatorVersions that it refers to.
        fresh_uid: Returns the uid for a new run.
        check: Checks values of parameters.
    """
    if review.unchanged:
        return Decision()
    version = versions.get(review.new.operator_version_key)
    if version is None:
        return Decision(problems=(_missing_version(review),))
    if review.old is None:
        return _mutate_create(review, version, fresh_uid, check)
    change = _change(review, review.old, version, versions, check)
    problems = evaluate(change, submitted=True)
    if problems:
        return _denied(review, problems)
    return _mutate_update(review, change, fresh_uid)


def validate(review: Review, versions: Versions, *, check: Check = read_fully) -> Decision:
    """Check the state that would be stored; arguments as for `mutate`."""
    if review.unchanged:
        return Decision()
    version = versions.get(review.new.operator_version_key)
    if version is None:
        return Decision(problems=(_missing_version(review),))
    if review.old is None:
        problems = _evaluate_create(review, version, check) or _triggered(
            PLAN_DEPLOY, review.new.scheduled, frozenset()
        )
    else:
        change = _change(review, review.old, version, versions, check)
        problems = (
            evaluate(change, submitted=False)
            or _final_state(change)
            or _canceller(change, review.request.username)
        )
    return _denied(review, problems) if problems else Decision()


def _change(
    review: Review, old: Instance, version: OperatorVersion, versions: Versions, check: Check
) -> Change:
    return Change(old, review.new, versions.get(old.operator_version_key), version, check)


def _missing_version(review: Review) -> Problem:
    namespace, name = review.new.operator_version_key
    key = shown(f"{namespace}/{name}", OBJECT_NAME)
    text = f"OperatorVersion {key} does not exist; create it first"
    if not name:
        text = "spec.operatorVersion.name is empty; name the OperatorVersion to run"
    return Problem("OperatorVersionNotFound", text, "spec.operatorVersion.name")


# Create


def _evaluate_create(review: Review, version: OperatorVersion, check: Check) -> tuple[Problem, ...]:
    if PLAN_DEPLOY not in version.plans:
        return (
            Problem(
                "DeployPlanMissing",
                f"couldn't find '{PLAN_DEPLOY}' plan in the operatorversion "
                f"{version.metadata.name}",
                "spec.operatorVersion",
            ),
        )
    values = _with_immutable_defaults(review.new, version)
    judged = (check_value(p, values[p.name], check) for p in version.parameters if p.name in values)
    invalid = (problem for problem in judged if problem is not None)
    return first_problems(chain(missing_required(version.parameters, values), invalid))


def _with_immutable_defaults(instance: Instance, version: OperatorVersion) -> dict[str, str]:
    """Return the parameters with the defaults of immutable ones.

    Stored in the Instance, they do not change when a later version has other defaults.
    """
    defaults = {
        p.name: p.default for p in version.parameters if p.immutable and p.default is not None
    }
    return {**defaults, **instance.parameters}


def _mutate_create(
    review: Review, version: OperatorVersion, fresh_uid: Callable[[], str], check: Check
) -> Decision:
    problems = _evaluate_create(review, version, check)
    if problems:
        return _denied(review, problems)
    patch = _Patch(review.request.object)
    patch.parameters(_with_immutable_defaults(review.new, version), review.new.parameters)
    patch.plan_execution(new_run(PLAN_DEPLOY, fresh_uid()))
    patch.finalizer(needed=PLAN_CLEANUP in version.plans)
    undeclared = sorted(review.new.parameters.keys() - version.declared.keys())
    return Decision(
        warnings=_no_effect(undeclared, version), patch=patch.operations(), plan=PLAN_DEPLOY
    )


def _no_effect(undeclared: Sequence[str], version: OperatorVersion) -> tuple[str, ...]:
    first, more = undeclared[:MOST_PROBLEMS], len(undeclared) - MOST_PROBLEMS
    texts = (
        f'parameter "{shown_name(name)}" is not declared by {version.metadata.name} and has no '
        "effect"
        for name in first
    )
    return (*texts, f"and {more} more undeclared parameters") if more > 0 else tuple(texts)


# Update


def _mutate_update(review: Review, change: Change, fresh_uid: Callable[[], str]) -> Decision:
    patch = _Patch(review.request.object)
    if change.deleting:
        restart = PLAN_CLEANUP if change.restart and change.cleanup_active else None
        if restart:
            patch.plan_execution(new_run(restart, fresh_uid()))
        elif change.cancel:
            patch.plan_execution(_cancelled(change, review.request.username))
        elif change.direct == PLAN_CLEANUP:
            run = _uncancelled(change.new.scheduled)
            used = run.get("uid") in used_uids(change.old)
            patch.plan_execution({**run, "uid": fresh_uid()} if used else run)
        elif change.new.scheduled.cancelled_by != change.old.scheduled.cancelled_by:
            patch.plan_execution(_cancelled_as_stored(change))
        return Decision(patch=patch.operations(), plan=restart)
    plan = change.needed or change.direct
    patch.parameters(_kept_parameters(change), change.new.parameters)
    if plan:
        patch.plan_execution(new_run(plan, fresh_uid()))
    elif change.cancel:
        patch.plan_execution(_cancelled(change, review.request.username))
    else:
        patch.plan_execution(_settled(change))
    patch.finalizer(needed=PLAN_CLEANUP in change.version.plans)
    return Decision(warnings=_warnings(change), patch=patch.operations(), plan=plan)


def _kept_parameters(change: Change) -> dict[str, str]:
    """Return the parameters without those that only the old version declares."""
    if not change.upgrade or change.old_version is None:
        return dict(change.new.parameters)
    gone = {p.name for p in change.old_version.parameters} - {
        p.name for p in change.version.parameters
    }
    return {n: v for n, v in change.new.parameters.items() if n not in gone}


def _settled(change: Change) -> JsonObject:
    """Return the planExecution of a request that runs nothing: as stored, or empty."""
    if change.active is not None or change.new.scheduled.plan_name:
        return change.old.scheduled.to_wire()
    return {}


def _cancelled(change: Change, username: str) -> JsonObject:
    """Return the stored run, marked as cancelled by the first user who asked for it."""
    stored = change.old.scheduled
    if stored.status == ExecutionStatus.FATAL_ERROR:
        return stored.to_wire()
    by = {"cancelledBy": username} if username else {}
    kept = {key: value for key, value in stored.to_wire().items() if key != "cancelledBy"}
    return {**kept, "status": str(ExecutionStatus.FATAL_ERROR), **by}


def _uncancelled(scheduled: PlanExecution) -> JsonObject:
    """Return a new run that is not cancelled: nobody can have asked for that yet."""
    wire = scheduled.to_wire()
    if scheduled.status != ExecutionStatus.FATAL_ERROR and not scheduled.cancelled_by:
        return wire
    return {key: value for key, value in wire.items() if key not in {"status", "cancelledBy"}}


def _cancelled_as_stored(change: Change) -> JsonObject:
    """Return what was submitted, with `cancelledBy` as it is stored."""
    by = change.old.scheduled.cancelled_by
    wire = change.new.scheduled.to_wire()
    kept = {key: value for key, value in wire.items() if key != "cancelledBy"}
    return {**kept, "cancelledBy": by} if by else kept


def _warnings(change: Change) -> tuple[str, ...]:
    if change.upgrade:
        return _downgrade(change)
    choice = change.by_parameters
    if not choice.explicit or not choice.fallback:
        return ()
    text = f"plan '{choice.plan}' runs, triggered by {listed(choice.explicit)}; no plan applies "
    return (f"{text}the change of {listed(choice.fallback)}, which has no trigger",)


def _downgrade(change: Change) -> tuple[str, ...]:
    """Warn of an older version: a manifest may go back to one, but nobody should unknowingly."""
    before, after = change.old_version, change.version
    if before is None or goes_up(before, after) is not False:
        return ()
    old, new = shown_name(before.metadata.name), shown_name(after.metadata.name)
    return (f"{new} is older than {old}, which the Instance had: this is a downgrade",)


def _final_state(change: Change) -> tuple[Problem, ...]:
    expected = None if change.deleting else change.needed
    if expected is None and change.direct is not None:
        expected = change.direct
        if change.deleting and not change.restart and not change.new.scheduled.uid:
            # Cleanup may be named alone; the reconciler gives it a uid.
            return ()
    if expected is None:
        return ()
    return _triggered(expected, change.new.scheduled, used_uids(change.old))


def _canceller(change: Change, username: str) -> tuple[Problem, ...]:
    """Refuse a `cancelledBy` that names another user than the one of the request."""
    named = change.new.scheduled.cancelled_by or ""
    if named in {"", username, change.old.scheduled.cancelled_by}:
        return ()
    return (
        Problem(
            "MutatingWebhookMissing",
            f"planExecution.cancelledBy is '{shown(named)}', who did not send this "
            "request; leave it out, KUDO fills it in",
            "spec.planExecution.cancelledBy",
        ),
    )


def _triggered(plan: str, scheduled: PlanExecution, used: frozenset[str]) -> tuple[Problem, ...]:
    if scheduled.plan_name == plan and scheduled.uid and scheduled.uid not in used:
        return ()
    return (
        Problem(
            "MutatingWebhookMissing",
            f"the change needs plan '{shown_name(plan)}', but no new run of it was scheduled: the "
            "mutating webhook configuration of KUDO is missing or was bypassed; restore it and "
            "try again",
            "spec.planExecution",
        ),
    )


def _denied(review: Review, problems: tuple[Problem, ...]) -> Decision:
    """Prefix the deciding problem with what the request tried to do."""
    verb = "create an" if review.old is None else "update"
    metadata = review.new.metadata
    key = shown(f"{metadata.namespace}/{metadata.name or NAMELESS}", OBJECT_NAME)
    first, *rest = problems
    text = f"failed to {verb} Instance {key}: {first.message}"
    return Decision(problems=(replace(first, message=text), *rest))


class _Patch:
    """Collects JSON Patch operations against the submitted object."""

    def __init__(self, submitted: JsonObject) -> None:
        self._metadata: JsonObject = submitted.get("metadata") or {}
        self._operations: list[JsonObject] = []
        spec = submitted.get("spec")
        self._spec: JsonObject = spec or {}
        if spec is None:
            self._set("/spec", {})

    def plan_execution(self, value: JsonObject) -> None:
        if (self._spec.get("planExecution") or {}) != value:
            self._set("/spec/planExecution", value)

    def parameters(self, value: Mapping[str, str], submitted: Mapping[str, str]) -> None:
        if dict(value) != dict(submitted):
            self._set("/spec/parameters", dict(value))

    def finalizer(self, *, needed: bool) -> None:
        present = list(self._metadata.get("finalizers") or [])
        if needed and FINALIZER_CLEANUP not in present:
            self._set("/metadata/finalizers", [*present, FINALIZER_CLEANUP])
        elif not needed and FINALIZER_CLEANUP in present:
            rest = [name for name in present if name != FINALIZER_CLEANUP]
            self._set("/metadata/finalizers", rest)

    def operations(self) -> tuple[JsonObject, ...]:
        return tuple(self._operations)

    def _set(self, path: str, value: object) -> None:
        # "add" replaces a member that exists, so that one operation serves both cases.
        self._operations.append({"op": "add", "path": path, "value": value})
