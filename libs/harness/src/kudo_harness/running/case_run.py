"""Runs one case: its namespace, its steps, and the removal of what it made."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kubeio.errors import KubeError
from kudo_harness.report import CaseResult, Failure, StepResult
from kudo_harness.running.cleanup import SECONDS
from kudo_harness.running.clusters import Cluster
from kudo_harness.running.log import StepLog
from kudo_harness.running.namespaces import NamespaceNotReady, event_lines
from kudo_harness.running.shared import Shared
from kudo_harness.running.step_run import StepRun
from kudo_harness.suite import Case, KubeconfigLoading, Step

_FAILED_BEFORE = "an earlier step failed"
_NO_NAMESPACE = "the case could not be prepared"
_INTERRUPTED = "the run was interrupted"


@dataclass(slots=True)
class CaseRun:
    """One case of a run.

    Attributes:
        shared: Parts of the run.
        folder: The folder of cases, as it is given.
        case: The case.
        scope: What its objects and processes are deleted with; different for each case.
        result: What is known of the result while it runs.
    """

    shared: Shared
    folder: str
    case: Case
    scope: str
    result: CaseResult = field(init=False)
    _steps: list[StepResult] = field(default_factory=list)
    _failure: Failure | None = None
    _began: float = 0.0
    _clusters: dict[int, Cluster] = field(default_factory=dict)
    """Clusters by the number of the step; where a kubeconfig is read lazily, from then on."""

    def __post_init__(self) -> None:
        self.result = CaseResult(self.case.name, datetime.now(UTC), skipped=_INTERRUPTED)

    async def run(self) -> None:
        """Run the case; `result` says how it ended, also after this was cancelled."""
        self._began = asyncio.get_running_loop().time()
        self.result = CaseResult(self.case.name, datetime.now(UTC))
        self.shared.log.case_started(self.folder, self.case)
        try:
            if await self._prepare():
                await self._run_steps()
            if self._failed:
                await self._show_events()
            if not self.shared.suite.options.skip_delete:
                await self._delete()
        except asyncio.CancelledError:
            # What the case made is deleted by the run, so that one more signal can end that.
            self._end(_INTERRUPTED)
            raise
        self._end("")
        self.shared.log.case_ended(self.folder, self.result)

    @property
    def _failed(self) -> bool:
        return self._failure is not None or any(step.failure for step in self._steps)

    @property
    def _log(self) -> StepLog:
        return self.shared.log.of(self.case.name, "")

    def _end(self, skipped: str) -> None:
        now = asyncio.get_running_loop().time()
        steps = (*self._steps, *self._rest(skipped or _FAILED_BEFORE))
        self.result = CaseResult(
            self.case.name,
            self.result.started,
            now - self._began,
            steps,
            self._failure,
            "" if self._failed else skipped,
        )

    def _rest(self, skipped: str) -> tuple[StepResult, ...]:
        rest = self.case.steps[len(self._steps) :]
        return tuple(StepResult(step.title, skipped=skipped) for step in rest)

    async def _prepare(self) -> bool:
        """Create the namespace, also on the clusters of steps that are read eagerly."""
        try:
            assert self.shared.clusters.default is not None
            await self._ensure_namespace(self.shared.clusters.default)
            for step in self.case.steps:
                options = step.options
                # With lazy loading, a step before may write the kubeconfig.
                if options is None or options.kubeconfig_loading is KubeconfigLoading.EAGER:
                    self._clusters[step.index] = await self._cluster(step)
        except (KubeError, NamespaceNotReady, OSError, ValueError) as error:
            self._fail(f"the case cannot begin: {error}")
            self._steps += [
                StepResult(step.title, skipped=_NO_NAMESPACE) for step in self.case.steps
            ]
            return False
        return True

    async def _cluster(self, step: Step) -> Cluster:
        """Return the cluster of a step, with the namespace of the case."""
        default = self.shared.clusters.default
        assert default is not None
        folder = self.case.folder.absolute()
        context = self.shared.context(self.case.namespace, default.kubeconfig, folder, 0)
        cluster = await self.shared.clusters.of_step(step.options, folder, context.variables)
        await self._ensure_namespace(cluster)
        return cluster

    async def _ensure_namespace(self, cluster: Cluster) -> None:
        # A namespace that cases share belongs to the run.
        scope = "" if self.shared.suite.options.namespace else self.scope
        text = await self.shared.namespaces.ensure(cluster, self.case.namespace, scope=scope)
        if text:
            self._log.say(text)

    async def _run_steps(self) -> None:
        for step in self.case.steps:
            result = await self._run_step(step)
            self._steps.append(result)
            if result.failure is not None:
                self._steps += self._rest(_FAILED_BEFORE)
                return

    async def _run_step(self, step: Step) -> StepResult:
        loop = asyncio.get_running_loop()
        began = loop.time()
        log = self.shared.log.of(self.case.name, step.title)
        self.shared.log.step_started(self.folder, self.case, step)
        log.say(f"starting test step {step.title}")
        assertions = 0
        try:
            cluster = self._clusters.get(step.index) or await self._cluster(step)
        except (KubeError, NamespaceNotReady, OSError, ValueError) as error:
            failure: Failure | None = Failure(f"{step.place}: {error}")
        else:
            run = StepRun(self.shared, self.case, step, cluster, self.scope, log)
            failure = await run.run()
            assertions = run.assertions
        if failure is not None:
            failure = self.shared.log.failure(failure)
            # The details stand at the end of the run, and in reports.
            log.say(failure.message)
        log.say(f"test step {'failed' if failure else 'completed'} {step.title}")
        return StepResult(step.title, loop.time() - began, assertions, failure)

    async def _show_events(self) -> None:
        if "events" in self.shared.suite.options.suppress:
            return
        default = self.shared.clusters.default
        assert default is not None
        for cluster in dict.fromkeys((default, *self._clusters.values())):
            for line in await event_lines(cluster.client, self.case.namespace):
                self._log.say(line)

    async def _delete(self) -> None:
        seconds = max(SECONDS, float(self.shared.suite.options.timeout))
        faults = await self.shared.cleanup.clean(self.scope, seconds)
        for fault in faults:
            self._log.say(fault)
        if faults:
            self._fail(f"not everything could be deleted: {faults[0]}", "\n".join(faults[1:]))

    def _fail(self, message: str, details: str = "") -> None:
        if self._failure is None:
            self._failure = self.shared.log.failure(Failure(message, details))
            self._log.say(message)
