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

from kudo.admission import plan_execution
from kudo.admission.change import Change
from kudo.admission.final_state import change_problems, creation_problems
from kudo.admission.grants import needs_grant, untold
from kudo.admission.patch import InstancePatch
from kudo.admission.reading import NAMELESS, OBJECT_NAME, InstanceReader
from kudo.admission.rules import account_problems, evaluate, time_limit_problems
from kudo.api import (
    Instance,
    JsonObject,
    OperatorVersion,
)
from kudo.names import PLAN_CLEANUP, PLAN_DEPLOY
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
from kudo.runs.retries import is_honoured
from kudo.runs.upgrades import goes_up
from kudo.tenancy import Tenancy, grant_missing, may_use, not_granted
from kudo.values.checks import Check, read_fully

VersionKey = tuple[str, str]
"""Namespace and name of an OperatorVersion."""
Versions = Mapping[VersionKey, OperatorVersion | None]


@dataclass(frozen=True, slots=True)
class Request:
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


@dataclass(frozen=True, slots=True)
class Review:
    """A request whose objects have been read.

    Attributes:
        request: The request.
        new: The submitted Instance, without its status.
        old: The stored Instance; None when one is created.
        unchanged: Whether what is to run stays as it is: changes of labels, finalizers and the like
            always pass, and so do suspend, planTimeout and historyLimit.
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
        if request.old_object is None:
            return cls(request, new, None, unchanged=False)
        old = reader.stored(request.old_object, history=bool(new.scheduled.retry_of))
        return cls(request, new, old, _same_runs(old, new))

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


def _same_runs(old: Instance, new: Instance) -> bool:
    # Most changes are of parameters. Comparing two maps takes a tenth of comparing two models.
    before, after = old.spec, new.spec
    return (
        before.parameters == after.parameters
        and before.plan_execution == after.plan_execution
        and before.operator_version == after.operator_version
    )


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
    if review.unchanged:
        return _unchanged(review)
    version = _usable_version(review, versions, tenancy)
    if isinstance(version, Decision):
        return version
    if review.old is None:
        return _with_grant_told(review, version, _mutate_create(review, version, fresh_uid, check))
    change = _change(review, review.old, version, _usable(review.old, versions, tenancy), check)
    problems = evaluate(change, submitted=True)
    if problems:
        return _denied(review, problems)
    return _with_grant_told(review, version, _mutate_update(review, change, fresh_uid))


def validate(
    review: Review,
    versions: Versions,
    *,
    check: Check = read_fully,
    tenancy: Tenancy = Tenancy.COMPAT,
) -> Decision:
    """Check the state that would be stored; arguments as for `mutate`."""
    if review.unchanged:
        return _unchanged(review)
    version = _usable_version(review, versions, tenancy)
    if isinstance(version, Decision):
        return version
    username = review.request.username
    if review.old is None:
        problems = _evaluate_create(review, version, check) or creation_problems(
            review.new.scheduled, username
        )
    else:
        before = _usable(review.old, versions, tenancy)
        change = _change(review, review.old, version, before, check)
        problems = evaluate(change, submitted=False) or change_problems(change, username)
    return _denied(review, problems) if problems else Decision()


def _unchanged(review: Review) -> Decision:
    problems = tuple(time_limit_problems(review.new, review.old))
    if review.old is not None:
        problems = (*problems, *account_problems(review.new, review.old))
    return _denied(review, problems) if problems else _ADMITTED


def _usable_version(
    review: Review, versions: Versions, tenancy: Tenancy
) -> OperatorVersion | Decision:
    """Return the OperatorVersion that decides, or the denial.

    An OperatorVersion that is not granted decides nothing. No rule looks at it, so that no answer
    tells what it contains, nor whether it exists.
    """
    version = versions.get(review.new.operator_version_key)
    if tenancy is Tenancy.STRICT and not may_use(review.new, version):
        if needs_grant(review.old, review.new):
            return _denied(review, (not_granted(review.new),))
        return untold(review.new)
    if version is None:
        return Decision(problems=(_missing_version(review),))
    return version


def _usable(old: Instance, versions: Versions, tenancy: Tenancy) -> OperatorVersion | None:
    """Return the OperatorVersion of the stored Instance; None if it is missing or not granted."""
    version = versions.get(old.operator_version_key)
    return None if tenancy is Tenancy.STRICT and not may_use(old, version) else version


def _with_grant_told(review: Review, version: OperatorVersion, decision: Decision) -> Decision:
    """Add the warning about an OperatorVersion that strict mode would not let the Instance use."""
    if not decision.allowed or may_use(review.new, version):
        return decision
    if not needs_grant(review.old, review.new):
        return decision
    return replace(decision, warnings=(*decision.warnings, grant_missing(review.new)))


def _change(
    review: Review,
    old: Instance,
    version: OperatorVersion,
    before: OperatorVersion | None,
    check: Check,
) -> Change:
    return Change(old, review.new, before, version, check)


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
    missing = missing_required(version.parameters, values)
    return first_problems(chain(missing, invalid, time_limit_problems(review.new, None)))


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
    patch = InstancePatch(review.request.object)
    patch.parameters(_with_immutable_defaults(review.new, version), review.new.parameters)
    patch.plan_execution(
        plan_execution.scheduled(PLAN_DEPLOY, fresh_uid(), review.request.username)
    )
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
    if change.deleting:
        return _mutate_deleting(review, change, fresh_uid)
    patch, username = InstancePatch(review.request.object), review.request.username
    plan = change.needed or change.direct
    patch.parameters(_kept_parameters(change), change.new.parameters)
    if plan:
        patch.plan_execution(plan_execution.scheduled(plan, fresh_uid(), username, change.retry))
    elif change.cancel:
        patch.plan_execution(plan_execution.cancelled(change, username))
    else:
        patch.plan_execution(plan_execution.settled(change))
    patch.finalizer(needed=PLAN_CLEANUP in change.version.plans)
    return Decision(warnings=_warnings(change), patch=patch.operations(), plan=plan)


def _mutate_deleting(review: Review, change: Change, fresh_uid: Callable[[], str]) -> Decision:
    patch, username = InstancePatch(review.request.object), review.request.username
    restart = PLAN_CLEANUP if change.restart and change.cleanup_active else None
    if restart:
        patch.plan_execution(plan_execution.scheduled(restart, fresh_uid(), username))
    elif change.cancel:
        patch.plan_execution(plan_execution.cancelled(change, username))
    elif change.direct == PLAN_CLEANUP:
        run = plan_execution.by_hand(change.new.scheduled, username)
        used = run.get("uid") in used_uids(change.old)
        patch.plan_execution({**run, "uid": fresh_uid()} if used else run)
    elif change.repeated_retry:
        patch.plan_execution(plan_execution.settled(change))
    elif plan_execution.has_other_marks(change):
        patch.plan_execution(plan_execution.marked_as_stored(change))
    return Decision(patch=patch.operations(), plan=restart)


def _kept_parameters(change: Change) -> dict[str, str]:
    """Return the parameters without those that only the old version declares."""
    if not change.upgrade or change.old_version is None:
        return dict(change.new.parameters)
    gone = {p.name for p in change.old_version.parameters} - {
        p.name for p in change.version.parameters
    }
    return {n: v for n, v in change.new.parameters.items() if n not in gone}


def _warnings(change: Change) -> tuple[str, ...]:
    if change.upgrade:
        return _downgrade(change)
    first, second = change.by_parameters, change.after_parameters
    if second.plan is None:
        return ()
    text = f"plan '{first.plan}' runs, triggered by {listed(first.explicit)}; when it is COMPLETE, "
    text = f"{text}plan '{second.plan}' runs and brings the change of {listed(second.fallback)} "
    return (f"{text}into force, which has no trigger",)


def _downgrade(change: Change) -> tuple[str, ...]:
    """Warn of an older version: a manifest may go back to one, but nobody should unknowingly."""
    before, after = change.old_version, change.version
    if before is None or goes_up(before, after) is not False:
        return ()
    old, new = shown_name(before.metadata.name), shown_name(after.metadata.name)
    return (f"{new} is older than {old}, which the Instance had: this is a downgrade",)


def _denied(review: Review, problems: tuple[Problem, ...]) -> Decision:
    """Prefix the deciding problem with what the request tried to do."""
    verb = "create an" if review.old is None else "update"
    metadata = review.new.metadata
    key = shown(f"{metadata.namespace}/{metadata.name or NAMELESS}", OBJECT_NAME)
    first, *rest = problems
    text = f"failed to {verb} Instance {key}: {first.message}"
    return Decision(problems=(replace(first, message=text), *rest))
