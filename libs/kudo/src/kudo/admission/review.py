"""Mutating and validating admission of Instances, with the same rules.

* `mutate` checks what was submitted and schedules the plan that the change runs, with a new uid.
  It is idempotent except for that uid.
* `validate` checks the final state: `mutate` must have been able to produce it from the stored one.
  So the rules also hold where the mutating configuration is missing.

No rule depends on the user. Only the status of `old_object` counts: in a mutating webhook the
submitted status is whatever the client sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kudo.admission import mutation
from kudo.admission.change import Change
from kudo.admission.mutation import InstancePatch
from kudo.admission.reading import NAMELESS, OBJECT_NAME, InstanceReader
from kudo.admission.rules import Moment, evaluate, evaluate_without_version
from kudo.admission.tenancy import (
    Tenancy,
    grant_missing,
    lacks_grant,
    may_use,
    needs_grant,
    not_granted,
    stand_in,
)
from kudo.api import NO_VERSION_NAMED, Instance, JsonObject, OperatorVersion
from kudo.api.names import PLAN_CLEANUP
from kudo.api.problems import Problem, shown
from kudo.parameters.values import Check, read_fully
from kudo.plans.runs.plan_choice import used_uids
from kudo.plans.runs.retries import is_honoured

VersionKey = tuple[str, str]
"""Namespace and name of an OperatorVersion."""
Versions = Mapping[VersionKey, OperatorVersion | None]


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """The part of an AdmissionRequest that decisions depend on.

    No decision depends on `username`; it is recorded with the run that a user schedules or cancels.
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


_ADMITTED = Decision()
_NO_VERSION = OperatorVersion()


@dataclass(frozen=True, slots=True)
class Review:
    """A request whose objects have been read.

    Attributes:
        request: The request.
        new: The submitted Instance, without its status.
        old: The stored Instance; None when one is created.
        unchanged: Whether what is to run stays as it is: changes of labels, finalizers and the like
            always pass; those of suspend, planTimeout and other controls need no OperatorVersion.
    """

    request: AdmissionRequest
    new: Instance
    old: Instance | None
    unchanged: bool

    @classmethod
    def of(cls, request: AdmissionRequest) -> "Review":
        """Read the objects of the request.

        Raises:
            InvalidInput: an object does not match the schema of an Instance.
        """
        reader = InstanceReader(request.namespace, request.name)
        new = reader.submitted(request.object)
        if request.old_object is None:
            return cls(request, new, None, unchanged=False)
        old = reader.stored(request.old_object, history=bool(new.scheduled.retry_of))
        return cls(request, new, old, unchanged=not old.spec.differing(new.spec))

    def references(self) -> tuple[VersionKey, ...]:
        """Return the OperatorVersions that the decision needs; none for an unchanged spec."""
        if self.unchanged:
            return ()
        keys = [self.new.operator_version_key]
        if self.old is not None and self.old.operator_version_key not in keys:
            keys.append(self.old.operator_version_key)
        return tuple(keys)

    @property
    def needs_whole_versions(self) -> bool:
        """Whether the decision needs the templates, tasks and steps of OperatorVersions, too.

        A retry compares its OperatorVersion with the one that the failed run began with.
        """
        run = self.new.scheduled
        if self.unchanged or self.old is None or not run.retry_of:
            return False
        return not is_honoured(self.old, run)


def mutate(
    review: Review,
    versions: Versions,
    *,
    fresh_uid: Callable[[], str],
    check: Check = read_fully,
    tenancy: Tenancy = Tenancy.COMPAT,
) -> Decision:
    """Check what was submitted and schedule the plan that it needs.

    Args:
        review: The request.
        versions: The OperatorVersions that it refers to.
        fresh_uid: Returns the uid for a new run.
        check: Checks values of parameters.
        tenancy: The mode: whether an OperatorVersion of another namespace must be granted.
    """
    change = _change(review, versions, check, tenancy)
    if isinstance(change, Decision):
        return change
    problems = evaluate(change, Moment.SUBMITTED)
    if problems:
        return _denied(review, problems)
    if change.deleting:
        decision = _mutated_while_deleting(review, change, fresh_uid)
    else:
        patch, username = InstancePatch(review.request.object), change.username
        # What a change needs goes first: rules refuse another plan that is named beside it.
        plan = change.scheduled_plan
        patch.parameters(change.values, change.new.parameters)
        patch.sources(change.sources, change.new.sources)
        if plan:
            patch.plan_execution(mutation.scheduled(change, plan, fresh_uid()))
        elif change.cancel:
            patch.plan_execution(mutation.cancelled(change, username))
        else:
            patch.plan_execution(mutation.settled(change))
        # The object may only go once cleanup has run, if there is such a plan.
        patch.finalizer(needed=PLAN_CLEANUP in change.version.plans)
        decision = Decision(
            warnings=mutation.warnings_of(change), patch=patch.operations(), plan=plan
        )
    if not may_use(review.new, change.version) and needs_grant(review.old, review.new):
        # Compat mode allows what strict mode would deny, and says so before anybody switches.
        warning = grant_missing(review.new)
        decision = replace(decision, warnings=(*decision.warnings, warning))
    return decision


