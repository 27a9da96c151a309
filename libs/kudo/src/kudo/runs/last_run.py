"""Writes and reads `status.lastRun`, the record of what a run began with.

It holds the configuration in force, with which changes are compared: an OperatorVersion and a
fingerprint of each parameter. Each moves only in a run that the rules choose for its change, or in
`deploy`. Where the Instance had other values when the run began, `pendingParameters` has their
fingerprints; both together tell what the run began with.
"""

from collections.abc import Mapping

from kudo.api import ExecutionStatus, Instance, LastRun, ObjectReference, OperatorVersion
from kudo.execution import status_of
from kudo.names import PLAN_DEPLOY
from kudo.problems import Problem, listed
from kudo.runs.plan_choice import plan_for_parameters, plan_for_upgrade
from kudo.values.fingerprints import fingerprints

_REMOVED = ""
"""In place of a fingerprint: the Instance no longer sets a parameter that is in force."""


def record_of(instance: Instance, version: OperatorVersion) -> LastRun:
    """Return the record of the scheduled run of an Instance, which begins with a version."""
    last, now = instance.status.last_run, fingerprints(instance.parameters)
    before = _parameters(last)
    if _takes_all(instance, version):
        namespace, name = instance.operator_version_key
        reference: ObjectReference | None = ObjectReference(namespace=namespace, name=name)
        operator: str | None = version.operator_name or None
        pending = frozenset[str]()
    else:
        reference, operator = (last.operator_version, last.operator) if last else (None, None)
        pending = _pending(instance, version)
    kept = {name: before[name] for name in pending if name in before}
    return LastRun(
        plan=instance.scheduled.plan_name or "",
        uid=instance.scheduled.uid or "",
        operator_version=reference,
        operator=operator,
        operator_version_digest=version.digest,
        parameters={name: value for name, value in now.items() if name not in pending} | kept,
        pending_parameters={name: now.get(name, _REMOVED) for name in sorted(pending)} or None,
    )


def in_force(instance: Instance) -> LastRun | None:
    """Return the record that holds the configuration in force.

    None if there is none: no run was chosen by the rules yet, whatever else may have run.
    """
    last = instance.status.last_run
    return last if last is not None and last.operator_version is not None else None


def version_in_force(last: LastRun) -> tuple[str, str]:
    """Return namespace and name of the OperatorVersion in force."""
    reference = last.operator_version
    return ("", "") if reference is None else (reference.namespace or "", reference.name or "")


def changed_parameters(instance: Instance) -> frozenset[str]:
    """Return the parameters whose value is not the one in force."""
    return _differing(_parameters(instance.status.last_run), fingerprints(instance.parameters))


def edited_since(instance: Instance, version: OperatorVersion) -> Problem | None:
    """Return what has changed since the scheduled run began; None if nothing has.

    None as well where the record does not tell: the run has none yet, or it was written by an
    earlier release, or where the CRD has no digest.

    Args:
        instance: The Instance.
        version: The OperatorVersion that its spec names now.
    """
    run, last = instance.scheduled, instance.status.last_run
    if last is None or (last.plan, last.uid) != (run.plan_name, run.uid):
        return None
    if not last.operator_version_digest:
        return None
    if last.operator_version_digest != version.digest:
        key = "/".join(instance.operator_version_key)
        text = f"OperatorVersion {key} is not the one that the run began with"
        return _edited("OperatorVersionChanged", instance, text, "spec.operatorVersion")
    # What the version does not declare is used by no template.
    names = (
        _differing(_began_with(last), fingerprints(instance.parameters)) & version.declared.keys()
    )
    if not names:
        return None
    text = f"the run began with other values of parameters: {listed(sorted(names))}"
    return _edited("ParametersChanged", instance, text, "spec.parameters")


def _edited(reason: str, instance: Instance, text: str, where: str) -> Problem:
    metadata, plan = instance.metadata, instance.scheduled.plan_name
    text = (
        f"{text}, and the process that began it has ended, so nothing more is sent; run the plan "
        f"again with what is stored now (kubectl kudo plan trigger --name {plan} "
        f"--instance {metadata.name} -n {metadata.namespace})"
    )
    return Problem(reason, text, where)


def _began_with(last: LastRun) -> dict[str, str]:
    found = {**_parameters(last), **(last.pending_parameters or {})}
    return {name: value for name, value in found.items() if value != _REMOVED}


def has_run(instance: Instance) -> bool:
    """Return whether a run of the Instance is recorded, be it by the original."""
    statuses = [status_of(entry) for entry in instance.plan_status.values()]
    return any(status is not ExecutionStatus.NEVER_RUN for status in statuses)


def _takes_all(instance: Instance, version: OperatorVersion) -> bool:
    """Whether all that the Instance has comes into force with its scheduled run."""
    plan, last = instance.scheduled.plan_name or "", in_force(instance)
    if plan == PLAN_DEPLOY:
        return True
    if last is None:
        # What the original left is taken as it stands.
        return instance.status.last_run is None and has_run(instance)
    upgraded = version_in_force(last) != instance.operator_version_key
    return upgraded and plan == plan_for_upgrade(version).plan


def _pending(instance: Instance, version: OperatorVersion) -> frozenset[str]:
    """Return the changed parameters that the scheduled run does not bring into force."""
    plan, last, changed = (
        instance.scheduled.plan_name,
        in_force(instance),
        changed_parameters(instance),
    )
    if last is None or version_in_force(last) != instance.operator_version_key:
        return changed
    if plan == plan_for_parameters(version, changed).plan:
        return frozenset[str]()
    # Nothing is chosen for those that the version does not declare, so nothing is missed either.
    declared = changed & version.declared.keys()
    return frozenset(n for n in declared if plan_for_parameters(version, [n]).plan != plan)


def _parameters(last: LastRun | None) -> Mapping[str, str]:
    return (last.parameters if last else None) or {}


def _differing(left: Mapping[str, str], right: Mapping[str, str]) -> frozenset[str]:
    names = left.keys() | right.keys()
    return frozenset(name for name in names if left.get(name) != right.get(name))
