"""Start, readiness, certificates, metrics and stop of the webhook process."""

import asyncio
import logging
import ssl
from pathlib import Path

import aiohttp
import orjson
import pytest

from kudo_webhook.app import serve_admission
from kudo_webhook.settings import Settings
from serving.server import ListenError
from serving.worker_pool import WorkerSettings
from tests.unit.webhook.harness import (
    DictVersions,
    Replaced,
    Webhook,
    any_certificate,
    first_operator,
    instance,
    review,
    running,
    served_serial,
    until,
    write_pair,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def readiness(webhook: Webhook) -> dict[str, str]:
    """Return what keeps it from being ready, once the first worker process is."""
    failing: dict[str, str] = {}

    async def workers() -> bool:
        nonlocal failing
        failing = await unready(webhook)
        return "workers" not in failing

    await until(workers, seconds=60)
    return failing


async def failing_checks(webhook: Webhook) -> list[str]:
    """Return what keeps it from being ready, but for worker processes that are on their way."""
    return [name for name in await unready(webhook) if name != "workers"]


async def unready(webhook: Webhook) -> dict[str, str]:
    status, text = await webhook.probe("/readyz")
    body = orjson.loads(text)
    assert (status == 200) is body["ok"]
    failing: dict[str, str] = body["failing"]
    return failing


# Readiness


async def test_it_is_ready_once_the_cache_is_synced_and_alive_before(
    webhook: Webhook, versions: Replaced
) -> None:
    versions.source = source = first_operator()
    source.synced = False
    assert list(await readiness(webhook)) == ["operatorversions"]
    assert (await webhook.probe("/healthz"))[0] == 200
    source.synced = True
    assert await readiness(webhook) == {}
    assert (await webhook.probe("/healthz"))[0] == 200


async def test_it_is_not_ready_while_no_worker_process_can_start(tmp_path: Path) -> None:
    # Not enough address space for the interpreter alone.
    async with running(tmp_path, worker_processes=WorkerSettings(memory=1 << 20)) as webhook:
        assert await unready(webhook) == {"workers": "no worker process is ready"}
        assert (await webhook.probe("/healthz"))[0] == 200
        assert "kudo_worker_processes 0.0" in (await webhook.probe("/metrics"))[1]


async def test_it_starts_without_a_certificate_and_becomes_ready_with_one(tmp_path: Path) -> None:
    write_pair(tmp_path)
    (tmp_path / "tls.key").rename(tmp_path / "later.key")
    async with running(tmp_path) as webhook:
        assert await failing_checks(webhook) == ["certificate"]
        with pytest.raises(aiohttp.ClientConnectionError):
            await webhook.ask(review(instance()))
        (tmp_path / "later.key").rename(tmp_path / "tls.key")

        async def ready() -> bool:
            return not await failing_checks(webhook)

        await until(ready)
        assert (await webhook.ask(review(instance())))["allowed"] is True


# Certificates


async def test_a_renewed_certificate_is_served_and_connections_survive(tmp_path: Path) -> None:
    first = write_pair(tmp_path)
    async with running(tmp_path) as webhook:
        assert await served_serial(webhook.ports.port) == first
        assert (await webhook.ask(review(instance())))["allowed"] is True
        second = write_pair(tmp_path)

        async def renewed() -> bool:
            return await served_serial(webhook.ports.port) == second

        await until(renewed)
        assert await served_serial(webhook.ports.port, server_name="some.host") == second
        connector = webhook.session.connector
        assert connector is not None
        assert (await webhook.ask(review(instance())))["allowed"] is True
        assert len(connector._conns) == 1


async def test_a_mismatched_pair_is_refused_and_the_old_one_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = write_pair(tmp_path)
    async with running(tmp_path) as webhook:
        write_pair(tmp_path, key_of_another=True)

        async def refused() -> bool:
            # Between the two files the pair may be seen half written, which is refused, too.
            return any("does not belong" in str(vars(r).get("error")) for r in caplog.records)

        await until(refused)
        assert await served_serial(webhook.ports.port) == first
        assert await failing_checks(webhook) == []
        third = write_pair(tmp_path)

        async def renewed() -> bool:
            return await served_serial(webhook.ports.port) == third

        await until(renewed)
    errors = [vars(r)["error"] for r in caplog.records if r.levelno == logging.ERROR]
    assert "the key does not belong to the certificate" in errors


async def test_tls_below_1_2_is_refused(webhook: Webhook) -> None:
    old = any_certificate()
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="deprecated"):
        old.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="deprecated"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", webhook.ports.port, ssl=old)


