"""Candidates for one Lease of a real API server: in this process, and as processes of their own."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import Conflict, NotFound
from kubeio.leader_election.elector import LeaderElector, LeaseTimes, NotLeading
from kubeio.resource import LEASES
from kubeio.types import JsonObject
from kudo_cluster import Cluster
from serving.event_loop import TimedLoop, follow_turns
from tests.integration.kubeio.conftest import CONFIG_MAP, until

PROGRAM = Path(__file__).with_name("lease_candidate.py")
SHORT = LeaseTimes(duration=3.0, renew_deadline=2.0, retry=0.2)
# Room enough for a machine that has other things to do.
ROOMY = LeaseTimes(duration=7.0, renew_deadline=5.0, retry=0.5)
MANY = 20  # renewals take longer than the lease lasts
# Nobody waits for such a lease to run out: what passes was handed over.
LONG = LeaseTimes(duration=900.0, renew_deadline=20.0, retry=0.2)


class Candidate:
    """A candidate in this process."""

    def __init__(
        self, client: Client, namespace: str, identity: str, times: LeaseTimes = SHORT
    ) -> None:
        self.works = self.ended = 0
        self.lease = LeaderElector(
            lambda: Client(client.config),
            namespace=namespace,
            name="lease",
            identity=identity,
            times=times,
        )

    async def run(self) -> None:
        await self.lease.run(self._work)

    async def _work(self) -> None:
        self.works += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


@asynccontextmanager
async def running(*candidates: Candidate) -> AsyncIterator[list[asyncio.Task[None]]]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.run()) for one in candidates]
        yield tasks
        for task in tasks:
            task.cancel()


class Process:
    """A candidate as a process, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def listen(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.said.append(line.decode().split()[0])


@asynccontextmanager
async def processes(
    cluster: Cluster, namespace: str, *identities: str
) -> AsyncIterator[list[Process]]:
    """Start candidates one after the other; the first one leads before the next one starts."""
    times = [str(getattr(SHORT, name)) for name in ("duration", "renew_deadline", "retry")]
    started: list[Process] = []
    async with asyncio.TaskGroup() as group:
        try:
            for identity in identities:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, str(PROGRAM), str(cluster.kubeconfig("admin")), namespace,
                    identity, *times, stdout=asyncio.subprocess.PIPE,
                )  # fmt: skip
                started.append(Process(process))
                group.create_task(started[-1].listen())
                expected = "wrote" if len(started) == 1 else "started"
                await until(lambda one=started[-1], text=expected: text in one.said)  # type: ignore[misc]
            yield started
        finally:
            for one in started:
                with contextlib.suppress(ProcessLookupError):
                    one.process.kill()
                await one.process.wait()


async def the_lease(client: Client, namespace: str) -> JsonObject:
    return await client.get(LEASES, "lease", namespace=namespace)


async def renewals(client: Client, namespace: str, count: int) -> None:
    """Wait until the lease has been renewed so often."""
    seen = {(await the_lease(client, namespace))["spec"]["renewTime"]}
    async with asyncio.timeout(60):
        while len(seen) <= count:
            seen.add((await the_lease(client, namespace))["spec"]["renewTime"])
            await asyncio.sleep(0.05)


@pytest.mark.smoke
async def test_of_two_candidates_one_leads_and_hands_over_when_it_ends(
    client: Client, namespace: str
) -> None:
    first = Candidate(client, namespace, "first", LONG)
    second = Candidate(client, namespace, "second", LONG)
    async with running(first) as [ending]:
        await until(lambda: first.works)
        lease = await the_lease(client, namespace)
        assert lease["spec"]["holderIdentity"] == "first"
        assert lease["spec"]["leaseDurationSeconds"] == 900
        async with running(second):
            await until(lambda: second.lease.holder == "first")
            assert second.works == 0
            ended = time.monotonic()
            ending.cancel()
            await until(lambda: second.works)
            print(f"handed over after {time.monotonic() - ended:.1f} s")  # noqa: T201
            lease = await the_lease(client, namespace)
            assert lease["spec"]["holderIdentity"] == "second"
            assert lease["spec"]["leaseTransitions"] == 1
            assert not first.lease.leading
    released = await the_lease(client, namespace)
    assert released["spec"]["holderIdentity"] == ""


