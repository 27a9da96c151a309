"""The event recorder against a real HTTP server: order, retries, limits, fairness, end of terms."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from aiohttp import web

from kubeio.client import Client
from kudo.api import ExecutionStatus, Instance, JsonObject
from kudo.api.identity import identity
from kudo.api.times import rfc3339
from kudo_reconciler.common.clock import SystemClock
from kudo_reconciler.common.concurrency import Fairness
from kudo_reconciler.common.keys import Key
from kudo_reconciler.events.writer import EventRecorder, EventTimes
from kudo_reconciler.metrics.metrics import Metrics
from serving.namespaces import Tally
from serving.settings import Share
from tests.unit.kubeio.fake_api import FakeApi, Fault, fake_api, refuse, status_body, until

DONE = ExecutionStatus.COMPLETE
THROTTLED = refuse(429, "TooManyRequests")
FORBIDDEN = refuse(403, "Forbidden")


def instance(
    name: str = "i", namespace: str = "ns", *, deleting: bool = False, uid: str = "instance"
) -> Instance:
    metadata: JsonObject = {
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "resourceVersion": "1",
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Instance.from_wire({"metadata": metadata, "spec": {"operatorVersion": {"name": "v"}}})


async def hang(request: web.Request) -> web.StreamResponse:
    """Answer nothing until the client has gone."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def terminating(request: web.Request) -> web.StreamResponse:
    causes = [{"reason": "NamespaceTerminating", "field": "metadata.namespace", "message": "goes"}]
    return web.json_response(status_body(403, "Forbidden", details={"causes": causes}), status=403)


@dataclass
class Bench:
    """A recorder and the API server that it writes to.

    Attributes:
        written: The events that the API server took, by namespace and in their order.
        faults: What it answers instead, by namespace: the first is used up by each request.
        always: What it always answers in a namespace instead.
    """

    api: FakeApi
    client: Client
    metrics: Metrics = field(default_factory=Metrics)
    written: list[JsonObject] = field(default_factory=list)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    always: dict[str, Fault] = field(default_factory=dict)
    woken: list[Key] = field(default_factory=list)

    def recorder(self, **times: float) -> EventRecorder:
        wake, usual = self.woken.append, EventTimes(**times)
        return EventRecorder(self.client, SystemClock(), self.metrics, wake, usual)

    def serve(self, *namespaces: str) -> None:
        for namespace in namespaces:
            self.api.handlers[f"/api/v1/namespaces/{namespace}/events"] = self._create

    async def _create(self, request: web.Request) -> web.StreamResponse:
        event = orjson.loads(await request.read())
        namespace = event["metadata"]["namespace"]
        if self.faults.get(namespace):
            return await self.faults[namespace].pop(0)(request)
        if namespace in self.always:
            return await self.always[namespace](request)
        names = [one["metadata"]["name"] for one in self.written]
        if event["metadata"]["name"] in names:
            return await refuse(409, "AlreadyExists")(request)
        self.written.append(event)
        return web.json_response(event, status=201)

    @property
    def names(self) -> list[str]:
        return [event["metadata"]["name"] for event in self.written]

    @property
    def requests(self) -> int:
        return len(self.api.seen)

    @property
    def waiting(self) -> float | None:
        return self.metrics.registry.get_sample_value("kudo_events_waiting")

    @property
    def lost(self) -> float | None:
        return self.metrics.registry.get_sample_value("kudo_events_lost_total")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with fake_api() as api, Client(api.config) as client:
        made = Bench(api, client)
        made.serve("ns", "noisy", "other")
        yield made


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    """Write events until the block is left, as losing the Lease does it."""
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(recorder.run())
        yield
        writing.cancel()


async def test_events_of_a_run_are_written_once_the_recorder_runs(bench: Bench) -> None:
    recorder = bench.recorder()
    recorder.started(instance(), "deploy", "u")
    recorder.warning(instance(), "u", "TaskFailed", "no")
    recorder.note(identity(instance()), "u", "Normal", "ObjectAdopted", "cm")
    recorder.finished(instance(), "deploy", "u", DONE)
    assert (bench.waiting, bench.requests) == (4, 0)
    recorder.close()
    await recorder.run()

    assert [event["reason"] for event in bench.written] == [
        "PlanStarted",
        "TaskFailed",
        "ObjectAdopted",
        "PlanFinished",
    ]
    assert bench.names[0::3] == ["i.u.started", "i.u.finished"]
    assert bench.written[3]["message"] == "Execution of plan deploy finished with status COMPLETE"
    assert bench.written[3]["involvedObject"]["uid"] == "instance"
    assert (bench.waiting, bench.lost) == (0, 0)


