"""Whether the marks of orphans count: after a run nothing that they depend on may have changed."""

from kudo.api import ExecutionStatus, Instance, OperatorVersion
from kudo.plans.runs.last_run import configuration_now


def why_undecided(instance: Instance, version: OperatorVersion) -> str:
    """Return why the marks of orphans do not count, and what to do; empty if they do.

    At the end of each COMPLETE run a mark was taken off, or no plan applies the object: of that
    OperatorVersion, with these parameters. Another one may apply it.
    """
    last = instance.status.last_run
    if last is None or last.status != ExecutionStatus.COMPLETE:
        return "the last run is not COMPLETE; run the plan again, then ask again"
    if last.configuration != configuration_now(instance, version):
        return (
            "the OperatorVersion or the parameters have changed since the last run; run a plan, "
            "then ask again"
        )
    return ""
