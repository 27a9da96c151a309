"""Requests that are too large for the event loop: real worker processes judge or refuse them.

What is asserted is which jobs were done and what was answered, never how long it took.
"""

import asyncio
import contextlib
import itertools
import logging
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from kudo.api import JsonObject, OperatorVersion, bounds
from kudo_webhook.app import HANDLERS
from kudo_webhook.metrics import Metrics
from kudo_webhook.reviewing import INLINE_BODY, INLINE_ENTRIES
from kudo_webhook.routes import Admission, build_app
from serving.probes import Scope
from serving.worker_pool import WorkerSettings
from tests.unit.webhook.harness import (
    MUTATE,
    VALIDATE,
    DictVersions,
    Replaced,
    Webhook,
    instance,
    operator_version,
    patch_of,
    review,
    running,
)
from tests.unit.webhook.test_webhook_versions import OperatorVersionsApi, following, version
from workers import Pool
from workers.queue import Bounds

pytestmark = pytest.mark.asyncio(loop_scope="session")


def aliases(levels: int) -> str:
    """Return an array of a few hundred bytes that stands for 9 ** (levels + 1) values."""
    rows = ["&l0 [" + ",".join("0" * 9) + "]"]
    rows += [f"&l{n} [" + ", ".join([f"*l{n - 1}"] * 9) + "]" for n in range(1, levels + 1)]
    return "[" + ", ".join(rows) + "]"


LACKING = Path(__file__).parents[2] / "support" / "handlers"
SMALL = WorkerSettings(memory=128 << 20)
COSTLY, HOSTILE = aliases(4), aliases(6)
"""Arrays that are right and cost a worker 0.1 s, or that exceed every limit."""


def full_of_objects() -> JsonObject:
    """Return a review below the limit of a body that takes 120 MB once it is parsed."""
    one: JsonObject = {}
    for _ in range(60):
        one = {"": one}
    request = review(instance())
    request["request"]["object"]["spec"]["more"] = [one] * 11_000
    return request


_JOB = "job "
_fresh = itertools.count()


@dataclass
class Served:
    """A webhook, and the jobs that its worker processes were given."""

    webhook: Webhook
    before: Counter[str] = field(default_factory=Counter)

    @classmethod
    async def of(cls, webhook: Webhook) -> "Served":
        """Return what counts from now on."""
        return cls(webhook, await cls(webhook)._counts())

    async def jobs(self) -> list[str]:
        """Return the jobs that were done, sorted, each by name and how it ended: `review ok`."""
        done = await self._counts() - self.before
        return sorted(name.removeprefix(_JOB) for name in done.elements() if name.startswith(_JOB))

    async def status(self, request: JsonObject, path: str = MUTATE) -> JsonObject:
        """Return the status of a denial."""
        response = await self.webhook.ask(request, path)
        assert response["allowed"] is False
        found: JsonObject = response["status"]
        return found

    async def counted(self, outcome: str, reason: str) -> bool:
        """Return whether a request ended that way."""
        return bool((await self._counts() - self.before)[f"{outcome} {reason}"])

    async def _counts(self) -> Counter[str]:
        _, text = await self.webhook.probe("/metrics")
        found = Counter[str]()
        for family in text_string_to_metric_families(text):
            for name, labels, value, *_ in family.samples:
                if name == "kudo_worker_jobs_total":
                    found[f"{_JOB}{labels['job']} {labels['outcome']}"] += int(value)
                elif name == "kudo_admission_requests_total":
                    found[f"{labels['outcome']} {labels['reason']}"] += int(value)
        return found


@pytest_asyncio.fixture(loop_scope="session")
async def served(webhook: Webhook) -> Served:
    return await Served.of(webhook)


def arrays(count: int, text: str, **fields: Any) -> DictVersions:
    """Return a version with immutable array parameters, each with a default never read before."""
    parameters = [
        {
            "name": f"A{n}",
            "value-type": "array",
            "immutable": True,
            "default": text + f" # {next(_fresh)}",
        }
        for n in range(count)
    ]
    return DictVersions({("ns", "first-1"): operator_version(parameters=parameters, **fields)})


