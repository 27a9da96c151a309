"""What a real API server refuses, and what we make of its answers: one object a row."""

from typing import Any

import pytest

from kubeio.client import Client
from kubeio.errors import ApiError
from kudo.objects.typed_patch import mended
from tests.integration.refusals import kinds
from tests.support.build import Json

MAIN = "spec/template/spec/containers/0"
MIB = 2**20

UNKNOWN: dict[str, tuple[Json, set[str]]] = {
    "at the top": ({**kinds.config_map(a="1"), "spec": {}}, {"spec"}),
    "in metadata": (kinds.with_at(kinds.config_map(), "metadata/bogus", 1), {"metadata.bogus"}),
    "in a container": (
        kinds.with_at(kinds.deployment(), f"{MAIN}/imagePulPolicy", "Always"),
        {'spec.template.spec.containers[name="main"].imagePulPolicy'},
    ),
    "in a port with a default": (
        kinds.with_at(kinds.deployment(), f"{MAIN}/ports", [{"containerPort": 80, "proto": "TCP"}]),
        {'spec.template.spec.containers[name="main"].ports[containerPort=80,protocol="TCP"].proto'},
    ),
    "in an atomic list": (
        kinds.with_at(
            kinds.deployment(), "spec/template/spec/tolerations", [{"key": "a", "bogus": 1}]
        ),
        {"spec.template.spec.tolerations[0].bogus"},
    ),
    "in a claim of a StatefulSet": (
        kinds.with_at(
            kinds.stateful_set(), "spec/volumeClaimTemplates/0/spec/storageClass", "fast"
        ),
        {"spec.volumeClaimTemplates[0].spec.storageClass"},
    ),
    "in a Service": (kinds.with_at(kinds.service(), "spec/port", 80), {"spec.port"}),
    "in a Job": (
        kinds.with_at(kinds.job(), f"{MAIN}/limits", {}),
        {'spec.template.spec.containers[name="main"].limits'},
    ),
    "at three depths": (
        kinds.with_at(
            kinds.with_at(
                kinds.with_at(kinds.deployment(), "spec/a", 1), "spec/template/spec/b", None
            ),
            f"{MAIN}/c",
            {},
        ),
        {"spec.a", "spec.template.spec.b", 'spec.template.spec.containers[name="main"].c'},
    ),
    "many in one place": (
        kinds.thing(**{f"f{n}": n for n in range(12)}),
        {f"spec.f{n}" for n in range(12)},
    ),
    "of awkward names": (
        kinds.with_at(
            kinds.deployment(), 'spec/a.b"c\n  .spec.replicas: field not declared in schema', 1
        ),
        {'spec.a.b"c .spec.replicas: field not declared in schema'},
    ),
    "in a custom resource": (
        kinds.thing(size=1, bogus=1, list=[{"a": "1"}, {"b.c": 1}], keyed=[{"k": 'x"y', "z": 1}]),
        {"spec.bogus", "spec.list[1].b.c", r'spec.keyed[k="x\"y",p=5].z'},
    ),
}

