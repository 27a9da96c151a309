"""Runs a suite and returns its result; what the run made is deleted, also after an interruption."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from kudo_harness.planning.plan import Plan
from kudo_harness.report import Failure, FolderResult, SuiteResult
from kudo_harness.running.case_run import CaseRun
from kudo_harness.running.cleanup import Cleanup, end_record
from kudo_harness.running.clusters import Cluster, Clusters
from kudo_harness.running.downloads import fetch_objects
from kudo_harness.running.log import RunLog, RunOptions, SafeLog
from kudo_harness.running.namespaces import Namespaces
from kudo_harness.running.processes import Processes
from kudo_harness.running.record import Record
from kudo_harness.running.setup import Background, Setup, setup_objects
from kudo_harness.running.shared import Shared
from kudo_harness.running.waiting import Interruption
from kudo_harness.suite import Suite
from kudo_harness.target import Target

_SETUP_FAILED: Final = "the suite could not be prepared"
_OF_THE_RUN: Final = ""
"""Scope of what no case has made for itself."""


async def run_suite(
    suite: Suite, plan: Plan, target: Target, options: RunOptions, log: RunLog
) -> SuiteResult:
    """Run a suite.

    The first interruption ends the run and deletes what it made, the second one ends that as well,
    and what is left is told.

    Args:
        suite: The suite; its options are those that hold, flags included.
        plan: What is done for its commands.
        target: The cluster.
        options: Folders, environment, interruption.
        log: Where messages go.

    Raises:
        SuiteInvalid: manifests cannot be read; nothing was done.
    """
    # All is read before anything is created: what cannot be read is a mistake of the suite.
    suite = await fetch_objects(suite, target.host.download)
    objects = await setup_objects(suite, target.host.download)
    default = Cluster.of(target.client, target.kubeconfig)
    record = Record.start(options.folder)
    async with Clusters(options.folder, target.host.user_agent, default) as clusters:
        processes = Processes(record)
        shared = Shared(
            suite=suite,
            plan=plan,
            target=target,
            options=options,
            log=SafeLog.of_suite(log, suite),
            record=record,
            clusters=clusters,
            namespaces=Namespaces(record),
            processes=processes,
            cleanup=Cleanup(
                record,
                clusters,
                processes,
                wait=options.wait_until_gone and target.local is None,
            ),
        )
        return await _Run(shared, Setup(shared, objects), options.interruption).run()


@dataclass(slots=True)
class _Run:
    shared: Shared
    setup: Setup
    interruption: Interruption
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    folders: list[tuple[str, list[CaseRun]]] = field(default_factory=list)
    failure: Failure | None = None

    def __post_init__(self) -> None:
        # The number makes scopes differ: two folders may have cases of the same name.
        self.folders = [
            (
                folder.path,
                [
                    CaseRun(self.shared, folder.path, case, f"{number}/{case.name}")
                    for case in folder.cases
                ],
            )
            for number, folder in enumerate(self.shared.suite.test_dirs)
        ]

    async def run(self) -> SuiteResult:
        loop = asyncio.get_running_loop()
        began = loop.time()
        ended = False
        before = self.interruption.on_signal
        self.interruption.on_signal = self._interrupted
        try:
            ended = await self.interruption.until_interrupted(self._work())
        finally:
            # Cases that have ended have deleted their own, or waited for it in vain.
            await self._clean(_OF_THE_RUN if ended else None)
            self.interruption.on_signal = before
        return SuiteResult(
            name=self.shared.suite.options.name,
            started=self.started,
            seconds=loop.time() - began,
            folders=tuple(self._results()),
            failure=self.failure,
            interrupted=not ended,
        )

    def _interrupted(self, signals: int) -> None:
        log = self.shared.log.of("", "")
        if signals == 1:
            log.say("interrupted: stopping and deleting what the run made; once more leaves it")
        else:
            log.say("interrupted again: what is left stays")
            # A task group that is being cancelled does not pass on that it is cancelled again.
            self.shared.processes.kill_all()

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            background = Background(group)
            self.failure = await self.setup.run(background)
            if self.failure is None:
                await self._run_cases()
            # They run until they are cancelled, and the group waits for them.
            background.end()

    async def _run_cases(self) -> None:
        limit = asyncio.Semaphore(self.shared.suite.options.parallel)

        async def run(case: CaseRun) -> None:
            async with limit:
                await case.run()

        async with asyncio.TaskGroup() as group:
            for _, cases in self.folders:
                for case in cases:
                    group.create_task(run(case), name=case.case.name)

    async def _clean(self, scope: str | None) -> None:
        """Delete what is left of a scope, or of all: of interrupted cases, and what cases share."""
        record, options = self.shared.record, self.shared.suite.options
        cluster_ends = self.shared.target.local is not None and not options.skip_cluster_delete
        if cluster_ends and (scope is None or options.skip_delete):
            # Its objects end with it: nobody needs to wait for their deletion.
            for made in record.objects_of(None):
                if made.kubeconfig == str(self.shared.target.kubeconfig):
                    record.gone(made)
        if options.skip_delete:
            await self.shared.processes.stop_all(None)
            self._tell_kept()
            return
        log = self.shared.log.of("", "")

        async def clean() -> None:
            for fault in await self.shared.cleanup.clean(scope):
                log.say(fault)

        await self.interruption.until_interrupted(clean(), endures=1)
        end_record(record, log.say)

    def _tell_kept(self) -> None:
        log = self.shared.log.of("", "")
        folder = self.shared.options.folder
        if self.shared.record.is_empty:
            end_record(self.shared.record, log.say)
            return
        log.say(f"nothing was deleted, as skipDelete asks; --clean {folder} deletes it:")
        for made in self.shared.record.objects_of(None):
            if made.is_namespace:
                log.say(f"  namespace {made.name}")

    def _results(self) -> Iterator[FolderResult]:
        for path, cases in self.folders:
            results = [case.result for case in cases]
            if self.failure is not None:
                results = [replace(result, skipped=_SETUP_FAILED) for result in results]
            if not results:
                continue
            begin = min(result.started for result in results)
            end = max(result.started.timestamp() + result.seconds for result in results)
            yield FolderResult(path, begin, max(0.0, end - begin.timestamp()), tuple(results))
