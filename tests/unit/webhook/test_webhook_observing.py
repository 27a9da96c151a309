"""What the webhook shows to whom: metrics with a token, and the debug port."""

from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.types import Json, JsonObject
from kudo_webhook.settings import Settings
from tests.unit.kubeio.fake_api import Fault, fake_api
from tests.unit.webhook.harness import instance, review, running, until
from workers import Bounds

_FILES = ["--tls-cert=a", "--tls-key=b"]


def status(found: JsonObject) -> Fault:
    async def answer(request: web.Request) -> web.StreamResponse:
        token = orjson.loads(await request.read())["spec"].get("token", "good")
        return web.json_response({"status": found if token == "good" else {}})

    return answer


async def test_metrics_ask_for_a_token_and_probes_do_not(tmp_path: Path) -> None:
    async with (
        fake_api() as api,
        Client(api.config) as client,
        running(tmp_path, client=client, metrics_auth="token") as webhook,
    ):
        user = {"authenticated": True, "user": {"username": "prometheus"}}
        api.handlers = {
            "/apis/authentication.k8s.io/v1/tokenreviews": status(user),
            "/apis/authorization.k8s.io/v1/subjectaccessreviews": status({"allowed": True}),
        }

        async def metrics(token: str) -> int:
            url = f"http://127.0.0.1:{webhook.ports.probe_port}/metrics"
            headers = {"authorization": f"Bearer {token}"}
            async with webhook.session.get(url, headers=headers) as answer:
                return answer.status

        assert (await webhook.probe("/metrics"))[0] == 401
        assert await metrics("bad") == 401
        assert await metrics("good") == 200
        assert (await webhook.probe("/healthz"))[0] == 200


async def test_the_debug_port_names_the_namespace_that_uses_workers(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with running(tmp_path, debug_port=unused_tcp_port) as webhook:

        async def served() -> bool:
            try:
                return not await cpu()
            except aiohttp.ClientConnectionError:
                return False

        async def cpu() -> Json:
            url = f"http://127.0.0.1:{unused_tcp_port}/debug/namespaces"
            async with webhook.session.get(url) as answer:
                measures = orjson.loads(await answer.read())["measures"]
            return next(one["top"] for one in measures if one["name"] == "worker_cpu_seconds")

        await until(served)
        # Beyond what is decided on the event loop.
        large = instance(parameters={"SIZE": "x" * 200_000})
        await webhook.ask(review(large))
        [found] = await cpu()
        assert found["namespace"] == large["metadata"]["namespace"]
        assert found["value"] > 0


def test_by_default_nothing_of_it_is_on() -> None:
    found = Settings.read(_FILES, {})
    assert (found.metrics_auth, found.debug_port) == ("none", 0)
    assert found.worker_processes.bounds == Bounds()


def test_a_share_of_everything_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Settings.read([*_FILES, "--namespace-worker-jobs=512"], {})
    assert "must be below --worker-jobs (512)" in capsys.readouterr().err
