"""What the proxy does to requests, with a small server behind it that writes down what arrives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import orjson
import pytest
from aiohttp import web

from kubeio.connection.config import ClusterConfig
from tests.faults.injection.faults import Fault, Requests, Rule, Rules
from tests.faults.injection.proxy import Proxy
from tests.faults.injection.strikes import Strikes
from tests.unit.faults.recorded import Recorded

JOBS = "/apis/batch/v1/namespaces/ns/jobs"
ALL_JOBS = "/apis/batch/v1/jobs"
LABEL = "apply jobs.batch j"
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@dataclass
class Server:
    """Answers lists with a counter, watches with given events, and anything else with 200."""

    events: list[dict[str, object]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    lists: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "pods" in request.path:
            return web.json_response({"code": 403}, status=403)
        if request.query.get("watch"):
            lines = [orjson.dumps(event) + b"\n" for event in self.events]
            return web.Response(body=b"".join(lines), content_type="application/json")
        if request.method == "GET":
            self.lists += 1
            return web.json_response({"list": self.lists})
        self.writes.append(f"{request.method} {request.path} {await request.text()}")
        return web.json_response({"done": True}, headers={"Warning": '299 - "careful"'})


@dataclass
class Setup:
    server: Server
    rules: Rules
    processes: Recorded
    strikes: Strikes
    session: aiohttp.ClientSession
    url: str

    def arm(self, fault: Fault, label: str = LABEL) -> Rule:
        rule = Rule("ns", label, fault)
        self.rules.arm("ns", rule)
        return rule

    async def apply(self) -> tuple[int, dict[str, object]]:
        timeout = aiohttp.ClientTimeout(total=0.3)
        url = f"{self.url}{JOBS}/j"
        async with self.session.patch(url, data=b"{}", headers=APPLY, timeout=timeout) as response:
            return response.status, await response.json()

    async def get(self, path: str) -> bytes:
        async with self.session.get(f"{self.url}{path}") as response:
            return await response.read()


@pytest.fixture
async def setup() -> AsyncIterator[Setup]:
    server, rules, processes = Server(), Rules(), Recorded()
    strikes = Strikes(processes)
    async with (
        serving(server) as upstream,
        Proxy(ClusterConfig(server=upstream), rules, strikes) as proxy,
        aiohttp.ClientSession() as session,
    ):
        url = await proxy.listen("one")
        yield Setup(server, rules, processes, strikes, session, url)


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


def event(kind: str, name: str, namespace: str = "ns") -> dict[str, object]:
    return {"type": kind, "object": {"metadata": {"name": name, "namespace": namespace}}}


async def test_without_a_rule_nothing_is_changed(setup: Setup) -> None:
    assert await setup.apply() == (200, {"done": True})
    assert setup.server.writes == [f"PATCH {JOBS}/j {{}}"]


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (Fault.CONFLICT, 409, "Conflict"),
        (Fault.THROTTLED, 429, "TooManyRequests"),
        (Fault.ERROR, 500, "InternalError"),
    ],
)
async def test_a_refusal_keeps_the_write_from_the_server_once(
    setup: Setup, fault: Fault, status: int, reason: str
) -> None:
    rule = setup.arm(fault)

    code, body = await setup.apply()

    assert (code, body["code"], body["reason"]) == (status, status, reason)
    assert setup.server.writes == []
    assert rule.struck == 1
    assert (await setup.apply())[0] == 200


@pytest.mark.parametrize(
    ("fault", "arrived", "killed"),
    [
        (Fault.RESET_BEFORE, 0, []),
        (Fault.RESET_AFTER, 1, []),
        (Fault.KILL_BEFORE, 0, ["kill one"]),
        (Fault.KILL_AFTER, 1, ["kill one"]),
        (Fault.STALE_START, 1, ["kill one"]),
    ],
)
async def test_a_broken_connection_hides_whether_the_write_was_done(
    setup: Setup, fault: Fault, arrived: int, killed: list[str]
) -> None:
    setup.arm(fault)

    with pytest.raises(aiohttp.ClientError):
        await setup.apply()

    assert len(setup.server.writes) == arrived
    assert setup.processes.done == killed


async def test_a_hanging_write_is_never_done(setup: Setup) -> None:
    setup.arm(Fault.HANG)

    with pytest.raises(TimeoutError):
        await setup.apply()

    await setup.strikes.plan_ended("ns", 0)
    assert setup.server.writes == []


async def test_a_late_write_is_done_after_the_plan(setup: Setup) -> None:
    setup.arm(Fault.LATE)

    with pytest.raises(TimeoutError):
        await setup.apply()
    assert setup.server.writes == []

    await setup.strikes.plan_ended("ns", 0)
    assert setup.server.writes == [f"PATCH {JOBS}/j {{}}"]


@pytest.mark.parametrize(
    ("fault", "before"),
    [(Fault.PAUSED_BEFORE, 0), (Fault.PAUSED_AFTER, 1), (Fault.PAUSED_LATE, 0)],
)
async def test_the_write_of_a_paused_leader_is_answered_when_it_goes_on(
    setup: Setup, fault: Fault, before: int
) -> None:
    rule = setup.arm(fault)
    async with asyncio.timeout(5):
        waiting = asyncio.create_task(
            setup.session.patch(f"{setup.url}{JOBS}/j", data=b"{}", headers=APPLY)
        )
        while not rule.struck or len(setup.server.writes) < before:  # noqa: ASYNC110 - two of them
            await asyncio.sleep(0)
        assert len(setup.server.writes) == before

        await setup.strikes.plan_ended("ns", 0)
        async with await waiting as response:
            assert response.status == 200

    assert len(setup.server.writes) == 1
    assert setup.processes.done == ["pause one", "resume one"]


async def test_events_of_other_namespaces_pass_where_those_of_one_are_dropped(setup: Setup) -> None:
    setup.server.events = [event("ADDED", "a"), event("ADDED", "b", "other"), event("ADDED", "c")]
    setup.arm(Fault.DROPPED, "watch jobs.batch")
    setup.rules.strike("ns", "a write")

    lines = (await setup.get(f"{ALL_JOBS}?watch=true")).splitlines()

    assert [orjson.loads(line)["object"]["metadata"]["name"] for line in lines] == ["b"]


async def test_a_watch_that_is_gone_ends_with_410(setup: Setup) -> None:
    setup.server.events = [event("ADDED", "b", "other"), event("ADDED", "a"), event("ADDED", "c")]
    setup.arm(Fault.GONE, "watch jobs.batch")

    lines = (await setup.get(f"{ALL_JOBS}?watch=true")).splitlines()

    assert [orjson.loads(line)["type"] for line in lines] == ["ADDED", "ERROR"]
    assert orjson.loads(lines[1])["object"]["code"] == 410


async def test_the_list_after_a_stale_watch_is_the_one_from_before(setup: Setup) -> None:
    setup.server.events = [event("ADDED", "a")]
    await setup.get(ALL_JOBS)
    setup.arm(Fault.STALE, "watch jobs.batch")
    await setup.get(f"{ALL_JOBS}?watch=true")

    answers = [orjson.loads(await setup.get(ALL_JOBS))["list"] for _ in range(2)]

    assert answers[0] == 1
    assert answers[1] > 1


async def test_a_process_that_starts_stale_gets_every_list_from_before_once(setup: Setup) -> None:
    await setup.get(ALL_JOBS)
    setup.arm(Fault.STALE_START)
    with pytest.raises(aiohttp.ClientError):
        await setup.apply()

    assert orjson.loads(await setup.get(ALL_JOBS))["list"] == 1
    assert orjson.loads(await setup.get(ALL_JOBS))["list"] > 1


async def test_a_refused_watch_is_refused(setup: Setup) -> None:
    async with setup.session.get(f"{setup.url}/api/v1/pods?watch=true") as response:
        assert (response.status, await response.json()) == (403, {"code": 403})


async def test_a_silent_watch_stays_open_and_says_nothing(setup: Setup) -> None:
    setup.server.events = [event("ADDED", "b", "other"), event("ADDED", "a"), event("ADDED", "c")]
    setup.arm(Fault.SILENT, "watch jobs.batch")

    async with setup.session.get(f"{setup.url}{ALL_JOBS}?watch=true") as response:
        first = orjson.loads(await response.content.readline())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(response.content.readline(), 0.2)

    assert first["object"]["metadata"]["name"] == "b"


@pytest.mark.parametrize(
    ("requests", "method", "path"),
    [
        (Requests("list", "jobs.batch"), "GET", ALL_JOBS),
        (Requests("list", "jobs.batch"), "GET", JOBS),
        (Requests("create", "events"), "POST", "/api/v1/namespaces/ns/events"),
        (Requests("exec", "pods"), "GET", "/api/v1/namespaces/ns/pods/p/exec"),
    ],
)
async def test_a_lasting_fault_strikes_at_every_such_request_until_it_is_taken_back(
    setup: Setup, requests: Requests, method: str, path: str
) -> None:
    async def status() -> int:
        async with setup.session.request(method, f"{setup.url}{path}") as response:
            return response.status

    before = await status()
    with setup.rules.lasting(requests, Fault.ERROR) as lasting:
        assert [await status() for _ in range(3)] == [500] * 3
    assert lasting.struck == 3
    assert await status() == before


async def test_a_lasting_fault_leaves_other_requests_alone(setup: Setup) -> None:
    listed = Requests("list", "jobs.batch")
    with setup.rules.lasting(listed, Fault.ERROR) as lasting:
        await setup.get(f"{ALL_JOBS}?watch=true")
        await setup.get(f"{JOBS}/j")
        assert (await setup.apply())[0] == 200
    assert lasting.struck == 0


async def test_a_request_that_hangs_reaches_nobody(setup: Setup) -> None:
    with setup.rules.lasting(Requests("list", "jobs.batch"), Fault.HANG) as lasting:
        async with asyncio.timeout(5):
            waiting = asyncio.create_task(setup.get(ALL_JOBS))
            while not lasting.struck:  # noqa: ASYNC110 - a condition of the proxy
                await asyncio.sleep(0)
            waiting.cancel()
    assert setup.server.lists == 0
