"""What /healthz, /readyz and /metrics answer."""

from collections.abc import MutableMapping
from typing import Any

import orjson
import pytest
from prometheus_client import CollectorRegistry, Counter

from serving.probes import Probes, asgi_app


async def get(
    probes: Probes,
    path: str,
    *,
    method: str = "GET",
    registry: CollectorRegistry | None = None,
    accept: bytes = b"",
) -> tuple[int, bytes, str]:
    """Return status, body and content type."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"accept", accept)]}
    await asgi_app(probes, registry or CollectorRegistry())(scope, receive, send)
    headers = dict(sent[0]["headers"])
    assert int(headers[b"content-length"]) == len(sent[1]["body"])
    return sent[0]["status"], sent[1]["body"], headers[b"content-type"].decode()


async def test_without_checks_it_is_alive_and_ready() -> None:
    for path in ("/healthz", "/readyz"):
        status, body, _ = await get(Probes(), path)
        assert (status, orjson.loads(body)) == (200, {"ok": True, "failing": {}})


async def test_readiness_names_the_checks_that_fail_and_why() -> None:
    probes = Probes()
    probes.add("cache", lambda: "not synced")
    probes.add("lease", lambda: False)
    probes.add("certificate", lambda: True)
    status, body, _ = await get(probes, "/readyz")
    assert status == 503
    assert orjson.loads(body)["failing"] == {"cache": "not synced", "lease": "not yet"}
    assert (await get(probes, "/healthz"))[0] == 200


async def test_an_empty_text_is_a_failure_too() -> None:
    probes = Probes()
    probes.add("cache", lambda: "")
    assert (await get(probes, "/readyz"))[0] == 503


async def test_checks_are_asked_anew_each_time() -> None:
    answers: list[bool | str] = ["not yet", True]
    probes = Probes()
    probes.add("cache", lambda: answers.pop(0))
    assert [(await get(probes, "/readyz"))[0] for _ in range(2)] == [503, 200]


async def test_draining_fails_readiness_but_not_liveness() -> None:
    probes = Probes()
    probes.draining = True
    status, body, _ = await get(probes, "/readyz")
    assert (status, list(orjson.loads(body)["failing"])) == (503, ["draining"])
    assert (await get(probes, "/healthz"))[0] == 200


def test_a_check_is_not_replaced_by_another_of_its_name() -> None:
    probes = Probes()
    probes.add("cache", lambda: True)
    with pytest.raises(ValueError, match="'cache'"):
        probes.add("cache", lambda: True)


async def test_metrics_are_those_of_the_registry() -> None:
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    status, body, content_type = await get(Probes(), "/metrics", registry=registry)
    assert status == 200
    assert b"things_total 3.0" in body
    assert content_type.startswith("text/plain")


async def test_open_metrics_is_spoken_to_those_who_ask_for_it() -> None:
    accept = b"application/openmetrics-text; version=1.0.0"
    _, body, content_type = await get(Probes(), "/metrics", accept=accept)
    assert content_type.startswith("application/openmetrics-text")
    assert body == b"# EOF\n"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/healthz/"), ("POST", "/healthz")]
)
async def test_everything_else_is_not_found(method: str, path: str) -> None:
    assert (await get(Probes(), path, method=method))[0] == 404
