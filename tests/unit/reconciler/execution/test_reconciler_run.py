"""The run of a plan whose tasks meet faults of ours: it goes on, says so, and counts them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kudo.admission.tenancy import Tenancy
from kudo.api import ExecutionStatus, Instance, OperatorVersion, PlanStatus
from kudo.api.task_kinds import KINDS, FatalTaskError
from kudo.plans.execution import Intent, StepRef, begin, status_of
from kudo_reconciler.common.clock import SystemClock
from kudo_reconciler.common.keys import INSTANCES, Key
from kudo_reconciler.execution.operations import Operations
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.run import PlanRunner, Run, StatusWriter
from kudo_reconciler.execution.steps import StepRunner, TaskRunner
from kudo_reconciler.execution.task_context import Progress, RunMemory, TaskContext, TaskResult
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.store.freshness import OwnWrites
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.tenancy.accounts import Accounts, Directory
from workers import Pool

REF: Final = StepRef(0, 0, "phase", "step")
VERSION: Final = OperatorVersion.from_wire(
    {
        "metadata": {"name": "v", "namespace": "ns"},
        "spec": {
            "tasks": [{"name": "t", "kind": "Apply", "spec": {"resources": ["a.yaml"]}}],
            "plans": {
                "deploy": {
                    "phases": [{"name": REF.phase, "steps": [{"name": REF.step, "tasks": ["t"]}]}]
                }
            },
        },
    }
)


@dataclass
class Scripted:
    """Fails as it was told, and is done then."""

    failures: list[Exception]
    tries: int = 0

    async def run(self, _: TaskContext) -> TaskResult:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        return TaskResult(done=True)


def told(severity: str, reason: str, message: str) -> None:
    raise AssertionError(f"no event was expected: {severity} {reason} {message}")


class Bench:
    """A run of one task. There is no API server: a plan of one step stores nothing on its way."""

    def __init__(self, failures: Sequence[Exception]) -> None:
        self.task = Scripted(list(failures))
        self.metrics = Metrics()
        self.memory = RunMemory("A", "i", "deploy", VERSION, recheck_at=0.0)
        self.client = Client(ClusterConfig("http://127.0.0.1"))
        tasks = TaskRunner(dict.fromkeys(KINDS, self.task))
        self.runner = PlanRunner(
            StepRunner(tasks),
            Operations(lambda _: None),
            Renderer(Pool("kudo.jobs")),
            Accounts(self.client, Tenancy.COMPAT, ("kudo-system",), Directory(self.client)),
            SystemClock(),
            self.metrics,
        )
        plan = VERSION.plans["deploy"]
        self.entry: PlanStatus = begin("deploy", plan, "A", "2026-01-01T00:00:00Z")

    async def advance(self) -> Progress:
        instance = Instance.from_wire({"metadata": {"name": "i", "namespace": "ns"}, "spec": {}})
        own = OwnWrites[Key](lambda *_: None)
        store = InstanceStore(self.client, Informer(self.client, INSTANCES), own)
        run = Run(
            instance=instance,
            version=VERSION,
            plan=VERSION.plans["deploy"],
            name="deploy",
            uid="A",
            memory=self.memory,
            writer=StatusWriter(store, instance, instance.status),
            is_current=lambda: True,
            is_suspended=lambda: False,
            tell=told,
        )
        progress = await self.runner.advance(run, self.entry, Intent.RUN)
        self.entry = progress.entry
        return progress

    @property
    def step(self) -> tuple[str, str | None]:
        """The status and the message of the step."""
        (phase,) = self.entry.phases or ()
        (step,) = phase.steps or ()
        return step.status, step.message

    @property
    def faults(self) -> float | None:
        return self.metrics.registry.get_sample_value("kudo_task_faults_total")


FAULTS = [RuntimeError("can't start new thread"), MemoryError(), OSError(24, "Too many files")]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_fault_of_ours_ends_no_plan_and_is_told_by_the_step(fault: Exception) -> None:
    bench = Bench([fault])

    progress = await bench.advance()

    assert progress.failures == []
    assert progress.look_again is not None
    assert status_of(bench.entry) is ExecutionStatus.IN_PROGRESS
    text = f"internal error ({type(fault).__name__}): the task is retried; "
    assert bench.step == ("IN_PROGRESS", text + "the reconciler's log has the details")
    assert bench.faults == 1.0
    assert bench.memory.states[REF].failures == 1


async def test_the_plan_completes_when_the_fault_goes() -> None:
    bench = Bench([RuntimeError("can't start new thread")] * 2)

    async with asyncio.timeout(60):
        while not status_of(bench.entry).terminal:
            await bench.advance()

    assert status_of(bench.entry) is ExecutionStatus.COMPLETE
    assert bench.step == ("COMPLETE", None)
    assert (bench.faults, bench.task.tries) == (2.0, 3)


async def test_what_is_wrong_with_the_input_ends_the_plan_and_is_no_fault_of_ours() -> None:
    bench = Bench([FatalTaskError("TaskRenderingError", "no template")])

    progress = await bench.advance()

    assert status_of(bench.entry) is ExecutionStatus.FATAL_ERROR
    assert [failure.reason for failure, _ in progress.failures] == ["TaskRenderingError"]
    assert bench.faults == 0.0
