"""Attempts at a step: what its tasks make of it, and what is on record before the next one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kudo.api import ExecutionStatus, Instance, OperatorVersion, Phase, Plan, PlanStatus, Step
from kudo.api.task_kinds import KINDS, FatalTaskError, TransientTaskError
from kudo.plans.execution import StepRef, TaskOutcome
from kudo_reconciler.common.errors import Outdated
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.steps import StepResult, StepRunner, TaskRunner
from kudo_reconciler.execution.task_context import (
    RunMemory,
    StepContext,
    TaskContext,
    TaskResult,
)
from workers import Pool

S = ExecutionStatus
DONE, WAITS = TaskResult(done=True), TaskResult(done=False, message="Deployment ns/a waits")
REF = StepRef(0, 0, "ph", "st")
NOW = "2026-01-01T00:00:00Z"


async def _takes_long(_: str) -> None:
    """Say nothing."""


@dataclass
class Scripted:
    """Runs tasks by a list of results for each of them; the last one is repeated."""

    results: dict[str, list[TaskResult | Exception]]
    seen: list[str] = field(default_factory=list)

    async def run(self, context: TaskContext) -> TaskResult:
        name = context.task.name
        self.seen.append(name)
        left = self.results[name]
        result = left[0] if len(left) == 1 else left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


@dataclass
class Bench:
    """A step of some tasks, each by kind and with the results of its attempts."""

    tasks: dict[str, tuple[str, Sequence[TaskResult | Exception]]]
    faults: int = 0
    on: str = "true"

    def __post_init__(self) -> None:
        self.script = Scripted({name: list(results) for name, (_, results) in self.tasks.items()})
        declared = [
            {"name": name, "kind": kind, "spec": _spec(kind)}
            for name, (kind, _) in self.tasks.items()
        ]
        self.version = OperatorVersion.from_wire(
            {
                "metadata": {"name": "v", "namespace": "ns"},
                "spec": {"tasks": declared, "parameters": [{"name": "ON", "default": self.on}]},
            }
        )
        self.memory = RunMemory("A", "i", "deploy", self.version, recheck_at=0.0)

    async def attempt(self, recorded: Iterable[str] = ()) -> StepResult:
        step = Step(name="st", tasks=tuple(self.tasks))
        context = StepContext(
            instance=Instance.from_wire({"metadata": {"name": "i", "namespace": "ns"}, "spec": {}}),
            version=self.version,
            plan=Plan(strategy="serial", phases=(Phase(name="ph", steps=(step,)),)),
            plan_name="deploy",
            uid="A",
            ref=REF,
            memory=self.memory,
            is_current=lambda: True,
            is_suspended=lambda: False,
            stored={name: TaskOutcome(name, S.COMPLETE) for name in recorded},
            outputs={},
            tell=_told,
            takes_long=_takes_long,
            renderer=Renderer(Pool("kudo.jobs")),
            client=Client(ClusterConfig("http://127.0.0.1")),
            stays=_goes,
            now=lambda: NOW,
            crashed=self._crashed,
        )
        runner = TaskRunner(dict.fromkeys(KINDS, self.script))
        return await StepRunner(runner).attempt(context)

    def _crashed(self) -> None:
        self.faults += 1


def _spec(kind: str) -> dict[str, object]:
    if kind == "Pipe":
        return {"pod": "p.yaml", "pipe": [{"file": "/out/a", "kind": "ConfigMap", "key": "a"}]}
    if kind == "Job":
        return {"job": {"command": ["x"], "image": "i"}}
    return {"resources": ["a.yaml"]} | ({"parameter": "ON"} if kind == "Toggle" else {})


async def _goes(_: TransientTaskError) -> bool:
    return False


def _told(severity: str, reason: str, message: str) -> None:
    raise AssertionError(f"no event was expected: {severity} {reason} {message}")


def statuses(result: StepResult) -> dict[str, str]:
    return {task.name: str(task.status) for task in result.outcome.tasks}


async def test_a_step_is_complete_when_all_its_tasks_are() -> None:
    result = await Bench({"a": ("Apply", [DONE]), "b": ("Apply", [DONE])}).attempt()
    assert result.outcome.status is S.COMPLETE
    assert statuses(result) == {"a": "COMPLETE", "b": "COMPLETE"}
    assert not result.unfinished


async def test_no_task_waits_for_another_one() -> None:
    bench = Bench({"a": ("Apply", [WAITS]), "b": ("Apply", [DONE])})
    result = await bench.attempt()
    assert bench.script.seen == ["a", "b"]
    assert (result.outcome.status, result.outcome.message) == (S.IN_PROGRESS, WAITS.message)


@pytest.mark.parametrize("kind", ["Delete", "Pipe"])
async def test_what_would_do_harm_if_repeated_is_on_record_before_the_next_task(kind: str) -> None:
    bench = Bench({"first": (kind, [DONE]), "then": ("Apply", [DONE])})
    result = await bench.attempt()
    assert bench.script.seen == ["first"]
    assert result.unfinished
    assert result.outcome.status is S.IN_PROGRESS
    assert statuses(result) == {"first": "COMPLETE"}
    result = await bench.attempt(recorded=["first"])
    assert bench.script.seen == ["first", "then"]
    assert result.outcome.status is S.COMPLETE


@pytest.mark.parametrize("kind", ["Delete", "Pipe"])
async def test_the_last_task_of_a_step_is_recorded_with_the_step(kind: str) -> None:
    result = await Bench({"a": ("Apply", [DONE]), "last": (kind, [DONE])}).attempt()
    assert result.outcome.status is S.COMPLETE
    assert not result.unfinished


async def test_a_task_that_makes_something_waits_until_the_delete_before_it_is_on_record() -> None:
    bench = Bench({"first": ("Delete", [WAITS, DONE]), "then": ("Apply", [DONE])})
    result = await bench.attempt()
    assert bench.script.seen == ["first"]
    assert not result.unfinished
    assert (result.outcome.status, result.outcome.message) == (S.IN_PROGRESS, WAITS.message)
    assert (await bench.attempt()).unfinished
    assert bench.script.seen == ["first", "first"]
    result = await bench.attempt(recorded=["first"])
    assert bench.script.seen[2:] == ["then"]
    assert result.outcome.status is S.COMPLETE


async def test_deletes_do_not_wait_for_a_delete() -> None:
    bench = Bench(
        {
            "claim": ("Delete", [WAITS]),
            "set": ("Delete", [DONE]),
            "make": ("Apply", [DONE]),
            "last": ("Delete", [DONE]),
        }
    )
    assert (await bench.attempt()).unfinished
    result = await bench.attempt(recorded=["set"])
    assert bench.script.seen == ["claim", "set", "claim"]
    assert not result.unfinished


async def test_what_ends_late_takes_no_end_of_a_later_task_from_the_record() -> None:
    bench = Bench(
        {
            "claim": ("Delete", [WAITS, DONE]),
            "set": ("Delete", [DONE]),
            "make": ("Apply", [DONE]),
        }
    )
    assert statuses(await bench.attempt()) == {"claim": "IN_PROGRESS", "set": "COMPLETE"}
    result = await bench.attempt(recorded=["set"])
    assert result.unfinished
    assert statuses(result) == {"claim": "COMPLETE", "set": "COMPLETE"}


async def test_a_failure_keeps_the_ends_of_later_tasks_on_record() -> None:
    error = FatalTaskError("TaskApplyError", "no")
    bench = Bench({"a": ("Apply", [WAITS, error]), "job": ("Job", [DONE]), "b": ("Apply", [DONE])})
    assert statuses(await bench.attempt()) == {"a": "IN_PROGRESS", "job": "COMPLETE"}
    result = await bench.attempt(recorded=["job"])
    assert statuses(result) == {"a": "FATAL_ERROR", "job": "COMPLETE"}
    assert result.outcome.status is S.FATAL_ERROR


@pytest.mark.parametrize(("on", "seen"), [("true", ["a", "b"]), ("false", ["a"])])
async def test_a_toggle_that_waits_keeps_others_only_while_it_deletes(
    on: str, seen: list[str]
) -> None:
    bench = Bench({"a": ("Toggle", [WAITS]), "b": ("Apply", [DONE])}, on=on)
    await bench.attempt()
    assert bench.script.seen == seen


@pytest.mark.parametrize("kind", ["Delete", "Pipe"])
@pytest.mark.parametrize("error", [TransientTaskError("TaskError", "not now"), MemoryError()])
async def test_what_would_do_harm_if_repeated_keeps_the_next_task_while_it_fails(
    kind: str, error: Exception
) -> None:
    bench = Bench({"first": (kind, [error, DONE]), "then": ("Apply", [DONE])})
    result = await bench.attempt()
    assert bench.script.seen == ["first"]
    assert not result.unfinished
    assert result.outcome.status in {S.ERROR, S.IN_PROGRESS}


async def test_a_fatal_error_ends_the_attempt() -> None:
    error = FatalTaskError("TaskApplyError", "no")
    bench = Bench({"a": ("Apply", [error]), "b": ("Apply", [DONE])})
    result = await bench.attempt()
    assert bench.script.seen == ["a"]
    assert result.failure is error
    assert result.outcome.status is S.FATAL_ERROR


async def test_a_transient_error_is_an_error_of_the_step() -> None:
    bench = Bench({"a": ("Apply", [TransientTaskError("TaskApplyError", "not now")])})
    result = await bench.attempt()
    assert result.outcome.status is S.ERROR
    assert "not now" in (result.outcome.message or "")


@pytest.mark.parametrize(
    "fault", [RuntimeError("can't start new thread"), MemoryError(), KeyError("s3cret")]
)
async def test_a_fault_of_ours_ends_nothing_and_quotes_nothing(fault: Exception) -> None:
    bench = Bench({"a": ("Apply", [fault, DONE])})
    result = await bench.attempt()
    assert (result.outcome.status, result.failure) == (S.IN_PROGRESS, None)
    assert result.faulty
    assert bench.faults == 1
    message = result.outcome.message or ""
    assert f"internal error ({type(fault).__name__})" in message
    assert "s3cret" not in message
    result = await bench.attempt()
    assert result.outcome.status is S.COMPLETE
    assert not result.faulty


async def test_an_instance_that_has_changed_is_not_a_result() -> None:
    with pytest.raises(Outdated):
        await Bench({"a": ("Apply", [Outdated()])}).attempt()


def outputs_of(result: StepResult) -> dict[str, object]:
    return {task.name: task.outputs for task in result.outcome.tasks}


async def test_outputs_are_told_with_the_end_of_their_task_until_that_is_stored() -> None:
    texts = {"size": "3"}
    bench = Bench({"a": ("Job", [TaskResult(done=True, outputs=texts)]), "b": ("Apply", [DONE])})
    first = await bench.attempt()
    assert first.unfinished
    assert outputs_of(first) == {"a": texts}
    # The write failed since the Instance had changed: nothing is read again, and nothing is lost.
    again = await bench.attempt()
    assert outputs_of(again) == {"a": texts}
    assert bench.script.seen == ["a"]
    last = await bench.attempt(recorded=["a"])
    assert outputs_of(last) == {"a": texts, "b": None}


async def test_the_outputs_of_a_run_are_bounded_together() -> None:
    def ends(size: int) -> list[TaskResult | Exception]:
        return [TaskResult(done=True, outputs={"n": "x" * (size - 1)})]

    # What is in the entry already counts; of a task that is tried again, the last texts count.
    bench = Bench({"a": ("Job", ends(4000)), "b": ("Job", ends(4001))})
    bench.memory.entry = PlanStatus.from_wire(
        {
            "name": "deploy",
            "phases": [
                {"name": "ph", "steps": [{"name": "st", "outputs": {"a": {"n": "y" * 9999}}}]},
                {"name": "x", "steps": [{"name": "s", "outputs": {"t": {"n": "x" * 57_535}}}]},
            ],
        }
    )
    assert (await bench.attempt()).failure is None
    result = await bench.attempt(recorded=["a"])
    assert result.failure is not None
    assert result.failure.reason == "OutputsInvalid"
    assert str(result.failure) == (
        "task b: the outputs of the run would have 65537 bytes together, more than 65536; write "
        "less, or use a ConfigMap"
    )
    assert outputs_of(result) == {"a": {"n": "x" * 3999}, "b": None}
