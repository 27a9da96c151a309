"""The modes of tenancy: grants on both routes of Instances, and the route of OperatorVersions."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from kudo.admission.tenancy import Tenancy
from kudo.api import JsonObject, OperatorVersion
from kudo.api.names import ANNOTATION_ALLOW_FROM
from kudo_webhook.reviewing import INLINE_BODY
from kudo_webhook.settings import Settings
from tests.unit.webhook.harness import (
    MUTATE,
    VALIDATE,
    DictVersions,
    Replaced,
    Webhook,
    instance,
    kept,
    operator_version,
    review,
    running,
    until,
)

ROUTE = "/validate-kudo-dev-v1beta1-operatorversion"
STRICT: dict[str, Any] = {"tenancy": Tenancy.STRICT}
ON_SHARED = pytest.mark.asyncio(loop_scope="session")
PADDING = {"PADDING": "x" * INLINE_BODY}
"""A parameter that makes a review too large for the event loop."""


def published(grant: str = "") -> OperatorVersion:
    found = operator_version()
    annotations = {ANNOTATION_ALLOW_FROM: grant} if grant else None
    metadata = found.metadata.model_copy(update={"namespace": "own", "annotations": annotations})
    return found.model_copy(update={"metadata": metadata})


def published_versions(grant: str = "") -> DictVersions:
    return DictVersions({("own", "first-1"): published(grant)})


def user(parameters: JsonObject | None = None) -> JsonObject:
    return instance(parameters, operatorVersion={"name": "first-1", "namespace": "own"})


def version_review(new: JsonObject, old: JsonObject | None = None, **request: Any) -> JsonObject:
    resource = {"group": "kudo.dev", "version": "v1beta1", "resource": "operatorversions"}
    return review(new, old, **{"resource": resource, "name": "first-1", **request})


def version(template: str = "{{ .Name }}", **metadata: Any) -> JsonObject:
    plans = {"deploy": {"phases": [{"name": "p", "steps": [{"name": "s", "tasks": ["t"]}]}]}}
    tasks = [{"name": "t", "kind": "Apply", "spec": {"resources": ["a"]}}]
    spec = {"plans": plans, "tasks": tasks, "templates": {"a": template}}
    return {"metadata": {"name": "first-1", "namespace": "ns", **metadata}, "spec": spec}


@dataclass(frozen=True, slots=True)
class Strict:
    """A webhook in strict mode that tests share."""

    webhook: Webhook
    versions: Replaced


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def strict(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Strict]:
    versions = Replaced(DictVersions())
    async with kept(tmp_path_factory.mktemp("strict"), versions, **STRICT) as webhook:
        yield Strict(webhook, versions)


@pytest.mark.parametrize(
    ("argv", "environ", "mode"),
    [
        ([], {}, Tenancy.COMPAT),
        (["--tenancy=strict"], {}, Tenancy.STRICT),
        ([], {"KUDO_WEBHOOK_TENANCY": "strict"}, Tenancy.STRICT),
        (["--tenancy", "compat"], {"KUDO_WEBHOOK_TENANCY": "strict"}, Tenancy.COMPAT),
    ],
)
def test_the_mode_is_an_option(argv: list[str], environ: dict[str, str], mode: Tenancy) -> None:
    files = ["--tls-cert", "crt", "--tls-key", "key"]
    assert Settings.read([*files, *argv], environ).tenancy is mode


def test_there_is_no_other_mode() -> None:
    with pytest.raises(SystemExit):
        Settings.read(["--tls-cert", "crt", "--tls-key", "key", "--tenancy", "loose"], {})


@ON_SHARED
@pytest.mark.parametrize("parameters", [{}, PADDING], ids=["inline", "in a worker"])
async def test_a_reference_needs_its_grant_also_in_a_worker(
    strict: Strict, parameters: JsonObject
) -> None:
    new = user(parameters)
    denials = set()
    for source in (published_versions(), DictVersions()):
        strict.versions.source = source
        for path in (MUTATE, VALIDATE):
            status = (await strict.webhook.ask(review(new), path))["status"]
            denials.add((status["code"], status["reason"], status["message"]))
    ((code, reason, message),) = denials
    assert (code, reason) == (403, "OperatorVersionNotGranted")
    assert "kudo.dev/allow-from: ns" in message
    strict.versions.source = published_versions("other,ns")
    granted = await strict.webhook.ask(review(new))
    assert granted["allowed"]
    assert not [text for text in granted.get("warnings", ()) if "granted" in text]


@ON_SHARED
@pytest.mark.parametrize("parameters", [{}, PADDING], ids=["inline", "in a worker"])
async def test_compat_admits_the_reference_with_a_warning(
    webhook: Webhook, versions: Replaced, parameters: JsonObject
) -> None:
    versions.source = published_versions()
    found = await webhook.ask(review(user(parameters)))
    validated = await webhook.ask(review(user(parameters)), VALIDATE)
    assert found["allowed"]
    assert "kudo.dev/allow-from: ns" in found["warnings"][-1]
    assert "warnings" not in validated


@ON_SHARED
async def test_operator_versions_are_reviewed_in_strict(strict: Strict) -> None:
    webhook = strict.webhook
    assert (await webhook.ask(version_review(version()), ROUTE))["allowed"]
    status = (await webhook.ask(version_review(version("{{")), ROUTE))["status"]
    changed = await webhook.ask(version_review(version("new"), version()), ROUTE)
    labelled = version_review(version(labels={"a": "b"}), version())
    assert (await webhook.ask(labelled, ROUTE))["allowed"]
    deleted = version_review(version("{{"), operation="DELETE")
    assert (await webhook.ask(deleted, ROUTE))["allowed"]
    _, metrics = await webhook.probe("/metrics")
    assert (status["reason"], status["code"]) == ("InvalidOperatorVersion", 403)
    assert status["details"]["kind"] == "OperatorVersion"
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.templates[a]"]
    assert changed["status"]["reason"] == "OperatorVersionImmutable"
    assert (
        'kudo_admission_requests_total{operation="CREATE",outcome="denied",'
        'reason="InvalidOperatorVersion",route="operatorversion"} 1.0'
    ) in metrics


@ON_SHARED
async def test_one_of_any_size_is_reviewed(strict: Strict) -> None:
    large = version("x" * 500_000)
    large["spec"]["templates"] |= {f"b{number}": "y" * 300_000 for number in range(3)}
    assert (await strict.webhook.ask(version_review(large), ROUTE))["allowed"]
    changed = {**large, "spec": {**large["spec"], "version": "2"}}
    found = await strict.webhook.ask(version_review(changed, large), ROUTE)
    assert found["status"]["reason"] == "OperatorVersionImmutable"


async def test_one_that_takes_too_long_to_compile_is_denied_with_its_template(
    tmp_path: Path,
) -> None:
    slow = version("{{range .a}}{{.b}}{{end}}" * 3_800)
    slow["spec"]["templates"] |= {f"b{n}": slow["spec"]["templates"]["a"] for n in range(12)}
    slow["spec"]["tasks"][0]["spec"]["resources"] = [*slow["spec"]["templates"]]
    async with running(tmp_path, **STRICT, request_deadline=1.5) as webhook:

        async def started() -> bool:
            return (await webhook.ask(version_review(version()), ROUTE))["allowed"] is True

        await until(started)
        status = (await webhook.ask(version_review(slow), ROUTE))["status"]
    assert (status["code"], status["reason"]) == (413, "RequestTooLarge")
    assert 'template "' in status["message"]


@ON_SHARED
async def test_a_malformed_review_is_refused(strict: Strict, webhook: Webhook) -> None:
    for one in (strict.webhook, webhook):
        for body in (b"{", b"{}", b"x" * (INLINE_BODY + 1)):
            status, answer = await one.send(body, ROUTE)
            assert (status, answer["reason"]) == (400, "BadRequest")


@ON_SHARED
@pytest.mark.parametrize("padding", [0, INLINE_BODY])
async def test_compat_allows_what_a_strict_release_still_sends(
    webhook: Webhook, padding: int
) -> None:
    broken = version_review(version("{{" + "x" * padding))
    assert (await webhook.ask(broken, ROUTE))["allowed"]


@ON_SHARED
async def test_the_routes_of_instances_do_not_review_operator_versions(strict: Strict) -> None:
    for path in (MUTATE, VALIDATE):
        assert (await strict.webhook.ask(version_review(version("{{")), path))["allowed"]
    other = orjson.dumps(review(instance({"NOPE": "1"})))
    status, answer = await strict.webhook.send(other, ROUTE)
    assert (status, answer["response"]["allowed"]) == (200, True)
