"""What a cluster refuses as it is now: where it can change without anybody's template, we go on."""

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import ApiError
from kudo_cluster import Cluster
from tests.integration.refusals import kinds
from tests.support.build import Json
from tests.support.cluster.quotas import create_quota
from tests.support.cluster.waiting import wait_until


async def test_a_namespace_that_does_not_exist_is_fatal(admin: Client) -> None:
    error = await kinds.refusal(admin, "nope", kinds.config_map())

    assert error is not None
    assert kinds.classified(kinds.config_map(), error) == (True, "")


async def test_a_namespace_that_is_being_deleted_is_fatal(admin: Client, namespace: str) -> None:
    held = kinds.with_at(kinds.config_map(), "metadata/finalizers", ["example.org/held"])
    await kinds.apply(admin, namespace, held)
    await admin.delete(kinds.SERVED["Namespace"], namespace)

    error = await kinds.refusal(
        admin, namespace, kinds.with_at(kinds.config_map(), "metadata/name", "other")
    )
    await kinds.apply(admin, namespace, kinds.with_at(held, "metadata/finalizers", []))

    assert error is not None
    assert kinds.classified(kinds.config_map(), error)[0]


async def test_a_kind_that_is_not_served_may_be_served_later(admin: Client, namespace: str) -> None:
    with pytest.raises(ApiError) as error:
        await admin.raw(
            "PATCH", f"/apis/nope.example.org/v1/namespaces/{namespace}/nopes/x", body={}
        )

    assert error.value.status == 404
    assert not kinds.classified(kinds.config_map(), error.value)[0]


async def test_a_missing_right_may_be_granted(cluster: Cluster, namespace: str) -> None:
    async with Client(load_config(cluster.kubeconfig("user"))) as user:
        error = await kinds.refusal(user, namespace, kinds.config_map())

    assert error is not None
    fatal, told = kinds.classified(kinds.config_map(), error)
    assert not fatal
    assert told.startswith("grant KUDO's reconciler permission to patch configmaps, or all")


async def test_a_full_quota_may_be_freed(admin: Client, namespace: str) -> None:
    await create_quota(admin, namespace, "x", hard={"count/services": 0})
    await _until_refused(admin, namespace, kinds.service(), "exceeded quota")

    error = await kinds.refusal(admin, namespace, kinds.service())

    assert error is not None
    assert error.status == 403
    fatal, told = kinds.classified(kinds.service(), error)
    assert not fatal
    assert told.startswith("raise ResourceQuota x or delete objects that it counts;")


async def test_limits_and_pod_security_may_be_changed(admin: Client, namespace: str) -> None:
    limits = [{"type": "PersistentVolumeClaim", "max": {"storage": "1Mi"}}]
    await kinds.apply(admin, namespace, kinds.obj("LimitRange", spec={"limits": limits}))
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    await admin.merge_patch(kinds.SERVED["Namespace"], namespace, {"metadata": {"labels": label}})
    await _until_refused(admin, namespace, kinds.claim(), "maximum storage usage per")
    await _until_refused(admin, namespace, kinds.pod(), "violates PodSecurity")

    for source in (kinds.claim(), kinds.pod()):
        error = await kinds.refusal(admin, namespace, source)
        assert error is not None
        assert kinds.classified(source, error) == (False, "")


async def test_what_a_pod_needs_may_come_later(admin: Client, namespace: str) -> None:
    for source in (
        kinds.pod(serviceAccountName="nope"),
        kinds.pod(priorityClassName="nope"),
        kinds.pod(runtimeClassName="nope"),
    ):
        error = await kinds.refusal(admin, namespace, source)
        assert error is not None
        assert kinds.classified(source, error) == (False, "")


async def test_what_a_policy_denies_is_fatal_whatever_its_reason(
    admin: Client, namespace: str
) -> None:
    validations = [
        {"expression": f"!('{reason}' in object.data)", "reason": reason}
        for reason in ("Forbidden", "Invalid", "RequestEntityTooLarge")
    ]
    name = {"name": f"policy-{namespace}"}
    policy = kinds.obj(
        "ValidatingAdmissionPolicy",
        spec={
            "matchConstraints": {"resourceRules": [kinds.CONFIG_MAP_RULE]},
            "validations": validations,
        },
    )
    here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    binding = kinds.obj(
        "ValidatingAdmissionPolicyBinding",
        spec={
            "policyName": name["name"],
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": here},
        },
    )
    for one in (policy, binding):
        await kinds.apply(admin, namespace, {**one, "metadata": name})
    await _until_refused(admin, namespace, kinds.config_map(Forbidden="1"), "denied request")

    found = [
        await kinds.refusal(admin, namespace, kinds.config_map(**{v["reason"]: "1"}))
        for v in validations
    ]

    assert [error and error.status for error in found] == [403, 422, 413]
    assert all(error and kinds.classified(kinds.config_map(), error)[0] for error in found)


async def test_a_webhook_that_cannot_be_reached_may_come_back(
    admin: Client, namespace: str
) -> None:
    webhook = {
        "name": "away.example.org",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [kinds.CONFIG_MAP_RULE],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = kinds.obj("ValidatingWebhookConfiguration", webhooks=[webhook])
    name = f"away-{namespace}"
    await kinds.apply(admin, namespace, {**configuration, "metadata": {"name": name}})
    await _until_refused(admin, namespace, kinds.config_map(), "failed calling webhook")

    error = await kinds.refusal(admin, namespace, kinds.config_map())
    await admin.delete(kinds.SERVED["ValidatingWebhookConfiguration"], name)

    assert error is not None
    assert kinds.classified(kinds.config_map(), error) == (
        False,
        "the plan continues as soon as webhook away.example.org answers: see its pods",
    )


async def _until_refused(admin: Client, namespace: str, source: Json, text: str) -> None:
    """Wait until the API server has noticed a rule."""

    async def noticed() -> bool:
        error = await kinds.refusal(admin, namespace, source)
        return error is not None and text in error.message

    await wait_until(noticed, lambda: f"a refusal with {text!r}")