def padded(new: JsonObject, size: int = INLINE_BODY) -> JsonObject:
    """Return an object whose review is too long to be read by the event loop."""
    metadata = {**new["metadata"], "annotations": {"note": "x" * size}}
    return {**new, "metadata": metadata}


# Values of parameters


async def test_151_defaults_full_of_aliases_are_refused_by_one_job(
    served: Served, versions: Replaced
) -> None:
    versions.source = arrays(151, COSTLY)
    status = await served.status(review(instance()))
    assert (status["code"], status["reason"]) == (413, "ParameterTooLarge")
    assert "with the other arrays and maps of this request" in status["message"]
    assert status["message"].endswith("more than 400000 values; give it a smaller value")
    assert await served.jobs() == ["check ok"]
    assert await served.counted("limited", "ParameterTooLarge")


async def test_a_hostile_value_is_refused_at_once_when_it_comes_again(
    served: Served, versions: Replaced
) -> None:
    versions.source = arrays(1, HOSTILE)
    for path in (MUTATE, VALIDATE, MUTATE):
        status = await served.status(review(instance()), path)
        assert status["reason"] == "ParameterTooLarge"
    assert await served.jobs() == ["check ok"]


async def test_a_right_value_beyond_the_inline_budget_is_read_by_a_worker_once(
    served: Served,
    versions: Replaced,
) -> None:
    versions.source = arrays(3, COSTLY)
    for _ in range(3):
        assert (await served.webhook.ask(review(instance())))["allowed"] is True
    assert await served.jobs() == ["check ok"]


async def test_a_thousand_definitions_of_one_parameter_share_one_reading(
    served: Served, versions: Replaced
) -> None:
    # 151 of them stopped the event loop of an earlier version for a minute.
    parameters = [{"name": "A", "value-type": "array"}] * 1000
    versions.source = DictVersions({("ns", "first-1"): operator_version(parameters=parameters)})
    assert (await served.webhook.ask(review(instance({"A": COSTLY}))))["allowed"] is True
    assert await served.jobs() == ["check ok"]
    status = await served.status(review(instance({"A": "{"})))
    assert len(status["details"]["causes"]) == 21
    assert await served.jobs() == ["check ok"]


async def test_others_are_admitted_beside_a_hostile_request(
    served: Served, versions: Replaced
) -> None:
    versions.source = source = arrays(151, COSTLY)
    source.versions["ns", "other-1"] = operator_version()
    other = instance({"REPLICAS": "3"}, operatorVersion={"name": "other-1"})
    async with asyncio.TaskGroup() as group:
        hostile = group.create_task(served.status(review(instance())))
        others = [group.create_task(served.webhook.ask(review(other))) for _ in range(20)]
    assert hostile.result()["reason"] == "ParameterTooLarge"
    assert all(task.result()["allowed"] for task in others)
    assert await served.jobs() == ["check ok"]


def patterned(pattern: str) -> DictVersions:
    """Return a version with a parameter that has a pattern, and one with a range."""
    parameters = [
        {"name": "ZONE", "pattern": pattern},
        {"name": "COUNT", "value-type": "integer", "maximum": 9},
    ]
    return DictVersions({("ns", "first-1"): operator_version(parameters=parameters)})


async def test_a_pattern_is_matched_by_a_worker_once_for_each_value(
    served: Served, versions: Replaced
) -> None:
    versions.source = patterned(f"^[a-z]+{next(_fresh)}$")
    for zone, jobs in (("A", 1), ("A", 1), ("B", 2)):
        for path in (MUTATE, VALIDATE):
            status = await served.status(review(instance({"ZONE": zone})), path)
            assert (status["code"], status["reason"]) == (403, "ParameterInvalid")
            assert (
                f'has an invalid value "{zone}": it does not match the pattern'
                in (status["message"])
            )
        assert await served.jobs() == ["check ok"] * jobs
    # What has no pattern needs no worker.
    status = await served.status(review(instance({"COUNT": "10"})))
    assert "it is above the maximum 9; set 9 or less" in status["message"]
    assert await served.jobs() == ["check ok"] * 2


async def test_a_large_review_is_denied_for_the_same_bounds(
    served: Served, versions: Replaced
) -> None:
    versions.source = patterned(f"^[a-z]+{next(_fresh)}$")
    for values in ({"ZONE": "A"}, {"COUNT": "10"}, {"ZONE": "A", "COUNT": "10"}):
        small = await served.status(review(instance(values)))
        assert await served.status(review(padded(instance(values)))) == small