@pytest.mark.smoke
async def test_renewals_are_seen_by_the_others(client: Client, namespace: str) -> None:
    first, second = Candidate(client, namespace, "first"), Candidate(client, namespace, "second")
    async with running(first, second):
        await until(lambda: first.works + second.works)
        await renewals(client, namespace, MANY)
        assert first.works + second.works == 1


async def test_a_killed_leader_is_followed_when_its_lease_has_run_out(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    async with processes(cluster, namespace, "first", "second") as [first, second]:
        killed = time.monotonic()
        first.process.kill()
        await until(lambda: "wrote" in second.said)
        print(f"followed after {time.monotonic() - killed:.1f} s")  # noqa: T201
        lease = await the_lease(client, namespace)
        assert lease["spec"]["holderIdentity"] == "second"
        assert lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_frozen_past_its_lease_gets_no_write_through(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    async with processes(cluster, namespace, "first", "second") as [first, second]:
        os.kill(first.process.pid, signal.SIGSTOP)
        await until(lambda: "wrote" in second.said)
        before = await client.get(CONFIG_MAP, "of-first", namespace=namespace)
        os.kill(first.process.pid, signal.SIGCONT)
        await until(lambda: "idle" in first.said)
        # It waits for the lease again, and has nothing under way.
        await renewals(client, namespace, 2)
        assert await client.get(CONFIG_MAP, "of-first", namespace=namespace) == before
        assert first.said.count("work") == 1
        assert second.said == ["started", "work", "wrote"]
        second.process.kill()
        await until(lambda: first.said.count("work") == 2)


@asynccontextmanager
async def standby(
    cluster: Cluster, namespace: str, times: LeaseTimes
) -> AsyncIterator[subprocess.Popen[str]]:
    """Start a candidate as a process to which one can listen without an event loop."""
    arguments = [str(cluster.kubeconfig("admin")), namespace, "second"]
    arguments += [str(getattr(times, name)) for name in ("duration", "renew_deadline", "retry")]
    command = [sys.executable, str(PROGRAM), *arguments]
    process = await asyncio.to_thread(
        subprocess.Popen, command, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    with process:
        try:
            await asyncio.to_thread(hears, process, "started")
            yield process
        finally:
            process.kill()


def hears(process: subprocess.Popen[str], text: str) -> None:
    """Block until a candidate says something; other threads run."""
    assert process.stdout is not None
    while not (line := process.stdout.readline()).startswith(text):
        assert line, "it has ended"


def spins(process: subprocess.Popen[str], text: str) -> None:
    """As `hears`, but hold the interpreter as pure Python code does."""
    heard = threading.Event()

    def listen() -> None:
        hears(process, text)
        heard.set()

    listener = threading.Thread(target=listen)
    listener.start()
    while not heard.is_set():
        pass
    listener.join()


@pytest.mark.campaign
@pytest.mark.parametrize("blocks", [hears, spins])
async def test_a_leader_whose_loop_stands_still_is_followed_and_gets_no_write_through(
    cluster: Cluster,
    client: Client,
    namespace: str,
    blocks: Callable[[subprocess.Popen[str], str], None],
) -> None:
    first = Candidate(client, namespace, "first")
    async with Client(client.config) as writing, running(first):
        writing.before_write = first.lease.check
        await until(lambda: first.works)
        async with standby(cluster, namespace, SHORT) as second:
            begun = time.monotonic()
            blocks(second, "wrote")
            print(f"followed after {time.monotonic() - begun:.1f} s")  # noqa: T201
            # No turn of the loop has passed since, so the deadline alone says no.
            with pytest.raises(NotLeading):
                first.lease.check()
            late = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
            with pytest.raises(NotLeading):
                await writing.create(CONFIG_MAP, late, namespace=namespace)
            await until(lambda: first.lease.holder == "second")
            assert (first.works, first.ended) == (1, 1)
            lease = await the_lease(client, namespace)
            assert lease["spec"]["holderIdentity"] == "second"
            assert lease["spec"]["leaseTransitions"] == 1
            second.kill()
            await until(lambda: first.works == 2)


def compute(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.campaign
async def test_a_leader_whose_loop_is_slow_keeps_the_lease(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    async def slow() -> Candidate:
        """Lead for longer than a duration, with turns that take most of the renew deadline."""
        first = Candidate(client, namespace, "first", ROOMY)
        follow_turns(CollectorRegistry(), first.lease.beat)
        async with running(first):
            await until(lambda: first.works)
            async with standby(cluster, namespace, ROOMY) as second:
                begun = time.monotonic()
                # Once by Python code, which the lease's thread has to take the interpreter from.
                hold: Callable[[float], None] = compute
                while time.monotonic() < begun + 1.5 * ROOMY.duration:
                    hold(0.7 * ROOMY.renew_deadline)
                    hold = time.sleep
                    await asyncio.sleep(0)
                    first.lease.check()
                assert second.poll() is None
                assert first.lease.holder == "first"
            assert (first.works, first.ended) == (1, 0)
        return first

    def in_a_thread() -> Candidate:
        with asyncio.Runner(loop_factory=TimedLoop) as runner:
            return runner.run(slow())

    first = await asyncio.to_thread(in_a_thread)
    assert first.lease.transitions == 0


async def test_a_lease_deleted_by_hand_is_created_again_and_nobody_else_takes_it(
    client: Client, namespace: str
) -> None:
    first, second = Candidate(client, namespace, "first"), Candidate(client, namespace, "second")
    async with running(first):
        await until(lambda: first.works)
        async with running(second):
            await until(lambda: second.lease.holder == "first")
            old = await the_lease(client, namespace)
            await client.delete(LEASES, "lease", namespace=namespace)
            # The API server creates Leases by PUT, but not one that names the uid of another.
            with pytest.raises(Conflict):
                await client.replace(LEASES, old)
            await until_there(client, namespace)
            await renewals(client, namespace, MANY)
            lease = await the_lease(client, namespace)
            assert lease["metadata"]["uid"] != old["metadata"]["uid"]
            assert lease["spec"]["holderIdentity"] == "first"
            assert (first.works, second.works) == (1, 0)


async def until_there(client: Client, namespace: str) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(NotFound):
                await the_lease(client, namespace)
                return
            await asyncio.sleep(0.05)


@pytest.mark.campaign
async def test_a_lease_edited_by_hand_goes_to_a_candidate_again(
    client: Client, namespace: str
) -> None:
    first = Candidate(client, namespace, "first")
    async with running(first):
        await until(lambda: first.works)
        for spec in ({"holderIdentity": "somebody"}, {"holderIdentity": ""}, None):
            works = first.works
            await client.merge_patch(LEASES, "lease", {"spec": spec}, namespace=namespace)
            await until(lambda before=works: first.works > before)  # type: ignore[misc]
        lease = await the_lease(client, namespace)
        assert lease["spec"]["holderIdentity"] == "first"


@pytest.mark.campaign
async def test_a_lease_made_by_hand_is_taken_and_keeps_its_labels(
    client: Client, namespace: str
) -> None:
    metadata = {"name": "lease", "namespace": namespace, "labels": {"made": "by-hand"}}
    await client.create(LEASES, {"metadata": metadata})
    first = Candidate(client, namespace, "first")
    async with running(first):
        await until(lambda: first.works)
        lease = await the_lease(client, namespace)
        assert lease["metadata"]["labels"] == {"made": "by-hand"}
        assert lease["spec"]["holderIdentity"] == "first"


async def test_a_missing_right_is_named(
    cluster: Cluster, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(load_config(cluster.kubeconfig("webhook"))) as poor:
        with caplog.at_level(logging.WARNING):
            async with running(Candidate(poor, namespace, "first")):
                await until(lambda: caplog.messages)
    [told] = [one for one in caplog.messages if "cannot read or write lease" in one]
    assert 'cannot get resource "leases" in API group "coordination.k8s.io"' in told
    assert "grant get, create and update on leases in that namespace" in told