def validate(
    review: Review,
    versions: Versions,
    *,
    check: Check = read_fully,
    tenancy: Tenancy = Tenancy.COMPAT,
) -> Decision:
    """Check the state that would be stored; arguments as for `mutate`."""
    change = _change(review, versions, check, tenancy)
    if isinstance(change, Decision):
        return change
    problems = evaluate(change, Moment.FINAL)
    return _denied(review, problems) if problems else _ADMITTED


def _change(
    review: Review, versions: Versions, check: Check, tenancy: Tenancy
) -> Change | Decision:
    """Return the change that decides, or the decision where no OperatorVersion is needed for it."""
    old, new, username = review.old, review.new, review.request.username
    if review.unchanged:
        problems = evaluate_without_version(Change(old, new, None, _NO_VERSION))
        return _denied(review, problems) if problems else _ADMITTED
    version = versions.get(new.operator_version_key)
    if lacks_grant(new, version, tenancy):
        # An OperatorVersion that is not granted decides nothing. No rule looks at it, so that no
        # answer tells what it contains, nor whether it exists.
        if needs_grant(old, new):
            return _denied(review, (not_granted(new),))
        version = stand_in(new)
    if version is None:
        namespace, name = new.operator_version_key
        key = shown(f"{namespace}/{name}", OBJECT_NAME)
        text = f"OperatorVersion {key} does not exist; create it first"
        if not name:
            text = f"spec.operatorVersion.name {NO_VERSION_NAMED}"
        field = "spec.operatorVersion.name"
        return Decision(problems=(Problem("OperatorVersionNotFound", text, field),))
    before = None if old is None else versions.get(old.operator_version_key)
    if old is not None and lacks_grant(old, before, tenancy):
        before = None
    strict = tenancy is Tenancy.STRICT
    return Change(old, new, before, version, check, username, strict)


def _mutated_while_deleting(
    review: Review, change: Change, fresh_uid: Callable[[], str]
) -> Decision:
    patch, username = InstancePatch(review.request.object), change.username
    restart = PLAN_CLEANUP if change.restart and change.cleanup_active else None
    if restart:
        patch.plan_execution(mutation.scheduled(change, restart, fresh_uid()))
    elif change.cancel:
        patch.plan_execution(mutation.cancelled(change, username))
    elif change.direct == PLAN_CLEANUP:
        run = mutation.by_hand(change.new.scheduled, username)
        # Cleanup may be named by hand without a uid, which the reconciler then gives it. Under a
        # uid that was used before it would count as that run, which has ended.
        used = run.get("uid") in used_uids(change.old)
        patch.plan_execution({**run, "uid": fresh_uid()} if used else run)
    elif change.repeated_retry:
        # A manifest that is applied again still names the retry that it once asked for.
        patch.plan_execution(mutation.settled(change))
    elif mutation.has_other_marks(change):
        patch.plan_execution(mutation.marked_as_stored(change))
    return Decision(patch=patch.operations(), plan=restart)


def _denied(review: Review, problems: tuple[Problem, ...]) -> Decision:
    """Prefix the deciding problem with what the request tried to do."""
    verb = "create an" if review.old is None else "update"
    metadata = review.new.metadata
    key = shown(f"{metadata.namespace}/{metadata.name or NAMELESS}", OBJECT_NAME)
    first, *rest = problems
    text = f"failed to {verb} Instance {key}: {first.message}"
    return Decision(problems=(replace(first, message=text), *rest))
