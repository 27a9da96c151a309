"""Prepares the cluster for a suite: `crdDir`, `manifestDirs`, and the commands of the suite."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kudo_harness.commands import CommandInvalid
from kudo_harness.findings import Findings
from kudo_harness.planning.plan import Action, PlannedCommand
from kudo_harness.report import Failure
from kudo_harness.running.clusters import is_crd
from kudo_harness.running.downloads import Downloads, Fetch
from kudo_harness.running.objects import Applier, NotApplied, items_of
from kudo_harness.running.shared import Commands, Shared, shown
from kudo_harness.suite import Document, Suite, Text
from kudo_harness.suite.documents import is_object
from kudo_harness.suite.files import FileReader, is_url


@dataclass(frozen=True, slots=True)
class SetupObjects:
    """The objects that are applied before the cases, in order.

    Attributes:
        crds: Of `crdDir`.
        manifests: Of `manifestDirs`.
    """

    crds: tuple[Document, ...] = ()
    manifests: tuple[Document, ...] = ()


async def setup_objects(suite: Suite, download: Fetch) -> SetupObjects:
    """Return the objects of `crdDir` and `manifestDirs`.

    Raises:
        SuiteInvalid: with everything that cannot be read.
    """
    findings = Findings()
    files, downloads = FileReader(findings), Downloads(download, findings)

    async def read(text: Text) -> list[Document]:
        """Return the objects of a folder, with those below it, of a file, or of a URL."""
        if is_url(text.value):
            documents = await downloads.documents(text)
        else:
            documents = tuple(files.manifests(Path(text.value), text.place))
        objects = [document for document in documents if is_object(document, findings)]
        return [item for document in objects for item in items_of(document)]

    crd_dir = suite.options.crd_dir
    # Other objects in the folder of CRDs are left out, as by kuttl.
    crds = [crd for crd in (await read(crd_dir) if crd_dir else ()) if is_crd(crd.value)]
    manifests = [item for text in suite.options.manifest_dirs for item in await read(text)]
    findings.check()
    return SetupObjects(tuple(crds), tuple(manifests))


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
        log = self.shared.log.of("", "")
        # CRDs first: manifests may have objects of their kinds.
        documents = (*self.objects.crds, *self.objects.manifests)
        self.shared.log.learn(document.value for document in documents)
        # Without a record, since they stay.
        applier = Applier(cluster, NAMESPACE, None, "")
        for document in documents:
            try:
                log.say(await applier.apply(document))
            except NotApplied as error:
                return self.shared.log.failure(Failure(str(error)))
        context = self.shared.context(
            NAMESPACE,
            cluster.kubeconfig,
            self.shared.options.working_folder.absolute(),
            self.shared.suite.options.command_timeout,
        )
        commands = self.shared.commands(context, log, scope="")
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