# Metrics


async def test_requests_are_counted_by_route_operation_outcome_and_reason(tmp_path: Path) -> None:
    async with running(tmp_path) as webhook:
        await webhook.ask(review(instance()))
        await webhook.ask(review(instance({"REPLICAS": "many"})))
        await webhook.send(b"{")
        status, text = await webhook.probe("/metrics")
    assert status == 200
    name = "kudo_admission_requests_total"
    create = 'operation="CREATE"'
    assert f'{name}{{{create},outcome="allowed",reason="",route="mutate"}} 1.0' in text
    assert (
        f'{name}{{{create},outcome="denied",reason="ParameterInvalid",route="mutate"}} 1.0' in text
    )
    assert f'{name}{{operation="",outcome="error",reason="BadRequest",route="mutate"}} 1.0' in text
    assert 'kudo_admission_duration_seconds_count{route="mutate"} 3.0' in text
    assert 'kudo_admission_duration_seconds_count{route="validate"} 0.0' in text
    assert "kudo_admission_in_flight 0.0" in text
    assert "process_cpu_seconds_total" in text


async def test_the_expiry_of_the_certificate_is_a_metric(webhook: Webhook) -> None:
    _, text = await webhook.probe("/metrics")
    values = [
        line.split()[1] for line in text.splitlines() if line.startswith("kudo_certificate_expiry")
    ]
    assert len(values) == 1
    assert float(values[0]) > 0


async def test_a_path_of_a_tenant_makes_no_series(webhook: Webhook) -> None:
    async with webhook.session.post(webhook.url + "/whatever"):
        pass
    _, text = await webhook.probe("/metrics")
    assert "whatever" not in text


# Stop


async def test_readiness_fails_before_the_listener_closes(tmp_path: Path) -> None:
    async with running(tmp_path, drain_seconds=60.0) as webhook:
        webhook.stop.set()

        async def draining() -> bool:
            return "draining" in await failing_checks(webhook)

        await until(draining)
        assert (await webhook.ask(review(instance())))["allowed"] is True
        webhook.stopped.cancel()


async def test_a_request_in_flight_is_answered_before_the_process_stops(tmp_path: Path) -> None:
    versions = first_operator()
    versions.gate = asyncio.Event()
    async with running(tmp_path, versions) as webhook:
        async with asyncio.TaskGroup() as group:
            request = group.create_task(webhook.ask(review(instance())))
            await versions.asked.wait()
            webhook.stop.set()

            async def closed() -> bool:
                try:
                    await served_serial(webhook.ports.port)
                except OSError:
                    return True
                return False

            await until(closed)
            versions.gate.set()
        assert request.result()["allowed"] is True
        async with asyncio.timeout(10):
            await webhook.stopped


async def test_a_taken_port_is_named(tmp_path: Path) -> None:
    async with running(tmp_path) as webhook:
        arguments = ["--tls-cert", "a", "--tls-key", "b", "--host", "127.0.0.1"]
        taken = Settings.read([*arguments, "--port", str(webhook.ports.port)], {})
        with pytest.raises(ExceptionGroup) as caught:
            await serve_admission(taken, DictVersions(), asyncio.Event())
    error = caught.value
    found = error.subgroup(ListenError)
    assert found is not None
    assert f"127.0.0.1:{webhook.ports.port}: Address already in use" in repr(found.exceptions)
