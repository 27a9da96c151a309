"""What a client dry run makes of objects: patches as the API server applies them, and oddities."""

from typing import Any

import pytest

from kubectl_kudo.session.dry_run import merged, patched
from kubectl_kudo.session.errors import CliError
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
UPDATE = ("update", "--instance", "tea", "-p", "CUPS=3", "--dry-run=client")


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": 1}, {"a": {"b": None, "c": 3}}, {"a": {"c": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"b": None}, {"a": 1}),
    ],
)
def test_merge_patches_follow_rfc_7386(
    target: JsonObject, patch: JsonObject, result: JsonObject
) -> None:
    before = repr(target)
    assert merged(target, patch) == result
    assert repr(target) == before


def test_json_patches_test_and_add() -> None:
    target: JsonObject = {"metadata": {"name": "tea"}, "spec": {"run": {"uid": "1"}}}
    same = {"op": "test", "path": "/spec/run/uid", "value": "1"}
    add = {"op": "add", "path": "/spec/run/status", "value": "X"}
    assert patched(target, [same, add])["spec"] == {"run": {"uid": "1", "status": "X"}}
    assert target["spec"] == {"run": {"uid": "1"}}
    with pytest.raises(CliError, match="instance tea changed meanwhile; try again"):
        patched(target, [{**same, "value": "2"}, add])


def store(api: FakeApi, parameters: JsonObject, version: JsonObject) -> None:
    api.add("operatorversions", {"metadata": {"name": "teapot-1"}, "spec": version})
    spec = {"operatorVersion": {"name": "teapot-1"}, "parameters": parameters}
    api.add("instances", {"metadata": {"name": "tea"}, "spec": spec})


def test_an_instance_that_cannot_be_read_is_denied_as_by_the_webhook(
    kudo: Cli, api: FakeApi
) -> None:
    store(api, {"TEA": 1}, {"plans": {"deploy": {}}})
    ran = kudo(*UPDATE)
    assert ran.code == 4
    assert ran.err.startswith(
        "Error: the request would be denied (InstanceUnreadable): failed to read Instance "
        "kitchen/tea: spec.parameters.TEA:"
    )


def test_a_version_that_cannot_be_read_is_named(kudo: Cli, api: FakeApi) -> None:
    store(api, {}, {"plans": []})
    ran = kudo(*UPDATE)
    assert ran.code == 255
    assert ran.err.startswith("Error: OperatorVersion kitchen/teapot-1 cannot be read: ")


def test_what_may_not_be_read_is_no_denial(kudo: Cli, api: FakeApi) -> None:
    store(api, {}, {"plans": {"deploy": {}}})
    api.refusals["GET", "operatorversions"] = (403, "operatorversions is forbidden")
    assert kudo(*UPDATE).err == "Error: operatorversions is forbidden\n"
