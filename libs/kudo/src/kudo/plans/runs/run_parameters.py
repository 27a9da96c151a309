"""Parameters of a run: what whoever triggers a plan gives to that run alone.

A plan declares them, and they are checked as the parameters of the operator are. They are no
secrets. While the run is active they stand in `spec.planExecution.parameters`; the entry of the run
(`runParameters`) keeps them for a retry, which uses what the failed run was given. Defaults are
never stored: they are those of the OperatorVersion that the run began with.
"""

from collections.abc import Mapping
from typing import Final

from kudo.api import Instance, OperatorVersion, Plan, PlanExecution, PlanStatus, bounds
from kudo.api.fingerprints import fingerprint_of_object
from kudo.api.problems import Problem, listed, shown_name

FIELD: Final = "spec.planExecution.parameters"
_RECORDED: Final = 20
"""Parameters of a record of the history, of which one object in etcd has to hold 50."""
_VALUE: Final = 100
"""Characters of a value in such a record."""


def given_to(instance: Instance, run: PlanExecution) -> Mapping[str, str] | None:
    """Return the parameters of a run that is about to begin; None if there are none.

    Those of a retry are what the failed run was given.

    Args:
        instance: The Instance with its stored status.
        run: The scheduled run.
    """
    if not run.retry_of:
        return run.parameters or None
    entry = instance.plan_status.get(run.plan_name or "")
    return entry.run_parameters if entry is not None and entry.uid == run.retry_of else None


def as_begun(instance: Instance, plan: str) -> PlanExecution:
    """Return the parameters of the last run of a plan, to schedule it as it was begun."""
    entry = instance.plan_status.get(plan)
    return PlanExecution(parameters=(entry.run_parameters or None) if entry is not None else None)


def digest_of(parameters: Mapping[str, str] | None) -> str | None:
    """Return the digest that `lastRun` has of the parameters of a run; None if there are none."""
    return fingerprint_of_object(dict(parameters)) if parameters else None


def are_lost(entry: PlanStatus) -> bool:
    """Return whether a run was given parameters that are no longer kept."""
    return entry.run_parameters is not None and not entry.run_parameters


def recorded(parameters: Mapping[str, str] | None) -> tuple[dict[str, str] | None, int | None]:
    """Return what the history keeps of the parameters of a run, and how many more there were."""
    if not parameters:
        return None, None
    names = sorted(parameters)
    kept = {name: _cut(parameters[name]) for name in names[:_RECORDED]}
    return kept, len(names) - len(kept) or None


def _cut(value: str) -> str:
    return value if len(value) <= _VALUE else f"{value[: _VALUE - 4]} ..."


def size_of(parameters: Mapping[str, str]) -> int:
    """Return the bytes of names and values, as UTF-8."""
    return sum(len(text.encode("utf-8", "replace")) for pair in parameters.items() for text in pair)


def bounded_run_parameters(
    entries: Mapping[str, PlanStatus], last: str | None
) -> Mapping[str, PlanStatus]:
    """Return the entries of an Instance with `INSTANCE_RUN_PARAMETERS` bytes at most in all.

    The plan that changed longest ago loses its own first: an empty map stands in their place.

    Args:
        entries: The entries, by plan.
        last: The plan of the last run, which keeps them: it may be in progress.
    """
    sizes = {
        n: size_of(entry.run_parameters) for n, entry in entries.items() if entry.run_parameters
    }
    room = bounds.INSTANCE_RUN_PARAMETERS - sum(sizes.values())
    if room >= 0:
        return entries
    kept = dict(entries)
    sizes.pop(last or "", None)
    for name in sorted(sizes, key=lambda name: entries[name].last_updated_timestamp or ""):
        if room >= 0:
            break
        kept[name] = entries[name].model_copy(update={"run_parameters": {}})
        room += sizes[name]
    return kept


def missing(plan: Plan, given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the required parameters that a run has no value of."""
    return tuple(name for name in plan.required_parameters if not given.get(name))


def missing_problem(
    instance: Instance, plan_name: str, plan: Plan, given: Mapping[str, str]
) -> Problem | None:
    """Return that required parameters of a run are missing, with the command to type.

    Args:
        instance: The Instance.
        plan_name: Name of the plan.
        plan: The plan.
        given: The parameters of the run.
    """
    names = missing(plan, given)
    if not names:
        return None
    metadata = instance.metadata
    words = [f"-p {shown_name(name)}=VALUE" for name in names]
    text = (
        f"plan '{shown_name(plan_name)}' needs run parameters that are not given: {listed(names)}; "
        f"run it with them: kubectl kudo plan trigger --name {shown_name(plan_name)} "
        f"--instance {metadata.name} -n {metadata.namespace} {listed(words, ' ')}"
    )
    return Problem("ParameterRequired", text, FIELD)


def unattended_problem(
    instance: Instance, version: OperatorVersion, plan_name: str
) -> Problem | None:
    """Return why a plan that starts by itself cannot; None if it can.

    Nobody gives it the parameters that it requires. `package verify` refuses such a package.
    """
    plan = version.plans.get(plan_name)
    return None if plan is None else missing_problem(instance, plan_name, plan, {})
