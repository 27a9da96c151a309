"""Tasks by their kind: who runs them, once, and what their failures become."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.errors import ConnectionLost, Forbidden, KubeError, ServerError
from kudo.api import Instance, OperatorVersion, Task
from kudo.api.task_kinds import KINDS, FatalTaskError, TaskPath, TransientTaskError
from kudo.plans.execution import StepRef
from kudo_reconciler.common.errors import Superseded
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.steps import TaskRunner
from kudo_reconciler.execution.task_context import RunMemory, TaskContext, TaskResult
from kudo_reconciler.execution.tasks.kinds import TASKS, DummyTask, ToggleTask
from workers import Pool

DONE = TaskResult(done=True)
WAITS = TaskResult(done=False, message="Deployment ns/a waits", polled=True)
REF = StepRef(0, 0, "ph0", "s1")


async def _takes_long(_: str) -> None:
    """Say nothing."""


@dataclass
class Scripted:
    """Runs tasks by a list of results; the last one is repeated."""

    results: list[TaskResult | Exception]
    seen: list[TaskContext] = field(default_factory=list)

    async def run(self, context: TaskContext) -> TaskResult:
        self.seen.append(context)
        result = self.results[0] if len(self.results) == 1 else self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def _told(severity: str, reason: str, message: str) -> None:
    raise AssertionError(f"no event was expected: {severity} {reason} {message}")


@dataclass
class Bench:
    """A runner whose object tasks are scripted, and a memory that tasks share."""

    apply: Scripted
    delete: Scripted
    memory: RunMemory
    parameters: dict[str, str]
    pipe: Scripted = field(default_factory=lambda: Scripted([DONE]))
    child: Scripted = field(default_factory=lambda: Scripted([DONE]))

    @property
    def runner(self) -> TaskRunner:
        return TaskRunner(
            {
                "Apply": self.apply,
                "Delete": self.delete,
                "Toggle": ToggleTask(self.apply, self.delete),
                "Pipe": self.pipe,
                "KudoOperator": self.child,
                "Dummy": DummyTask(),
            }
        )

    def context(self, task: Task, ref: StepRef = REF) -> TaskContext:
        wire = {"metadata": {"name": "i", "namespace": "ns"}, "spec": {}}
        instance = Instance.from_wire({**wire, "spec": {"parameters": self.parameters}})
        path = TaskPath("ns/i", "deploy", ref.phase, ref.step, task.name)
        return TaskContext(
            instance=instance,
            version=self.memory.version,
            uid="A",
            path=path,
            ref=ref,
            task=task,
            memory=self.memory,
            is_current=lambda: True,
            is_suspended=lambda: False,
            tell=_told,
            takes_long=_takes_long,
            renderer=Renderer(Pool("kudo.jobs")),
            outputs={},
            run_parameters={},
            client=Client(ClusterConfig("http://127.0.0.1")),
        )

    async def run(self, task: Task, ref: StepRef = REF) -> TaskResult:
        return await self.runner.run(self.context(task, ref))

    @property
    def calls(self) -> tuple[int, int]:
        """How often Apply and Delete were run."""
        return len(self.apply.seen), len(self.delete.seen)


def bench(
    *,
    apply: Iterable[TaskResult | Exception] = (DONE,),
    delete: Iterable[TaskResult | Exception] = (DONE,),
    parameters: dict[str, str] | None = None,
) -> Bench:
    declared = [{"name": "ON"}, {"name": "LIST", "value-type": "array", "default": "[]"}]
    version = OperatorVersion.from_wire(
        {"metadata": {"name": "v", "namespace": "ns"}, "spec": {"parameters": declared}}
    )
    memory = RunMemory("A", "i", "deploy", version, recheck_at=0.0)
    return Bench(Scripted(list(apply)), Scripted(list(delete)), memory, parameters or {})


def task(kind: str, name: str = "t", **spec: object) -> Task:
    return Task.from_wire({"name": name, "kind": kind, "spec": spec})


APPLY = task("Apply", resources=["a.yaml"])
DELETE = task("Delete", resources=["a.yaml"])
TOGGLE = task("Toggle", resources=["a.yaml"], parameter="ON")


# Who runs what


def test_there_is_what_runs_the_tasks_of_each_kind() -> None:
    assert TASKS.keys() == KINDS.keys()


PIPE_FILE = {"file": "/out/a", "kind": "ConfigMap", "key": "a"}
PIPE = task("Pipe", pod="p.yaml", pipe=[PIPE_FILE])


async def test_a_pipe_is_run_by_its_own() -> None:
    found = bench()
    assert await found.run(PIPE) == DONE
    assert len(found.pipe.seen) == 1
    assert found.calls == (0, 0)


@pytest.mark.parametrize(("desired", "calls"), [(APPLY, (1, 0)), (DELETE, (0, 1))])
async def test_each_kind_is_run_by_its_own(desired: Task, calls: tuple[int, int]) -> None:
    found = bench()
    assert await found.run(desired) == DONE
    assert found.calls == calls


async def test_a_child_is_neither_applied_nor_deleted_as_an_object() -> None:
    found = bench()
    assert await found.run(task("KudoOperator", package="p", operatorVersion="1")) == DONE
    assert (found.calls, len(found.child.seen)) == ((0, 0), 1)


@pytest.mark.parametrize(
    ("value", "calls"),
    [("true", (1, 0)), ("1", (1, 0)), ("false", (0, 1)), ("F", (0, 1))],
)
async def test_a_toggle_applies_or_deletes_by_its_parameter(
    value: str, calls: tuple[int, int]
) -> None:
    found = bench(parameters={"ON": value})
    assert await found.run(TOGGLE) == DONE
    assert found.calls == calls


@pytest.mark.parametrize(
    ("parameter", "parameters", "text"),
    [
        ("NONE", {}, "no value for parameter NONE found"),
        ("LIST", {}, "value of parameter LIST isn't a string"),
        ("ON", {"ON": ""}, "could not parse value of parameter ON"),
        ("ON", {"ON": "yes"}, 'parsing "yes": invalid syntax'),
    ],
)
async def test_a_toggle_without_a_boolean_is_fatal_and_touches_nothing(
    parameter: str, parameters: dict[str, str], text: str
) -> None:
    found = bench(parameters=parameters)
    with pytest.raises(FatalTaskError) as caught:
        await found.run(task("Toggle", resources=["a.yaml"], parameter=parameter))
    assert caught.value.reason == "ToggleTaskError"
    assert text in str(caught.value)
    assert found.calls == (0, 0)


async def test_the_task_gets_the_whole_context() -> None:
    found = bench()
    context = found.context(APPLY)
    await found.runner.run(context)
    assert found.apply.seen == [context]


# Dummy


async def test_a_dummy_is_done_when_it_says_so() -> None:
    assert await bench().run(task("Dummy", done=True)) == DONE


async def test_a_dummy_that_is_never_done_says_what_keeps_it_waiting() -> None:
    result = await bench().run(task("Dummy", name="pause"))
    assert not result.done
    assert result.message == "dummy task pause is not done, by its own definition"


@pytest.mark.parametrize(("fatal", "kind"), [(True, FatalTaskError), (False, TransientTaskError)])
async def test_a_dummy_fails_as_it_was_told_even_if_it_is_done(
    fatal: bool, kind: type[Exception]
) -> None:
    found = bench()
    for _ in range(2):
        with pytest.raises(kind, match=r"^dummy error$"):
            await found.run(task("Dummy", wantErr=True, fatal=fatal, done=True))
    assert found.memory.finished == set()


# Once


async def test_a_finished_task_is_not_run_again() -> None:
    found = bench()
    assert [await found.run(APPLY) for _ in range(3)] == [DONE] * 3
    assert found.calls == (1, 0)


async def test_a_task_that_waits_is_run_until_it_is_done() -> None:
    found = bench(apply=[WAITS, WAITS, DONE])
    assert [(await found.run(APPLY)).done for _ in range(5)] == [False, False, True, True, True]
    assert found.calls == (3, 0)


async def test_what_a_task_waits_for_is_passed_on() -> None:
    assert await bench(apply=[WAITS]).run(APPLY) == WAITS


async def test_a_task_that_failed_is_run_again() -> None:
    found = bench(apply=[TransientTaskError("TaskError", "no answer"), DONE])
    with pytest.raises(TransientTaskError):
        await found.run(APPLY)
    assert await found.run(APPLY) == DONE
    assert found.calls == (2, 0)


async def test_the_same_task_in_another_step_is_another_one() -> None:
    found = bench()
    await found.run(APPLY)
    await found.run(APPLY, StepRef(0, 1, "ph0", "s1"))
    await found.run(task("Apply", name="other", resources=["a.yaml"]))
    assert found.calls == (3, 0)


async def test_a_finished_task_is_left_alone_even_if_it_could_no_longer_be_built() -> None:
    found = bench()
    await found.run(APPLY)
    assert await found.run(task("Apply", resources=[])) == DONE


async def test_a_toggle_that_was_done_stays_done_when_its_parameter_changes() -> None:
    found = bench(parameters={"ON": "true"})
    await found.run(TOGGLE)
    found.parameters["ON"] = "false"
    assert await found.run(TOGGLE) == DONE
    assert found.calls == (1, 0)


async def test_what_an_earlier_process_recorded_as_done_is_not_run_again() -> None:
    found = bench()
    found.memory.finished.add((REF, "t"))
    assert await found.run(APPLY) == DONE
    assert found.calls == (0, 0)


# Failures


UNBUILT = "failed to build task deploy.ph0.s1.t: "
NO_RESOURCES = "has an empty resource list. if that's what you need, use a Dummy task instead"


@pytest.mark.parametrize(
    ("desired", "text"),
    [
        (task("Apply"), f"task validation error: apply task 't' {NO_RESOURCES}"),
        (task("Delete", resources=[]), f"task validation error: delete task 't' {NO_RESOURCES}"),
        (
            task("Toggle", resources=["a"]),
            "task validation error: Missing parameter to evaluate the Toggle Task",
        ),
        (task("Exec"), "unknown task kind Exec"),
    ],
)
async def test_a_task_that_cannot_be_built_is_fatal_and_touches_nothing(
    desired: Task, text: str
) -> None:
    found = bench()
    with pytest.raises(FatalTaskError) as caught:
        await found.run(desired)
    assert (caught.value.reason, str(caught.value)) == ("TaskBuildError", UNBUILT + text)
    assert found.calls == (0, 0)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLost("no answer"),
        ServerError("etcd is down", status=500),
        Forbidden("not yours", status=403),
        KubeError("something"),
    ],
)
@pytest.mark.parametrize("desired", [APPLY, DELETE])
async def test_what_the_api_server_refused_is_tried_again(desired: Task, error: KubeError) -> None:
    found = bench(apply=[error], delete=[error])
    with pytest.raises(TransientTaskError) as caught:
        await found.run(desired)
    assert caught.value.reason == "TaskError"
    assert str(caught.value) == str(error)
    assert caught.value.__cause__ is error
    assert found.memory.finished == set()


@pytest.mark.parametrize(
    "error",
    [FatalTaskError("TaskRenderingError", "no template"), Superseded(), ValueError("a fault")],
)
async def test_every_other_failure_passes_through_as_it_is(error: Exception) -> None:
    found = bench(apply=[error])
    with pytest.raises(type(error)) as caught:
        await found.run(APPLY)
    assert caught.value is error
    assert found.memory.finished == set()
