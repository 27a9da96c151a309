"""Writes and reads `status.lastRun`, the record of what a run began with.

It holds the configuration in force, with which changes are compared: an OperatorVersion and a
fingerprint of each parameter. Each moves only in a run that the rules choose for its change, or in
`deploy`. Where the Instance had other values when the run began, `pendingParameters` has their
fingerprints; both together tell what the run began with. What is not in force gets a run of its own
afterwards; see `needs`.

Beside it stands the cause of the run, and the OperatorVersion that the Instance may go back to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kudo.api import (
    Cause,
    ExecutionStatus,
    Instance,
    LastRun,
    ObjectReference,
    OperatorVersion,
    PlanExecution,
    PlanStatus,
    SourceRecord,
    bounds,
)
from kudo.api.fingerprints import fingerprint_of_object, fingerprints
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY
from kudo.api.problems import Problem, listed, shown
from kudo.plans.execution import status_of
from kudo.plans.execution.decision import uses_labels
from kudo.plans.runs.plan_choice import not_in_force_after, plan_for_parameters, plan_for_upgrade
from kudo.plans.runs.run_parameters import FIELD, digest_of

_REMOVED = ""
"""In place of a fingerprint: the Instance no longer sets a parameter that is in force."""
_NO_CAUSE = Cause()
_MOST_PARAMETERS = 20
"""Names in a cause. The record is part of a status, which etcd bounds, and an Instance may change
hundreds of parameters at a time."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between the configuration that a run began with and another one.

    Attributes:
        version: Whether the OperatorVersion is another one, or was edited.
        parameters: Names of declared parameters with another value; empty if the version differs.
    """

    version: bool = False
    parameters: tuple[str, ...] = ()


class Sources(NamedTuple):
    """What a run has read for parameters, by their names.

    Attributes:
        secrets: Of secret parameters, with digests that have a key.
        config_maps: Of the others.
    """

    secrets: Mapping[str, SourceRecord]
    config_maps: Mapping[str, SourceRecord]


NO_SOURCES = Sources({}, {})


def record_of(
    instance: Instance,
    version: OperatorVersion,
    account: str | None = None,
    sources: Sources = NO_SOURCES,
    run_parameters: Mapping[str, str] | None = None,
) -> LastRun:
    """Return the record of the scheduled run of an Instance, which begins with a version.

    Args:
        instance: The Instance.
        version: The OperatorVersion.
        account: The account that the run acts as; None for the reconciler.
        sources: What it has read for parameters.
        run_parameters: The parameters of the run.
    """
    last, now = instance.status.last_run, fingerprints(instance.settings)
    before = _parameters(last)
    pending = _pending(instance, version, changed_parameters(instance))
    known = _sources(last)
    secrets = _records_in_force(instance, version, sources.secrets, known.secrets)
    config_maps = _records_in_force(instance, version, sources.config_maps, known.config_maps)
    read_anew = _changed(known.secrets, secrets) | _changed(known.config_maps, config_maps)
    if _takes_version(instance, version):
        namespace, name = instance.operator_version_key
        reference: ObjectReference | None = ObjectReference(namespace=namespace, name=name)
        operator: str | None = version.operator_name or None
    else:
        reference, operator = (last.operator_version, last.operator) if last else (None, None)
    kept = {name: before[name] for name in pending if name in before}
    return LastRun(
        plan=instance.scheduled.plan_name or "",
        uid=instance.scheduled.uid or "",
        operator_version=reference,
        operator=operator,
        operator_version_digest=version.digest,
        parameters={name: value for name, value in now.items() if name not in pending} | kept,
        pending_parameters={name: now.get(name, _REMOVED) for name in sorted(pending)} or None,
        secrets=secrets or None,
        config_maps=config_maps or None,
        cause=_cause(instance, version, pending, read_anew),
        configuration=configuration_now(instance, version),
        version="/".join(instance.operator_version_key),
        previous_operator_version=_previous(last, reference),
        service_account_name=account,
        labels=_labels(instance, version),
        run_parameters=digest_of(run_parameters),
    )


def _records_in_force(
    instance: Instance,
    version: OperatorVersion,
    records: Mapping[str, SourceRecord],
    known: Mapping[str, SourceRecord],
) -> dict[str, SourceRecord]:
    """Return records of sources; of a value that the run leaves to another plan the one in force.

    Otherwise a backup after a change of a Secret would hide that nothing has applied it.
    """
    left = _pending(instance, version, _changed(known, records))
    return {
        name: known[name].model_copy(update={"began_with": record.digest})
        if name in left
        else record
        for name, record in sorted(records.items())
    }


def _changed(
    known: Mapping[str, SourceRecord], records: Mapping[str, SourceRecord]
) -> frozenset[str]:
    """Return the parameters with another value in both."""
    both = known.keys() & records.keys()
    return frozenset(name for name in both if known[name].digest != records[name].digest)


def _sources(last: LastRun | None) -> Sources:
    if last is None:
        return NO_SOURCES
    return Sources(last.secrets or {}, last.config_maps or {})


def sources_changed(instance: Instance, sources: Sources) -> Problem | None:
    """Return which values the scheduled run did not begin with; None if it began with all of them.

    None as well where the run has no record yet.

    Args:
        instance: The Instance.
        sources: What was read for its parameters now.
    """
    last = instance.status.last_run
    if last is None or not is_of(last, instance.scheduled):
        return None
    names = changed_sources(last, sources)
    if not names:
        return None
    return _other_values(instance, names, "spec.parametersFrom")


def changed_sources(last: LastRun, sources: Sources) -> tuple[str, ...]:
    """Return the parameters of which a run has read another value than there is now."""
    began: dict[str, str] = {}
    now: dict[str, str] = {}
    for known, read in zip(_sources(last), sources, strict=True):
        began |= {name: record.began_with or record.digest for name, record in known.items()}
        now |= {name: record.digest for name, record in read.items()}
    return tuple(sorted(_differing(began, now)))


def _labels(instance: Instance, version: OperatorVersion) -> Mapping[str, str] | None:
    plan = version.plans.get(instance.scheduled.plan_name or "")
    if plan is None or not uses_labels(plan, version.tasks):
        return None
    return instance.metadata.labels or {}


def record_as_it_stands(instance: Instance, version: OperatorVersion) -> LastRun | None:
    """Return the record of an idle Instance that KUDO 0.19 left: what it has is in force.

    Without it, nothing could tell later what a change differs from. It is of no run, since 0.19
    does not say which one was the last. None for any other Instance.
    """
    if instance.status.last_run is not None or not has_run(instance):
        return None
    namespace, name = instance.operator_version_key
    return LastRun(
        operator_version=ObjectReference(namespace=namespace, name=name),
        operator=version.operator_name or None,
        parameters=fingerprints(instance.settings),
    )


def _cause(
    instance: Instance,
    version: OperatorVersion,
    pending: frozenset[str],
    read_anew: frozenset[str],
) -> Cause | None:
    run, names = instance.scheduled, list[str]()
    if in_force(instance) is not None:  # the first run brings everything into force
        changed = changed_parameters(instance) & version.declared.keys()
        names = sorted((changed - pending) | read_anew)
    left_out = len(names) - _MOST_PARAMETERS
    cause = Cause(
        requested_by=shown(run.requested_by or "", bounds.NAME) or None,
        parameters=tuple(names[:_MOST_PARAMETERS]) or None,
        parameters_left_out=left_out if left_out > 0 else None,
        parent=next((owner.name for owner in instance.parents), None) or None,
        retry_of=run.retry_of or None,
        from_step=run.from_step or None,
    )
    return None if cause == _NO_CAUSE else cause


def _previous(last: LastRun | None, reference: ObjectReference | None) -> ObjectReference | None:
    """Return the version before the one in force, while no run of that is known to be COMPLETE.

    Of several upgrades that failed one after the other, it is the version before the first one.

    Args:
        last: The record of the run before.
        reference: The version that is in force with the scheduled run.
    """
    if last is None or last.operator_version is None or reference is None:
        return None
    complete = last.status == ExecutionStatus.COMPLETE
    previous = None if complete else last.previous_operator_version
    if _key(reference) != version_in_force(last):
        previous = previous or last.operator_version
    return None if previous is None or _key(previous) == _key(reference) else previous


def _key(reference: ObjectReference) -> tuple[str, str]:
    return reference.namespace or "", reference.name or ""


def previous_version(last: LastRun) -> tuple[str, str] | None:
    """Return namespace and name of the OperatorVersion that the Instance may go back to.

    None unless the last run failed, and the upgrade from that version has not succeeded since.
    """
    previous = last.previous_operator_version
    if previous is None or last.status != ExecutionStatus.FATAL_ERROR:
        return None
    return _key(previous)


def configuration_now(instance: Instance, version: OperatorVersion) -> str:
    """Return the digest of an OperatorVersion and of the values of the parameters it declares.

    The digest of what a run began with is `lastRun.configuration`: it is the same if and only if
    nothing was edited since, as `edited_since` sees it.
    """
    declared = version.declared
    values = fingerprints({n: v for n, v in instance.settings.items() if n in declared})
    return fingerprint_of_object({"operatorVersion": version.digest, "parameters": values})


def in_force(instance: Instance) -> LastRun | None:
    """Return the record that holds the configuration in force.

    None if there is none: no run was chosen by the rules yet, whatever else may have run.
    """
    last = instance.status.last_run
    return last if last is not None and last.operator_version is not None else None


def version_in_force(last: LastRun) -> tuple[str, str]:
    """Return namespace and name of the OperatorVersion in force."""
    reference = last.operator_version
    return ("", "") if reference is None else _key(reference)


def is_in_force(instance: Instance) -> bool:
    """Return whether all that the spec names is in force, so that no plan has to run."""
    last = in_force(instance)
    if last is None or version_in_force(last) != instance.operator_version_key:
        return False
    return not changed_parameters(instance)


def has_run_with(instance: Instance) -> bool:
    """Return whether the OperatorVersion that an Instance names was in force in a run of it."""
    last = instance.status.last_run
    if last is None:
        # Runs that KUDO 0.19 recorded, without the version.
        return has_run(instance)
    used = {"/".join(version_in_force(last)), last.version or ""}
    return "/".join(instance.operator_version_key) in used


def run_in_progress(instance: Instance) -> str | None:
    """Return the plan that was begun last and has not ended, whatever the spec names."""
    last = instance.status.last_run
    entry = instance.plan_status.get(last.plan or "") if last else None
    if last is None or entry is None or entry.uid != last.uid:
        return None
    return last.plan if status_of(entry).running else None


def ended_cleanup(instance: Instance) -> PlanStatus | None:
    """Return the entry of the cleanup that was begun last, if it has ended.

    It has run because the Instance goes, and is not run again because its record was cleared.
    """
    last, entry = instance.status.last_run, instance.plan_status.get(PLAN_CLEANUP)
    if last is None or entry is None or (last.plan, last.uid) != (PLAN_CLEANUP, entry.uid):
        return None
    return entry if status_of(entry).terminal else None


def changed_parameters(instance: Instance) -> frozenset[str]:
    """Return the parameters whose value is not the one in force."""
    return _differing(_parameters(instance.status.last_run), fingerprints(instance.settings))


def edited_since(instance: Instance, version: OperatorVersion) -> Problem | None:
    """Return what has changed since the scheduled run began; None if nothing has.

    None as well where the record does not tell: the run has none yet, or it was written by an
    earlier release, or where the CRD has no digest.

    Args:
        instance: The Instance.
        version: The OperatorVersion that its spec names now.
    """
    run, last = instance.scheduled, instance.status.last_run
    if last is None or not is_of(last, run) or not last.operator_version_digest:
        return None
    different = differences(last, instance, version)
    if different.version:
        key = "/".join(instance.operator_version_key)
        text = f"OperatorVersion {key} is not the one that the run began with"
        return _edited("OperatorVersionChanged", instance, text, "spec.operatorVersion")
    entry = instance.plan_status.get(run.plan_name or "")
    if entry is not None and digest_of(entry.run_parameters) != last.run_parameters:
        text = "the parameters of the run in its status are not those that it began with"
        return _edited("ParametersChanged", instance, text, FIELD)
    if not different.parameters:
        return None
    return _other_values(instance, different.parameters, "spec.parameters")


def is_of(last: LastRun, run: PlanExecution) -> bool:
    """Return whether a record is that of a scheduled run."""
    return (last.plan, last.uid) == (run.plan_name, run.uid)


def differences(last: LastRun, instance: Instance, version: OperatorVersion) -> Differences:
    """Return what differs between what a run began with and what is stored.

    Args:
        last: The record of the run, with the digest of its OperatorVersion.
        instance: The Instance.
        version: The OperatorVersion that its spec names.
    """
    if last.operator_version_digest != version.digest:
        return Differences(version=True)
    recorded = {**_parameters(last), **(last.pending_parameters or {})}
    began_with = {name: value for name, value in recorded.items() if value != _REMOVED}
    names = _differing(began_with, fingerprints(instance.settings))
    # What the version does not declare is used by no template.
    return Differences(parameters=tuple(sorted(names & version.declared.keys())))


def _other_values(instance: Instance, names: Sequence[str], where: str) -> Problem:
    text = f"the run began with other values of parameters: {listed(names)}"
    return _edited("ParametersChanged", instance, text, where)


def _edited(reason: str, instance: Instance, text: str, where: str) -> Problem:
    metadata, plan = instance.metadata, instance.scheduled.plan_name
    text = (
        f"{text}, and the process that began it has ended, so nothing more is sent; run the plan "
        f"again with what is stored now (kubectl kudo plan trigger --name {plan} "
        f"--instance {metadata.name} -n {metadata.namespace})"
    )
    return Problem(reason, text, where)


def has_run(instance: Instance) -> bool:
    """Return whether a run of the Instance is recorded, be it by the original."""
    statuses = [status_of(entry) for entry in instance.plan_status.values()]
    return any(status is not ExecutionStatus.NEVER_RUN for status in statuses)


def _takes_version(instance: Instance, version: OperatorVersion) -> bool:
    """Whether the OperatorVersion of the Instance comes into force with its scheduled run."""
    plan, last = instance.scheduled.plan_name or "", in_force(instance)
    if plan == PLAN_DEPLOY:
        return True
    if last is None:
        # What KUDO 0.19 left is taken as it stands: it does not say what its runs began with.
        return instance.status.last_run is None and has_run(instance)
    upgraded = version_in_force(last) != instance.operator_version_key
    return upgraded and plan == plan_for_upgrade(version).plan


def _pending(
    instance: Instance, version: OperatorVersion, changed: frozenset[str]
) -> frozenset[str]:
    """Return the changed parameters that the scheduled run does not bring into force.

    The next plan that the rules choose for them brings at least one of them into force, so that
    they become fewer with each run.
    """
    plan, last = instance.scheduled.plan_name or "", in_force(instance)
    if last is not None and version_in_force(last) == instance.operator_version_key:
        return not_in_force_after(version, plan, changed)
    if not _takes_version(instance, version):
        return changed
    if last is None or plan == PLAN_DEPLOY:
        return frozenset()
    # An upgrade brings its new parameters into force, and whatever `deploy` would. Admission has
    # others sent after it. Here they came past it, and a parameter that had a value is no new one.
    others = not_in_force_after(version, plan, changed & _parameters(last).keys())
    return frozenset(n for n in others if plan_for_parameters(version, [n]).plan != PLAN_DEPLOY)


def _parameters(last: LastRun | None) -> Mapping[str, str]:
    return (last.parameters if last else None) or {}


def _differing(left: Mapping[str, str], right: Mapping[str, str]) -> frozenset[str]:
    names = left.keys() | right.keys()
    return frozenset(name for name in names if left.get(name) != right.get(name))
