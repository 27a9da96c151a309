"""What the two routes answer to AdmissionReviews of the API server."""

import itertools
from typing import Any

import pytest

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
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_new_instance_is_allowed_with_a_patch_that_schedules_deploy(
    webhook: Webhook,
) -> None:
    response = await webhook.ask(review(instance({"REPLICAS": "2"})))
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    patch = {operation["path"]: operation["value"] for operation in patch_of(response)}
    assert patch["/spec/parameters"] == {"REPLICAS": "2", "PORT": "80"}
    assert patch["/metadata/finalizers"] == ["kudo.dev.instance.cleanup"]
    assert patch["/spec/planExecution"]["planName"] == "deploy"
    assert len(patch["/spec/planExecution"]["uid"]) == 36


async def test_every_run_gets_another_uid(webhook: Webhook) -> None:
    patches = [patch_of(await webhook.ask(review(instance()))) for _ in range(2)]
    uids = {op["value"]["uid"] for patch in patches for op in patch if "plan" in op["path"]}
    assert len(uids) == 2


async def test_the_validating_route_never_patches(webhook: Webhook) -> None:
    final = instance(planExecution={"planName": "deploy", "uid": "x", "status": "NEVER_RUN"})
    response = await webhook.ask(review(final), VALIDATE)
    assert response == {"uid": "u-1", "allowed": True}


async def test_what_bypassed_mutation_is_denied_by_the_validating_route(webhook: Webhook) -> None:
    response = await webhook.ask(review(instance()), VALIDATE)
    assert response["status"]["reason"] == "MutatingWebhookMissing"


async def test_warnings_reach_the_client(webhook: Webhook) -> None:
    response = await webhook.ask(review(instance({"UNKNOWN": "1"})))
    assert response["allowed"] is True
    assert [text.split('"')[1] for text in response["warnings"]] == ["UNKNOWN"]


async def test_a_denial_carries_reason_message_and_a_cause_for_each_problem(
    webhook: Webhook,
) -> None:
    new = instance({"PORT": "81", "REPLICAS": "many"})
    response = await webhook.ask(review(new, instance({"PORT": "80"})))
    assert response["allowed"] is False
    assert "patch" not in response
    status = response["status"]
    assert (status["status"], status["code"]) == ("Failure", 403)
    assert status["reason"] == "ParameterImmutable"
    first, second = status["message"].split("\n")
    assert first.startswith("failed to update Instance ns/i: parameter 'PORT' is immutable")
    assert "REPLICAS" in second
    details = status["details"]
    assert (details["name"], details["group"], details["kind"]) == ("i", "kudo.dev", "Instance")
    assert [(cause["reason"], cause["field"]) for cause in details["causes"]] == [
        ("ParameterImmutable", "spec.parameters[PORT]"),
        ("ParameterInvalid", "spec.parameters[REPLICAS]"),
    ]
    assert [cause["message"] for cause in details["causes"]] == [first, second]


async def test_an_object_that_is_no_instance_is_denied_with_400(webhook: Webhook) -> None:
    response = await webhook.ask(review(instance({"REPLICAS": 3})))
    assert (response["status"]["code"], response["status"]["reason"]) == (400, "InstanceUnreadable")
    assert response["status"]["details"]["causes"][0]["field"] == "spec.parameters.REPLICAS"


async def test_a_missing_operator_version_is_a_denial_with_403(
    webhook: Webhook, versions: Replaced
) -> None:
    versions.source = DictVersions()
    status = (await webhook.ask(review(instance())))["status"]
    assert (status["code"], status["reason"]) == (403, "OperatorVersionNotFound")
    assert "OperatorVersion ns/first-1 does not exist" in status["message"]


async def test_an_unreadable_operator_version_is_a_denial_with_500(
    webhook: Webhook, versions: Replaced
) -> None:
    versions.source = DictVersions(broken="connection refused")
    status = (await webhook.ask(review(instance())))["status"]
    assert (status["code"], status["reason"]) == (500, "OperatorVersionUnreadable")
    assert "ns/first-1 cannot be read: connection refused; try again" in status["message"]


async def test_an_unchanged_spec_passes_while_operator_versions_are_unreadable(
    webhook: Webhook,
    versions: Replaced,
) -> None:
    labelled = instance()
    labelled["metadata"]["labels"] = {"a": "b"}
    versions.source = DictVersions(broken="connection refused")
    for path in (MUTATE, VALIDATE):
        assert (await webhook.ask(review(labelled, instance()), path))["allowed"] is True


OTHERS: tuple[dict[str, Any], ...] = (
    {"operation": "DELETE", "object": None, "oldObject": instance()},
    {"operation": "CONNECT", "object": None, "oldObject": None},
    {"subResource": "status"},
    {"resource": {"group": "kudo.dev", "version": "v1beta1", "resource": "operators"}},
    {"resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": ""},
)


async def test_whatever_is_not_a_write_of_an_instance_is_allowed(
    webhook: Webhook, versions: Replaced
) -> None:
    versions.source = DictVersions(broken="not asked")
    for fields, path in itertools.product(OTHERS, (MUTATE, VALIDATE)):
        response = await webhook.ask(review(instance(), **fields), path)
        assert response == {"uid": "u-1", "allowed": True}, fields


async def test_a_v1beta1_review_is_answered_in_v1beta1(webhook: Webhook) -> None:
    response = await webhook.ask(review(instance(), version="v1beta1"))
    assert response["allowed"] is True


async def test_a_dry_run_is_answered_as_any_other_request(webhook: Webhook) -> None:
    allowed = await webhook.ask(review(instance(), dryRun=True))
    denied = await webhook.ask(review(instance({"REPLICAS": "many"}), dryRun=True))
    assert allowed["allowed"] is True
    assert denied["status"]["reason"] == "ParameterInvalid"


async def test_an_operator_version_of_another_namespace_is_found(
    webhook: Webhook, versions: Replaced
) -> None:
    versions.source = DictVersions({("shared", "first-1"): operator_version()})
    new = instance()
    new["spec"]["operatorVersion"]["namespace"] = "shared"
    assert (await webhook.ask(review(new)))["allowed"] is True


async def test_a_generated_name_is_admitted(webhook: Webhook) -> None:
    new = instance()
    new["metadata"] = {"generateName": "i-"}
    request = review(new)
    del request["request"]["name"]
    assert (await webhook.ask(request))["allowed"] is True
