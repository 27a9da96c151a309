"""What holds for every answer of a route, its log lines and its metrics; no tests of its own."""

import asyncio
import io
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from kudo.api import JsonObject
from kudo_webhook.app import HANDLERS
from kudo_webhook.metrics import Metrics
from kudo_webhook.routes import Admission, build_app
from serving.logs import JsonFormatter
from tests.unit.webhook.fuzz.inputs import CANARY, Sent
from tests.unit.webhook.harness import DictVersions, Webhook
from workers import Pool

OPERATIONS = {"CREATE", "UPDATE", "DELETE", "CONNECT"}
CAMEL_CASE = re.compile(r"([A-Z][a-z0-9]+)+")


def routes() -> list[str]:
    """Return the paths that the app serves for Instances."""
    metrics = Metrics((), lambda: 0.0)
    app = build_app(Admission(DictVersions(), Pool(HANDLERS), metrics, deadline=1.0, fresh_uid=str))
    paths = (str(vars(route)["path"]) for route in app.routes)
    return sorted(path for path in paths if path.endswith("-instance"))


@contextmanager
def log_lines() -> Iterator[io.StringIO]:
    """Collect everything that the process logs, as the service writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield stream
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def assert_lines_are_ours(lines: io.StringIO) -> None:
    """No value of a parameter and no traceback is in the log."""
    for word in (CANARY, "Traceback", '"exception"'):
        assert word not in lines.getvalue()


class Client:
    """Sends from another thread than the server's, and holds every answer to the contract."""

    def __init__(
        self, webhook: Webhook, loop: asyncio.AbstractEventLoop, lines: io.StringIO
    ) -> None:
        self._webhook, self._loop, self._lines = webhook, loop, lines

    def send(self, sent: Sent, path: str) -> tuple[int, JsonObject]:
        """Return status and answer.

        Raises:
            AssertionError: the answer or what was logged breaks the contract.
        """
        self._lines.seek(0)
        self._lines.truncate()
        status, body = asyncio.run_coroutine_threadsafe(self._post(sent, path), self._loop).result()
        assert_lines_are_ours(self._lines)
        answer: JsonObject = json.loads(body)
        assert_answer(status, answer)
        return status, answer

    async def _post(self, sent: Sent, path: str) -> tuple[int, bytes]:
        async def chunks() -> AsyncIterator[bytes]:
            for chunk in sent.chunks():
                yield chunk

        data = chunks() if sent.pieces else io.BytesIO(sent.body)
        headers = {} if sent.content_type is None else {"content-type": sent.content_type}
        async with self._webhook.session.post(
            self._webhook.url + path,
            data=data,
            headers=headers,
            skip_auto_headers=["content-type"],
            timeout=aiohttp.ClientTimeout(total=60),
        ) as answer:
            return answer.status, await answer.read()


# The contract


def assert_answer(status: int, answer: JsonObject) -> None:
    assert status in {200, 400}, answer
    if status == 400:
        assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Failure", 400)
        assert CAMEL_CASE.fullmatch(answer["reason"])
        assert answer["message"]
        return
    assert answer["kind"] == "AdmissionReview"
    response = answer["response"]
    assert isinstance(response["allowed"], bool)
    if not response["allowed"]:
        assert_denial(response)


def assert_denial(response: JsonObject) -> None:
    denial = response["status"]
    assert denial["code"] in {400, 403}, denial
    assert CAMEL_CASE.fullmatch(denial["reason"])
    assert denial["message"]
    assert denial["details"]["causes"][0]["reason"] == denial["reason"]
    assert "patch" not in response


def assert_metrics_are_ours(text: str) -> None:
    """No label holds anything that a request brought along."""
    assert CANARY not in text
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
    counted = [s for s in samples if s.name == "kudo_admission_requests_total"]
    assert counted
    for sample in counted:
        assert sample.labels["operation"] in OPERATIONS | {""}
        assert sample.labels["outcome"] in {"allowed", "denied", "error"}
        assert sample.labels["reason"] == "" or CAMEL_CASE.fullmatch(sample.labels["reason"])
        if sample.labels["outcome"] == "error":
            assert sample.labels["reason"] == "BadRequest"


def judged(request: JsonObject) -> bool:
    resource = request["resource"]
    instances = {"group": "kudo.dev", "resource": "instances"}.items() <= resource.items()
    return (
        instances
        and not request.get("subResource")
        and request["operation"] in {"CREATE", "UPDATE"}
    )


def well_formed(body: bytes) -> bool:
    """Whether the body is an AdmissionReview with all that a decision needs."""
    try:
        document = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    request = document.get("request") if isinstance(document, dict) else None
    if not isinstance(request, dict) or document.get("kind") != "AdmissionReview":
        return False
    envelope = document.get("apiVersion") in ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
    return envelope and _has_what_it_needs(request)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _has_what_it_needs(request: JsonObject) -> bool:
    texts = [request.get("uid"), request.get("name", "")]
    objects = [request.get("resource")]
    named = request.get("operation") in [*OPERATIONS] and bool(texts[0])
    if not named or not isinstance(objects[0], dict):
        return False
    if judged(request):
        texts.append(request.get("namespace") or None)
        objects.append(request.get("object"))
        if request["operation"] == "UPDATE":
            objects.append(request.get("oldObject"))
    return all(isinstance(t, str) for t in texts) and all(isinstance(o, dict) for o in objects)