async def test_a_run_that_another_process_began_and_this_one_replaces_has_both_events(
    bench: Bench,
) -> None:
    recorder = bench.recorder()
    recorder.superseded(instance(), "deploy", "u")
    recorder.stopped(instance(), "deploy", "v")
    async with running(recorder):
        await until(lambda: len(bench.names) == 4)
    assert bench.names == ["i.u.started", "i.u.finished", "i.v.started", "i.v.finished"]


@pytest.mark.parametrize(
    ("status", "severity"), [(DONE, "Normal"), (ExecutionStatus.FATAL_ERROR, "Warning")]
)
async def test_the_end_of_a_run_that_failed_is_a_warning(
    bench: Bench, status: ExecutionStatus, severity: str
) -> None:
    recorder = bench.recorder()
    recorder.finished(instance(), "deploy", "u", status)
    recorder.close()
    await recorder.run()
    assert bench.written[0]["type"] == severity


@pytest.mark.parametrize(
    "fault",
    [
        THROTTLED,
        refuse(429, "TooManyRequests", **{"Retry-After": "0"}),
        refuse(500, "InternalError"),
        refuse(409, "Conflict"),
        reset,
    ],
)
async def test_what_may_pass_is_tried_again_and_the_order_is_kept(
    bench: Bench, fault: Fault
) -> None:
    recorder = bench.recorder()
    bench.faults["ns"] = [fault, fault]
    async with running(recorder):
        recorder.started(instance(), "deploy", "u")
        recorder.warning(instance(), "u", "TaskFailed", "no")
        recorder.finished(instance(), "deploy", "u", DONE)
        # Not before the last answer has come: what is on its way at the end counts as lost.
        await until(lambda: len(bench.written) == 3 and bench.waiting == 0)
    assert bench.names == ["i.u.started", "i.u.taskfailed", "i.u.finished"]
    assert bench.lost == 0


async def test_an_event_that_is_there_already_is_no_loss(bench: Bench) -> None:
    for _ in range(2):
        recorder = bench.recorder()
        recorder.started(instance(), "deploy", "u")
        recorder.close()
        await recorder.run()
    assert (bench.requests, len(bench.written), bench.lost) == (2, 1, 0)


async def test_an_event_that_waits_is_not_queued_twice(bench: Bench) -> None:
    recorder = bench.recorder()
    for _ in range(3):
        recorder.started(instance(), "deploy", "u")
        recorder.warning(instance(), "u", "TaskFailed", "no")
    assert bench.waiting == 2


async def test_a_refused_event_is_lost_and_the_next_one_written(bench: Bench) -> None:
    recorder = bench.recorder()
    bench.faults["ns"] = [FORBIDDEN]
    recorder.started(instance(), "deploy", "u")
    recorder.finished(instance(), "deploy", "u", DONE)
    recorder.close()
    await recorder.run()
    assert (bench.names, bench.lost) == (["i.u.finished"], 1)


async def test_start_and_end_are_tried_for_longer_than_other_events(bench: Bench) -> None:
    recorder = bench.recorder(retry=0.0)
    bench.faults["ns"] = [THROTTLED] * 2
    async with running(recorder):
        recorder.warning(instance(), "u", "TaskFailed", "no")
        recorder.finished(instance(), "deploy", "u", DONE)
        await until(lambda: bench.written and bench.waiting == 0)
    assert (bench.names, bench.lost) == (["i.u.finished"], 1)


async def test_start_and_end_are_given_up_in_the_end(bench: Bench) -> None:
    recorder = bench.recorder(retry_run=0.0)
    bench.always["ns"] = THROTTLED
    async with running(recorder):
        recorder.finished(instance(), "deploy", "u", DONE)
        await until(lambda: bench.waiting == 0)
    assert (bench.requests, bench.lost) == (1, 1)


@pytest.mark.parametrize("fault", [THROTTLED, hang, reset])
async def test_a_namespace_whose_events_fail_does_not_hold_up_another(
    bench: Bench, fault: Fault
) -> None:
    recorder = bench.recorder()
    bench.always["noisy"] = fault
    async with running(recorder):
        for number in range(20):
            recorder.started(instance(f"i{number}", "noisy"), "deploy", "u")
        await until(lambda: bench.requests >= 3)
        recorder.started(instance(namespace="other"), "deploy", "u")
        await until(lambda: bench.written)
        assert bench.written[0]["metadata"]["namespace"] == "other"


