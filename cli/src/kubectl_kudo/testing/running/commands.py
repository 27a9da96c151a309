"""Runs the commands of a suite, of steps and of asserts, as the plan says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.testing.local.planned import Action, PlannedCommand
from kubectl_kudo.testing.running.process_groups import Processes
from kubectl_kudo.testing.running.safe_log import StepLog
from kubectl_kudo.testing.target import LocalCluster
from kudo_harness.commands import CommandInvalid, Context, Process, process_of
from kudo_harness.report import Failure

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
    local: LocalCluster | None
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
        for one in planned:
            failure = await self._run(one, quiet=quiet)
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
        except CliError as error:
            return Failure(f"{planned.command.place}: KUDO cannot be installed: {error}")
        return None


def shown(command: str) -> str:
    """Return a command in one short line, in quotes."""
    line = " ".join(command.split())
    return f'"{line[:_SHOWN]}…"' if len(line) > _SHOWN else f'"{line}"'