@pytest.mark.parametrize("pattern", ["a{0,999}" * 32, "(", r"(\pL{1,100}){1,10}"])
async def test_a_pattern_that_cannot_be_used_is_told_of(
    served: Served, versions: Replaced, pattern: str
) -> None:
    versions.source = patterned(pattern)
    status = await served.status(review(instance({"ZONE": str(next(_fresh))})))
    assert "since the pattern of the operator is invalid" in status["message"]
    # Nothing else is denied for it.
    assert (await served.webhook.ask(review(instance({"COUNT": "1"}))))["allowed"] is True


async def test_patterns_that_take_too_long_are_refused_with_their_value(
    served: Served, versions: Replaced
) -> None:
    """Together they take more than ten seconds, and nothing can interrupt one."""
    slow = ".{0,300}a.{300}x"
    parameters = [{"name": f"P{n}", "pattern": f"{slow}|{n}"} for n in range(60)]
    versions.source = DictVersions({("ns", "first-1"): operator_version(parameters=parameters)})
    text = "abcd" * (bounds.MATCHED // 4)
    status = await served.status(review(instance({p["name"]: text for p in parameters})))
    assert (status["code"], status["reason"]) == (413, "RequestTooLarge")
    assert 'at parameter "P' in status["message"]
    # On a busy machine the wall clock comes first.
    assert {"review cpu", "review wall"} & set(await served.jobs())


# Large reviews


async def test_an_update_full_of_errors_is_denied_in_few_words(served: Served) -> None:
    new = instance({f"P{n}": n for n in range(60_000)})
    body = orjson.dumps(review(new, instance()))
    assert len(body) > 700_000
    status, answer = await served.webhook.send(body)
    assert status == 200
    found = answer["response"]["status"]
    assert (found["code"], found["reason"]) == (400, "InstanceUnreadable")
    assert len(found["details"]["causes"]) == 21
    assert found["message"].endswith("and 59980 more problems like these")
    assert len(orjson.dumps(answer)) < 20_000
    assert await served.jobs() == ["review ok"]


async def test_a_worker_decides_as_the_event_loop_does(served: Served) -> None:
    old = instance({"REPLICAS": "1", "PORT": "80"})
    cases: list[tuple[JsonObject, JsonObject | None]] = [
        (instance({"REPLICAS": "2"}), None),
        (instance({"REPLICAS": "2", "PORT": "80"}), old),
        (instance({"REPLICAS": "many", "PORT": "81"}), old),
        (instance({"UNKNOWN": "x"}), None),
        (instance(operatorVersion={"name": "ghost-1"}), None),
        (instance({"REPLICAS": 7}), None),
        (old, old),
    ]
    for new, before in cases:
        for path in (MUTATE, VALIDATE):
            before_it = len(await served.jobs())
            small = await served.webhook.ask(review(new, before), path)
            assert len(await served.jobs()) == before_it
            large = await served.webhook.ask(review(padded(new), before), path)
            assert without_uid(large) == without_uid(small)
            done = await served.jobs()
            assert len(done) > before_it
            assert set(done) == {"review ok"}


def without_uid(response: JsonObject) -> JsonObject:
    if "patch" not in response:
        return response
    operations = patch_of(response)
    for operation in operations:
        if operation["path"] == "/spec/planExecution":
            assert operation["value"].pop("uid")
    return {**response, "patch": operations}


async def test_many_parameters_in_a_small_body_are_judged_by_a_worker(served: Served) -> None:
    values = {f"P{n}": "x" for n in range(INLINE_ENTRIES + 1)}
    status = await served.status(review(instance(values), instance()))
    assert status["reason"] == "ParameterUnknown"
    assert await served.jobs() == ["review ok", "review ok"]


async def test_a_body_that_is_no_review_is_told_by_a_worker(served: Served) -> None:
    status, answer = await served.webhook.send(b"[" * (INLINE_BODY + 1))
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert await served.jobs() == ["review ok"]


async def test_a_body_for_which_a_worker_lacks_memory_is_denied_as_too_large(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    body = as_api_server(full_of_objects())
    async with running(tmp_path, worker_processes=SMALL) as webhook:
        served = Served(webhook)
        status, answer = await webhook.send(body)
        assert status == 200
        assert answer["response"]["uid"] == "u-1"
        found = answer["response"]["status"]
        assert (found["code"], found["reason"]) == (413, "RequestTooLarge")
        assert "it needed more than the 128 MiB of memory" in found["message"]
        assert await served.jobs() == ["review memory"]
        assert await served.counted("limited", "RequestTooLarge")
        (line,) = [record for record in caplog.records if record.getMessage() == "denied"]
        assert (vars(line)["outcome"], vars(line)["limit"]) == ("limited", "memory")
        # Whoever comes next is served by the spare process.
        assert (await webhook.ask(review(padded(instance()))))["allowed"] is True
        # An unknown sender, since no API server writes a blank there, is answered with 413.
        now = await Served.of(webhook)
        status, answer = await webhook.send(body.replace(b'"uid":', b'"uid" :'))
        assert (status, answer["reason"]) == (413, "RequestTooLarge")
        assert await now.counted("limited", "RequestTooLarge")


def as_api_server(request: JsonObject) -> bytes:
    """Return the body with its fields in the order of API servers."""
    first = {"kind": request["kind"], "apiVersion": request["apiVersion"]}
    return orjson.dumps({**first, "request": request["request"]})


# Workers that are not to be had


async def answered(
    pool: Pool, request: JsonObject, *, deadline: float = 60.0, **changed: Any
) -> tuple[JsonObject, Metrics]:
    """Return the status of a denial by the mutating route, and what was counted."""
    metrics = Metrics(("mutate", "validate"), lambda: 0.0)
    source = DictVersions({("ns", "first-1"): operator_version(**changed)})
    admission = Admission(source, pool, metrics, deadline=deadline, fresh_uid=lambda: "fresh")
    sent: list[Scope] = []

    async def receive() -> Scope:
        return {"type": "http.request", "body": as_api_server(request)}

    async def send(message: Scope) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": MUTATE, "headers": []}
    await build_app(admission)(scope, receive, send)
    status: JsonObject = orjson.loads(sent[1]["body"])["response"]["status"]
    return status, metrics


def ended(metrics: Metrics, outcome: str, reason: str) -> float | None:
    labels = {"route": "mutate", "operation": "CREATE", "outcome": outcome, "reason": reason}
    return metrics.registry.get_sample_value("kudo_admission_requests_total", labels)


async def test_a_request_that_finds_the_queue_full_is_told_to_try_again() -> None:
    pool = Pool(HANDLERS, bounds=Bounds(jobs=0))
    status, metrics = await answered(pool, review(padded(instance())))
    assert (status["code"], status["reason"]) == (429, "TooManyRequests")
    assert status["message"].endswith("; try again")
    assert ended(metrics, "limited", "TooManyRequests") == 1


async def test_a_request_that_waits_for_a_worker_till_its_deadline_is_told_so() -> None:
    # Its processes were never started: nobody takes the job.
    status, metrics = await answered(Pool(HANDLERS), review(padded(instance())), deadline=0.05)
    assert (status["code"], status["reason"]) == (429, "TooManyRequests")
    assert ended(metrics, "limited", "TooManyRequests") == 1


@contextlib.asynccontextmanager
async def working(pool: Pool) -> AsyncIterator[Pool]:
    processes = asyncio.create_task(pool.run())
    try:
        yield pool
    finally:
        processes.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await processes


@pytest.mark.parametrize(
    ("values", "reason", "text"),
    [
        (
            {"A": COSTLY, "B": COSTLY + " # LARGE"},
            "ParameterTooLarge",
            "it needed more than the 192 MiB of memory of a worker; give it a smaller value",
        ),
        (
            {"A": COSTLY, "B": "[0] # LARGE", "C": "x" * INLINE_BODY},
            "RequestTooLarge",
            'more than the 192 MiB of memory of a worker at parameter "B"; make it smaller',
        ),
    ],
)
async def test_the_parameter_at_which_a_worker_exceeded_a_limit_is_named(
    values: dict[str, str], reason: str, text: str
) -> None:
    parameters = [
        *({"name": name, "value-type": "array"} for name in "AB"),
        {"name": "C", "required": False},
    ]
    async with working(Pool("lacking", path=[LACKING])) as pool:
        status, _ = await answered(pool, review(instance(values)), parameters=parameters)
    assert status["reason"] == reason
    assert status["message"].endswith(text)
    assert 'parameter "B"' in status["message"]
    assert 'parameter "A"' not in status["message"]


async def test_a_fault_in_a_worker_is_an_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    # These handlers lack the job.
    async with working(Pool("kudo.jobs")) as pool:
        status, metrics = await answered(pool, review(padded(instance())))
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert ended(metrics, "error", "InternalError") == 1
    assert any(record.exc_info for record in caplog.records)


# OperatorVersions


def wide(version_name: str, count: int, **parameter: Any) -> JsonObject:
    found = version(version_name, 5)
    found["spec"]["parameters"] = [{**parameter} for _ in range(count)]
    return found


async def test_a_version_with_half_a_million_parameters_is_counted_and_not_parsed(
    served: Served,
    versions: Replaced,
) -> None:
    api = OperatorVersionsApi([wide("first-1", 450_000)], {"live-1": wide("live-1", 450_000)})
    live = instance(operatorVersion={"name": "live-1"})
    async with following(api, timeout=30.0) as source:
        versions.source = source
        for new in (instance(), live, padded(instance())):
            status = await served.status(review(new))
            assert (status["code"], status["reason"]) == (413, "OperatorVersionTooLarge")
            assert "spec.parameters has 450000 entries, more than 2000" in status["message"]
        assert source._parsed == {}
        assert await served.jobs() == ["review ok"]
        assert await served.counted("limited", "OperatorVersionTooLarge")


async def test_the_largest_version_that_is_read_serves_both_sides(
    served: Served, versions: Replaced
) -> None:
    large = version("first-1", 5)
    large["spec"]["parameters"] = [
        {"name": f"P{n}", "value-type": "integer", "description": "x" * 100} for n in range(2000)
    ]
    api = OperatorVersionsApi([large])
    async with following(api) as source:
        versions.source = source
        for new, reason in (
            (instance({"P1999": "1"}), ""),
            (instance({"P1": "x"}), "ParameterInvalid"),
        ):
            for sent in (new, padded(new)):
                response = await served.webhook.ask(review(sent))
                assert response.get("status", {}).get("reason", "") == reason
        assert await served.jobs() == ["review ok"] * 4


async def test_a_retry_is_judged_by_the_whole_version_in_a_worker(
    served: Served, versions: Replaced
) -> None:
    whole = version("first-1", 5)
    digest = OperatorVersion.from_wire(whole).digest
    api = OperatorVersionsApi([whole], {"first-1": whole})
    old = instance()
    old["status"] = {
        "planStatus": {"deploy": {"name": "deploy", "status": "FATAL_ERROR", "uid": "old"}},
        "lastRun": {"plan": "deploy", "uid": "old", "operatorVersionDigest": digest},
    }
    new = instance(planExecution={"planName": "deploy", "retryOf": "old"})
    async with following(api) as source:
        versions.source = source
        answer = await served.webhook.ask(review(new, old))
        assert answer["allowed"]
        whole["spec"]["templates"]["a.yaml"] = "edited"
        status = await served.status(review(new, old))
        assert status["reason"] == "RetryChanged"
        assert await served.jobs() == ["review ok"] * 4
        # One that was honoured needs nothing of it.
        old["status"]["planStatus"]["deploy"]["retried"] = "old"
        assert (await served.webhook.ask(review(new, old)))["allowed"]
        assert api.reads == ["first-1"] * 2


async def test_a_version_of_another_shape_is_unreadable_and_a_worker_says_where(
    served: Served,
    versions: Replaced,
) -> None:
    api = OperatorVersionsApi([wide("first-1", 100, name=7)])
    async with following(api) as source:
        versions.source = source
        for new in (instance(), padded(instance())):
            status = await served.status(review(new))
            assert (status["code"], status["reason"]) == (500, "OperatorVersionUnreadable")
            assert "ns/first-1 cannot be read: spec.parameters.0.name" in status["message"]