async def test_a_request_that_is_not_answered_is_tried_again(bench: Bench) -> None:
    # Long enough for an answer on a busy machine: what is on its way at the end counts as lost.
    recorder = bench.recorder(call=0.2)
    bench.faults["ns"] = [hang]
    async with running(recorder):
        recorder.started(instance(), "deploy", "u")
        await until(lambda: bench.written and bench.waiting == 0)
    assert bench.lost == 0


async def test_a_namespace_fills_its_share_and_no_more(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = bench.recorder()
    caplog.set_level(logging.WARNING)
    for number in range(1100):
        recorder.started(instance("i", "noisy"), "deploy", f"u{number}")
    assert (bench.waiting, bench.lost) == (1000, 100)
    recorder.started(instance(namespace="other"), "deploy", "u")
    assert (bench.waiting, bench.lost) == (1001, 100)
    assert recorder.waiting() == {"noisy": 1000, "other": 1}
    [line] = [one for one in caplog.records if one.message == "event not written"]
    assert "too many" in getattr(line, "error")  # noqa: B009 - a field of the log line


async def test_warnings_do_not_take_the_room_of_start_and_end(bench: Bench) -> None:
    recorder = bench.recorder()
    for number in range(300):
        recorder.warning(instance(), f"u{number}", "TaskFailed", "no")
    assert (bench.waiting, bench.lost) == (250, 50)
    recorder.finished(instance(), "deploy", "u", DONE)
    assert (bench.waiting, bench.lost) == (251, 50)


async def test_the_limits_are_those_of_the_options(bench: Bench) -> None:
    fairness = Fairness(run_events=Share(3, 2), other_events=Share(3, 1))
    refused = Tally()
    recorder = EventRecorder(
        bench.client, SystemClock(), bench.metrics, fairness=fairness, refused=refused
    )
    for namespace in ("noisy", "other"):
        for number in range(3):
            recorder.started(instance(namespace=namespace), "deploy", f"u{number}")
            recorder.warning(instance(namespace=namespace), f"u{number}", "TaskFailed", "no")
    assert recorder.waiting() == {"noisy": 3, "other": 2}
    assert refused.sums() == {"noisy": 3, "other": 4}


async def test_all_namespaces_together_have_a_limit(bench: Bench) -> None:
    recorder = bench.recorder()
    for number in range(4100):
        recorder.started(instance("i", f"ns{number % 8}"), "deploy", f"u{number}")
    assert (bench.waiting, bench.lost) == (4000, 100)


# The end of a term


async def test_a_clean_end_delivers_also_what_was_put_off(bench: Bench) -> None:
    recorder = bench.recorder()
    bench.faults["ns"] = [refuse(429, "TooManyRequests", **{"Retry-After": "3600"})]
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run())
        recorder.started(instance(), "deploy", "u")
        recorder.finished(instance(), "deploy", "u", DONE)
        await until(lambda: bench.requests == 1)
        recorder.close()
    assert (bench.names, bench.lost) == (["i.u.started", "i.u.finished"], 0)


async def test_an_event_that_is_refused_after_the_clean_end_began_is_tried_again(
    bench: Bench,
) -> None:
    ending = asyncio.Event()

    async def refuse_then(request: web.Request) -> web.StreamResponse:
        await ending.wait()
        return await refuse(429, "TooManyRequests", **{"Retry-After": "3600"})(request)

    recorder = bench.recorder()
    bench.faults["ns"] = [refuse_then]
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run())
        recorder.started(instance(), "deploy", "u")
        await until(lambda: bench.requests == 1)
        recorder.close()
        ending.set()
    assert (bench.names, bench.lost) == (["i.u.started"], 0)


@pytest.mark.parametrize("fault", [THROTTLED, hang])
async def test_a_clean_end_waits_for_a_while_only(bench: Bench, fault: Fault) -> None:
    recorder = bench.recorder(drain=0.05)
    bench.always["ns"] = fault
    recorder.started(instance(), "deploy", "u")
    recorder.finished(instance(), "deploy", "u", DONE)
    recorder.close()
    await recorder.run()
    assert (bench.written, bench.waiting, bench.lost) == ([], 0, 2)


async def test_a_term_that_is_cut_off_drops_what_is_queued(bench: Bench) -> None:
    recorder = bench.recorder()
    bench.always["ns"] = THROTTLED
    async with running(recorder):
        recorder.started(instance(), "deploy", "u")
        await until(lambda: bench.requests)
    recorder.finished(instance(), "deploy", "u", DONE)
    assert (bench.waiting, bench.lost) == (0, 2)


# Instances that go