DUPLICATES: dict[str, tuple[Json, str, list[Any]]] = {
    "variables": (
        kinds.with_at(
            kinds.deployment(),
            f"{MAIN}/env",
            [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}],
        ),
        f"{MAIN}/env",
        [{"name": "A", "value": "2"}, {"name": "B"}],
    ),
    "ports, the protocol by default": (
        kinds.service(
            {"port": 80, "name": "a"},
            {"port": 81, "name": "c"},
            {"port": 80, "protocol": "TCP", "name": "b"},
        ),
        "spec/ports",
        [
            {"port": 80, "protocol": "TCP", "name": "b", "targetPort": 80},
            {"port": 81, "protocol": "TCP", "name": "c", "targetPort": 81},
        ],
    ),
    "volumes": (
        kinds.with_at(
            kinds.deployment(),
            "spec/template/spec/volumes",
            [{"name": "v", "hostPath": {"path": "/"}}, {"name": "v", "emptyDir": {}}],
        ),
        "spec/template/spec/volumes",
        [{"name": "v", "emptyDir": {}}],
    ),
    "finalizers": (
        kinds.with_at(kinds.config_map(), "metadata/finalizers", ["a.b/c", "d.e/f", "a.b/c"]),
        "metadata/finalizers",
        ["a.b/c", "d.e/f"],
    ),
    "items of a custom resource": (
        kinds.thing(keyed=[{"k": "a", "v": "1"}, {"k": "a", "p": 5, "v": "2"}, {"k": "a", "p": 6}]),
        "spec/keyed",
        [{"k": "a", "p": 5, "v": "2"}, {"k": "a", "p": 6}],
    ),
    "items of a set": (kinds.thing(set=["é", "b", "é"]), "spec/set", ["é", "b"]),
}

ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
LARGE = {"a": "x" * (MIB + 1)}
WRONG: dict[str, tuple[list[Json], int, str]] = {
    "text for a number": (
        [kinds.with_at(kinds.deployment(), "spec/replicas", "3")],
        500,
        "spec.replicas must be a number",
    ),
    "a number for text": (
        [kinds.with_at(kinds.deployment(), f"{MAIN}/env", [{"name": "A", "value": 5}])],
        500,
        'spec.template.spec.containers[name="main"].env[name="A"].value must be text',
    ),
    "text for a boolean": (
        [kinds.with_at(kinds.deployment(), "spec/paused", "true")],
        500,
        "spec.paused must be true or false",
    ),
    "a mapping for a list": (
        [kinds.with_at(kinds.deployment(), "spec/template/spec/containers", {"name": "main"})],
        500,
        "spec.template.spec.containers must be a list",
    ),
    "a list for a mapping": (
        [kinds.with_at(kinds.config_map(), "data", ["a"])],
        500,
        "data must be a mapping",
    ),
    "an empty item": (
        [kinds.with_at(kinds.deployment(), f"{MAIN}/env", [None])],
        500,
        "",
    ),
    "a fraction": (
        [kinds.with_at(kinds.deployment(), "spec/replicas", 1.5)],
        500,
        "has the wrong type",
    ),
    "data that is no base64": ([kinds.obj("Secret", data={"a": "!!!"})], 500, "has the wrong type"),
    "a quantity that is none": (
        [kinds.with_at(kinds.deployment(), f"{MAIN}/resources", {"limits": {"cpu": "half"}})],
        500,
        "write quantities such as",
    ),
    "text for a number in a custom resource": (
        [kinds.thing(size="x")],
        500,
        "spec.size must be a number",
    ),
    "an item without its key": ([kinds.thing(keyed=[{"v": "1"}])], 422, ""),
    "a fraction in a custom resource": ([kinds.thing(size=1.5)], 422, ""),
    "a missing value": (
        [kinds.with_at(kinds.deployment(), f"{MAIN}/env", [{"value": "1"}])],
        422,
        "",
    ),
    "another template of a Job": (
        [kinds.job(), kinds.with_at(kinds.job(), f"{MAIN}/image", "other")],
        422,
        "spec.template.spec cannot be changed on an existing object: delete the Job in an earlier",
    ),
    "another selector of a Deployment": (
        [
            kinds.deployment(),
            kinds.with_at(
                kinds.with_at(kinds.deployment(), "spec/selector", {"matchLabels": {"b": "1"}}),
                "spec/template/metadata/labels/b",
                "1",
            ),
        ],
        422,
        "spec.selector cannot be changed on an existing object",
    ),
    "labels that the selector does not find": (
        [kinds.with_at(kinds.deployment(), "spec/template/metadata/labels", {"a": "1"})],
        422,
        "",
    ),
    "another claim of a StatefulSet": (
        [kinds.stateful_set(), kinds.with_at(kinds.stateful_set(), "spec/serviceName", "other")],
        422,
        "the other fields cannot be changed on an existing StatefulSet",
    ),
    "another address of a Service": (
        [kinds.service(), kinds.with_at(kinds.service(), "spec/clusterIP", "None")],
        422,
        "spec.clusterIPs[0] cannot be changed on an existing object",
    ),
    "another mode of a claim": (
        [kinds.claim(), kinds.with_at(kinds.claim(), "spec/accessModes", ["ReadWriteMany"])],
        422,
        "deleting this one gives up its data",
    ),
    "an immutable ConfigMap": (
        [
            {**kinds.config_map(a="1"), "immutable": True},
            {**kinds.config_map(a="2"), "immutable": True},
        ],
        422,
        "data cannot be changed on an existing object",
    ),
    "another type of a Secret": (
        [kinds.obj("Secret", type="Opaque"), kinds.obj("Secret", type="example.org/other")],
        422,
        "type cannot be changed on an existing object",
    ),
    "another role of a RoleBinding": (
        [
            kinds.obj("RoleBinding", roleRef=ROLE),
            kinds.obj("RoleBinding", roleRef={**ROLE, "name": "edit"}),
        ],
        422,
        "roleRef cannot be changed on an existing object",
    ),
    "another command of a Pod": (
        [kinds.pod(), kinds.with_at(kinds.pod(), "spec/containers/0/command", ["x"])],
        422,
        "the other fields cannot be changed on an existing Pod",
    ),
    "a rule of a custom resource": (
        [kinds.thing(fixed="a"), kinds.thing(fixed="b")],
        422,
        "spec.fixed cannot be changed on an existing object",
    ),
    "a ConfigMap of more than 1 MiB": (
        [kinds.config_map(**LARGE)],
        422,
        "",
    ),
    "a ConfigMap of 4 MiB": (
        [kinds.config_map(a="x" * 4 * MIB)],
        413,
        "",
    ),
    "more than etcd takes": (
        [kinds.thing(free={"a": "x" * (3 * MIB // 2 + 1)})],
        500,
        "",
    ),
    "more than is sent to etcd": (
        [kinds.thing(free={"a": "x" * (2 * MIB + 1)})],
        500,
        "",
    ),
    "more than the API server reads": (
        [kinds.thing(free={"a": "x" * 4 * MIB})],
        413,
        "",
    ),
    "large annotations": (
        [kinds.with_at(kinds.config_map(), "metadata/annotations", {"a": "x" * 2**18})],
        422,
        "",
    ),
    "a bad name": (
        [kinds.with_at(kinds.config_map(), "metadata/name", "Not A Name")],
        422,
        "",
    ),
    "a long name": (
        [kinds.with_at(kinds.service(), "metadata/name", "a" * 64)],
        422,
        "",
    ),
    "a bad name of a container": (
        [kinds.with_at(kinds.deployment(), f"{MAIN}/name", "A B")],
        422,
        "",
    ),
    "managedFields": (
        [kinds.with_at(kinds.config_map(), "metadata/managedFields", [])],
        400,
        "",
    ),
    "another kind than the path says": ([{**kinds.config_map(), "apiVersion": "v2"}], 400, ""),
}


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize("case", UNKNOWN)
async def test_an_object_without_its_unknown_fields_is_accepted(
    admin: Client, namespace: str, case: str
) -> None:
    source, fields = UNKNOWN[case]
    assert await kinds.refusal(admin, namespace, source) is not None

    _, notes = await kinds.mended_and_applied(admin, namespace, source)

    assert {note.reason for note in notes} == {"UnknownField"}
    assert {note.text for note in notes} == {f"unknown field {f} is left out" for f in fields}


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize("case", DUPLICATES)
async def test_an_object_with_the_last_of_its_duplicates_is_accepted(
    admin: Client, namespace: str, case: str
) -> None:
    source, path, expected = DUPLICATES[case]
    assert await kinds.refusal(admin, namespace, source) is not None

    stored, notes = await kinds.mended_and_applied(admin, namespace, source)

    assert kinds.found_at(stored, path) == expected
    assert [note.reason for note in notes] == ["DuplicateListKey"]


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize("case", WRONG)
async def test_what_only_the_author_can_mend_is_fatal(
    admin: Client, namespace: str, case: str
) -> None:
    (*before, source), status, advised = WRONG[case]
    for one in before:
        await kinds.apply(admin, namespace, one)

    error = await kinds.refusal(admin, namespace, source)

    assert error is not None
    assert error.status == status, error
    assert mended(source, error.message) is None
    fatal, told = kinds.classified(source, error)
    assert fatal, error
    assert advised in told
    assert bool(advised) == bool(told)


@pytest.mark.parametrize("validation", ["Ignore", "Warn", "Strict"])
@pytest.mark.usefixtures("things")
async def test_the_answer_is_the_same_however_fields_are_validated(
    admin: Client, namespace: str, validation: str
) -> None:
    for source in (kinds.with_at(kinds.deployment(), "spec/bogus", 1), kinds.thing(bogus=1)):
        resource = kinds.SERVED[source["kind"]]
        path = resource.path(namespace, "x")
        query = {"fieldManager": "kudo", "fieldValidation": validation}
        with pytest.raises(ApiError, match=r"\.spec\.bogus: field not declared in schema") as error:
            await admin.raw(
                "PATCH", path, query=query, body=source, content_type="application/apply-patch+yaml"
            )
        assert error.value.status == 500
        assert mended(source, error.value.message) is not None
