"""Prepares the cluster for a suite: CRDs, manifests, and the commands of the suite."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubectl_kudo.testing.local.planned import Action, PlannedCommand
from kubectl_kudo.testing.running.commands import Commands, shown
from kubectl_kudo.testing.running.objects.applying import Applier, NotApplied
from kubectl_kudo.testing.running.objects.cluster import Cluster
from kubectl_kudo.testing.running.reading.setup_objects import SetupObjects
from kubectl_kudo.testing.running.shared import Shared
from kudo_harness.commands import CommandInvalid
from kudo_harness.report import Failure
from kudo_harness.suite import Document

NAMESPACE = "default"
"""Of objects in manifestDirs and of the commands of a suite."""


@dataclass(frozen=True, slots=True)
class Background:
    """The commands of a suite that run in the background.

    Attributes:
        group: Where they run.
        tasks: One for each.
    """

    group: asyncio.TaskGroup
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(self.group.create_task(work, name=name))

    def end(self) -> None:
        """Cancel all; the group waits until they have ended."""
        for task in self.tasks:
            task.cancel()


@dataclass(frozen=True, slots=True)
class Setup:
    """Prepares the cluster.

    Attributes:
        shared: Parts of the run.
        objects: What is applied.
    """

    shared: Shared
    objects: SetupObjects

    async def run(self, background: Background) -> Failure | None:
        """Prepare the cluster and return why that failed; None if it did not.

        Objects stay after the run, as with kuttl: other runs may use them meanwhile.
        """
        cluster = self.shared.clusters.default
        assert cluster is not None
        for documents in (self.objects.crds, self.objects.manifests):
            failure = await self._apply(cluster, documents)
            if failure is not None:
                return failure
        return await self._run_commands(cluster, background)

    async def _apply(self, cluster: Cluster, documents: Sequence[Document]) -> Failure | None:
        self.shared.log.learn(document.value for document in documents)
        applier = Applier(cluster, NAMESPACE, None, "")
        log = self.shared.log.of("", "")
        for document in documents:
            try:
                log.say(await applier.apply(document))
            except NotApplied as error:
                return self.shared.log.failure(Failure(str(error)))
        return None

    async def _run_commands(self, cluster: Cluster, background: Background) -> Failure | None:
        context = self.shared.context(
            NAMESPACE,
            cluster.kubeconfig,
            self.shared.options.working_folder.absolute(),
            self.shared.suite_options.command_timeout,
        )
        commands = self.shared.commands(context, self.shared.log.of("", ""), scope="")
        for planned in self.shared.plan.commands:
            if planned.command.background and planned.action is Action.RUN:
                failure = await self._start(commands, planned, background)
            else:
                failure = await commands.run([planned])
            if failure is not None:
                return self.shared.log.failure(failure)
        return None

    async def _start(
        self, commands: Commands, planned: PlannedCommand, background: Background
    ) -> Failure | None:
        """Start a command in the background, and return why it cannot be; its end is logged."""
        try:
            process = commands.process(planned)
        except CommandInvalid as error:
            return Failure(str(error))
        commands.log.say(f"running in the background: {shown(process.shown)}")
        write = commands.log.output() if process.log_output else None
        name = shown(process.shown)

        def line(text: str) -> None:
            if write is not None:
                write(text)

        def ended(text: str) -> None:
            commands.log.say(f"the command {name} {text}")

        started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        work = self.shared.processes.supervise(process, line, ended, started, scope="")
        background.start(work, name)
        fault = await started
        return Failure(f"{planned.command.place}: command {name} {fault}") if fault else None
