"""What all cases of a run share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubectl_kudo.testing.local.planned import Plan, PlannedCommand
from kubectl_kudo.testing.running.cleanup import Cleanup
from kubectl_kudo.testing.running.commands import Commands
from kubectl_kudo.testing.running.objects.cluster import Clusters
from kubectl_kudo.testing.running.objects.namespaces import Namespaces
from kubectl_kudo.testing.running.options import RunOptions
from kubectl_kudo.testing.running.process_groups import Processes
from kubectl_kudo.testing.running.record import Record
from kubectl_kudo.testing.running.safe_log import SafeLog, StepLog
from kubectl_kudo.testing.target import Target
from kudo_harness.commands import Context
from kudo_harness.suite import Command, Suite, SuiteOptions


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts of a run that its cases use.

    Attributes:
        suite: The suite.
        plan: What is done for its commands.
        target: The cluster of the suite.
        options: Options of the run.
        log: Where messages go.
        record: What was made.
        clusters: All clusters.
        namespaces: Creates namespaces.
        processes: Starts processes.
        cleanup: Deletes what was made.
    """

    suite: Suite
    plan: Plan
    target: Target
    options: RunOptions
    log: SafeLog
    record: Record
    clusters: Clusters
    namespaces: Namespaces
    processes: Processes
    cleanup: Cleanup

    @property
    def suite_options(self) -> SuiteOptions:
        return self.suite.options

    def planned(self, command: Command) -> Sequence[PlannedCommand]:
        """Return what is done for a command of a step or assert."""
        return self.plan.of_step(command)

    def commands(self, context: Context, log: StepLog, *, scope: str) -> Commands:
        return Commands(self.processes, context, self.target.local, log, scope)

    def context(self, namespace: str, kubeconfig: Path, folder: Path, timeout: int) -> Context:
        """Return what commands in a folder have in common."""
        bin_folder = self.options.working_folder.absolute() / "bin"
        return Context(
            namespace=namespace,
            kubeconfig=kubeconfig,
            folder=folder,
            environment=self.options.environment,
            # As kuttl, but behind our own programs: an old kubectl-kudo may be in `bin`.
            programs=tuple(dict.fromkeys((*self.target.programs, bin_folder))),
            timeout=timeout,
        )