async def test_who_waits_for_the_end_event_is_woken_once_it_is_written(bench: Bench) -> None:
    recorder = bench.recorder(hold=60.0)
    leaving = instance(deleting=True)
    recorder.started(leaving, "cleanup", "u")
    recorder.finished(leaving, "cleanup", "u", DONE)
    assert recorder.unwritten(leaving)
    async with running(recorder):
        await until(lambda: bench.woken)
        recorder.finished(leaving, "cleanup", "u", DONE)
        assert not recorder.unwritten(leaving)
    assert (bench.woken, bench.requests) == ([Key("ns", "i")], 2)


@pytest.mark.parametrize("fault", [FORBIDDEN, terminating, refuse(404, "NotFound")])
async def test_who_waits_for_an_event_that_is_refused_is_woken_and_waits_no_more(
    bench: Bench, fault: Fault
) -> None:
    recorder = bench.recorder(hold=60.0)
    leaving = instance(deleting=True)
    bench.always["ns"] = fault
    async with running(recorder):
        recorder.finished(leaving, "cleanup", "u", DONE)
        assert recorder.unwritten(leaving)
        await until(lambda: bench.woken)
        recorder.finished(leaving, "cleanup", "u", DONE)
        assert not recorder.unwritten(leaving)
    assert bench.requests == 1


async def test_nobody_waits_longer_than_the_hold_nor_for_warnings(bench: Bench) -> None:
    recorder = bench.recorder(hold=0.0)
    recorder.finished(instance(), "cleanup", "u", DONE)
    assert not recorder.unwritten(instance())
    patient = bench.recorder(hold=60.0)
    patient.warning(instance(), "u", "TaskFailed", "no")
    assert not patient.unwritten(instance())


async def test_a_deleted_namespace_is_not_asked_again_until_it_is_back(bench: Bench) -> None:
    recorder = bench.recorder()
    bench.faults["ns"] = [terminating]
    leaving = instance(deleting=True)
    async with running(recorder):
        recorder.started(leaving, "cleanup", "u")
        recorder.finished(leaving, "cleanup", "u", DONE)
        await until(lambda: bench.waiting == 0)
        recorder.note(identity(leaving), "u", "Normal", "ObjectAdopted", "cm")
        assert (bench.requests, bench.waiting) == (1, 0)
        recorder.started(instance(uid="new"), "deploy", "v")
        await until(lambda: bench.written)
        recorder.note(identity(leaving), "u", "Normal", "ObjectAdopted", "cm")
        await until(lambda: len(bench.written) == 2)
    assert bench.lost == 0


# Runs of earlier terms


def ended(name: str, at: str, **entry: Any) -> JsonObject:
    run = {"uid": f"run-{name}", "status": "COMPLETE", "finishedAt": at, **entry}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {},
        "status": {"planStatus": {"deploy": run}, "lastRun": {"uid": run["uid"]}},
    }


async def test_start_and_end_of_runs_that_ended_lately_are_repeated(bench: Bench) -> None:
    recorder, now = bench.recorder(), rfc3339(SystemClock().now())
    await recorder.repeat(
        [
            ended("late", now),
            ended("failed", now, status="FATAL_ERROR"),
            ended("replaced", now, status="FATAL_ERROR", message="superseded by plan update"),
            ended("old", "2026-01-01T00:00:00Z"),
        ]
    )
    recorder.close()
    await recorder.run()
    found = {event["metadata"]["name"]: event["reason"] for event in bench.written}
    assert found == {
        "late.run-late.started": "PlanStarted",
        "late.run-late.finished": "PlanFinished",
        "failed.run-failed.started": "PlanStarted",
        "failed.run-failed.finished": "PlanFinished",
        "replaced.run-replaced.started": "PlanStarted",
        "replaced.run-replaced.finished": "PlanSuperseded",
    }
    assert {event["involvedObject"]["uid"] for event in bench.written} == {
        "uid-late",
        "uid-failed",
        "uid-replaced",
    }


async def test_repeated_events_leave_room_for_new_ones(bench: Bench) -> None:
    recorder, now = bench.recorder(), rfc3339(SystemClock().now())
    instances = [ended(f"i{number}", now) for number in range(150)]
    async with asyncio.TaskGroup() as group:
        repeating = group.create_task(recorder.repeat(instances))
        await until(lambda: bench.waiting == 20)
        assert not repeating.done()
        group.create_task(recorder.run())
        await repeating
        recorder.close()
    assert (len(bench.written), bench.lost) == (300, 0)


async def test_ten_thousand_instances_with_old_runs_queue_nothing(bench: Bench) -> None:
    recorder = bench.recorder()
    await recorder.repeat([ended("old", "2026-01-01T00:00:00Z")] * 10_000)
    assert bench.waiting == 0
