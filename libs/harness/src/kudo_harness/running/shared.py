"""What all cases of a run share, and how their commands are run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from kudo_harness.commands import CommandInvalid, Context, Process, process_of
from kudo_harness.host import HarnessError
from kudo_harness.planning.plan import Action, Plan, PlannedCommand
from kudo_harness.report import Failure
from kudo_harness.running.cleanup import Cleanup
from kudo_harness.running.clusters import Clusters
from kudo_harness.running.log import RunOptions, SafeLog, StepLog
from kudo_harness.running.namespaces import Namespaces
from kudo_harness.running.processes import Processes
from kudo_harness.running.record import Record
from kudo_harness.suite import Suite
from kudo_harness.target import RunningCluster, Target

_SHOWN = 200
"""Characters of a command in a message."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Runs commands one after the other.

    Attributes:
        processes: Starts processes.
        context: Namespace, folder and environment.
        local: The cluster, if the harness started it.
        log: Where commands and their output are logged.
        scope: What processes that they leave behind belong to.
    """

    processes: Processes
    context: Context
    local: RunningCluster | None
    log: StepLog
    scope: str

    async def run(
        self, planned: Iterable[PlannedCommand], *, quiet: bool = False
    ) -> Failure | None:
        """Run commands until one fails.

        Args:
            planned: The commands.
            quiet: Whether nothing is logged: those of asserts run again and again.
        """
        for command in planned:
            failure = await self._run(command, quiet=quiet)
            if failure is not None:
                return failure
        return None

    def process(self, planned: PlannedCommand) -> Process:
        """Return the process of a command.

        Raises:
            CommandInvalid: the command cannot be run as it is written.
        """
        return process_of(planned.command, self.context)

    async def _run(self, planned: PlannedCommand, *, quiet: bool) -> Failure | None:
        place = planned.command.place
        if planned.action is Action.SKIP:
            return None
        if planned.action is Action.INSTALL_KUDO:
            return await self._install_kudo(planned)
        try:
            # Only those of suites run in the background; the library warns of others.
            process = replace(self.process(planned), background=False)
        except CommandInvalid as error:
            return Failure(str(error))
        if not quiet:
            self.log.say(f"running command: {shown(process.shown)}")
        ended = await self.processes.run(
            process, self._line(process, quiet=quiet), scope=self.scope
        )
        if not ended.fault:
            return None
        text = f"{place}: command {shown(process.shown)} {ended.fault}"
        if not quiet:
            self.log.say(text)
        # Who leaves output out of the log does not want it in reports.
        return Failure(text, ended.tail if process.log_output else "")

    def _line(self, process: Process, *, quiet: bool) -> Callable[[str], None]:
        if quiet or not process.log_output:
            return lambda _: None
        return self.log.output()

    async def _install_kudo(self, planned: PlannedCommand) -> Failure | None:
        if self.local is None:
            return None
        self.log.say("installing KUDO on the cluster of the harness")
        try:
            await self.local.install_kudo()
        except HarnessError as error:
            return Failure(f"{planned.command.place}: KUDO cannot be installed: {error}")
        return None


def shown(command: str) -> str:
    """Return a command in one short line, in quotes."""
    line = " ".join(command.split())
    return f'"{line[:_SHOWN]}…"' if len(line) > _SHOWN else f'"{line}"'


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
