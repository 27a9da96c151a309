"""Runs one step: delete, commands, apply, asserts, collectors."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from kudo_harness.commands import collecting_command
from kudo_harness.expressions import Expressions
from kudo_harness.faults.step_faults import StepFaults
from kudo_harness.findings import Findings
from kudo_harness.host import HarnessError
from kudo_harness.planning.plan import PlannedCommand
from kudo_harness.report import Failure
from kudo_harness.running.asserting import Asserts, Round
from kudo_harness.running.clusters import Cluster
from kudo_harness.running.log import StepLog
from kudo_harness.running.objects import (
    Applier,
    NotApplied,
    NotDeleted,
    delete_objects,
    items_of,
    meant_by,
)
from kudo_harness.running.shared import Commands, Shared
from kudo_harness.suite import Case, Command, Step

_INTERVAL: Final = 1.0
"""Seconds between the beginnings of two rounds of asserts."""
_LONGEST_ROUND: Final = 30.0
"""Seconds that the first round may take, however short the time of the step is."""


@dataclass(slots=True)
class StepRun:
    """One step of a case.

    Attributes:
        shared: Parts of the run.
        case: The case.
        step: The step.
        cluster: Where it runs.
        scope: What its objects and processes are deleted with.
        log: Its log.
        assertions: Number of checks of the step, once they were made.
    """

    shared: Shared
    case: Case
    step: Step
    cluster: Cluster
    scope: str
    log: StepLog
    assertions: int = 0
    _commands: Commands = field(init=False)

    def __post_init__(self) -> None:
        context = self.shared.context(
            self.case.namespace,
            self.cluster.kubeconfig,
            self.case.folder.absolute(),
            self.shared.suite.options.timeout,
        )
        self._commands = self.shared.commands(context, self.log, scope=self.scope)

    async def run(self) -> Failure | None:
        """Run the step and return why it failed; None if it passed."""
        failure = await self._until_asserts()
        if failure is None:
            failure = await self._assert()
            if failure is not None:
                options = self.step.assert_options
                for collector in options.collectors if options else ():
                    self.log.say(f"collecting for {collector.place}")
                    # Its failure is only logged: that of the asserts is the one that counts.
                    command = collecting_command(collector, self.case.namespace)
                    await self._commands.run([PlannedCommand(command)])
        return failure

    async def _until_asserts(self) -> Failure | None:
        """Do what comes before the asserts, which hold once all faults are over."""
        options = self.step.options
        if options is None or not options.faults:
            return await self._delete() or await self._act()
        lists = self.shared.suite.options.list_matching
        target, namespace = self.shared.target, self.case.namespace
        try:
            async with StepFaults(options.faults, target, namespace, self.log.say, lists) as faults:
                await faults.before(self.seconds)
                failure = await self._delete() or await self._act()
                if failure is None:
                    await faults.after(self.seconds)
        except HarnessError as error:
            return Failure(str(error))
        return failure

    @property
    def seconds(self) -> int:
        """The time of the asserts."""
        own = self.step.assert_options.timeout if self.step.assert_options else 0
        return own or self.shared.suite.options.timeout

    async def _delete(self) -> Failure | None:
        options = self.step.options
        if options is None or not options.delete:
            return None
        try:
            for deletion in options.delete:
                objects = await meant_by(self.cluster, deletion, self.case.namespace)
                for obj in objects:
                    self.log.say(f"deleting {obj}")
                await delete_objects(self.cluster, objects, self.seconds)
        except NotDeleted as error:
            return Failure(str(error))
        return None

    async def _act(self) -> Failure | None:
        """Run the commands, and apply the objects also if one failed, as kuttl does."""
        failures = []
        if self.step.options is not None:
            failure = await self._run_commands(self.step.options.commands)
            if failure is not None:
                failures.append(failure)
        failures += await self._apply()
        if not failures:
            return None
        first, *others = failures
        more = "\n".join(f"Also: {other.message}" for other in others)
        return Failure(first.message, "\n".join(filter(None, (first.details, more))))

    async def _run_commands(self, commands: tuple[Command, ...]) -> Failure | None:
        planned = [each for command in commands for each in self.shared.plan.of_step(command)]
        return await self._commands.run(planned)

    async def _apply(self) -> list[Failure]:
        documents = [item for document in self.step.objects.apply for item in items_of(document)]
        self.shared.log.learn(document.value for document in documents)
        applier = Applier(self.cluster, self.case.namespace, self.shared.record, self.scope)
        failures = []
        for document in documents:
            try:
                self.log.say(await applier.apply(document))
            except NotApplied as error:
                # As with kuttl, the others are applied all the same.
                self.log.say(str(error))
                failures.append(Failure(str(error)))
        return failures

    async def _assert(self) -> Failure | None:
        asserts = self._asserts()
        self.assertions = asserts.count
        if not asserts.count:
            return None
        last = await self._until_holds(asserts)
        if last is None:
            return Failure(f"{self.step.place}: the asserts were not checked within the time")
        if last.holds:
            return None
        return await asserts.explain(last)

    async def _until_holds(self, asserts: Asserts) -> Round | None:
        """Check once per second until all holds or the time is over; return the last round."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.seconds
        last: Round | None = None
        while True:
            began = loop.time()
            try:
                # Of a step with little time, at least one round is needed to tell what failed.
                limit = until if last is not None else max(until, began + _LONGEST_ROUND)
                async with asyncio.timeout_at(limit):
                    last = await asserts.check()
            except TimeoutError:
                return last
            next_round = began + _INTERVAL
            if last.holds or next_round >= until:
                return last
            await asyncio.sleep(next_round - loop.time())

    def _asserts(self) -> Asserts:
        options = self.step.assert_options
        lists = self.shared.suite.options.list_matching
        expressions = Expressions()
        if options is not None:
            lists = options.list_matching or lists
            # They were compiled before anything ran, so nothing can be found now.
            expressions = Expressions.compile(options, Findings())
        return Asserts(
            host=self.shared.target.host,
            cluster=self.cluster,
            namespace=self.case.namespace,
            must_match=self.step.objects.asserts,
            must_not_match=self.step.objects.errors,
            lists=lists,
            expressions=expressions,
            options=options,
            commands=self._commands,
            plan=self.shared.plan,
        )
