"""`get` against an API server: what it prints."""

import json
from typing import Any

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]


def test_get_prints_names_as_a_tree(kudo: Cli, installed: FakeApi) -> None:
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": {}})
    ran = kudo("get", "instances")
    assert ran.out == (
        'List of current installed instances in namespace "kitchen":\n.\n├── milk\n└── tea\n\n'
    )


def test_get_all_shows_parents_that_are_missing(kudo: Cli, installed: FakeApi) -> None:
    spec: JsonObject = {"operatorVersion": {"name": "gone-1"}}
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": spec})
    spec = {"operatorVersion": {"name": "gone-2", "namespace": "default"}}
    installed.add("instances", {"metadata": {"name": "oat"}, "spec": spec})
    spec = {"operator": {"name": "cow"}}
    installed.add("operatorversions", {"metadata": {"name": "cow-1"}, "spec": spec})
    assert kudo("get", "all").out == (
        "List of current installed operators including versions and instances "
        'in namespace "kitchen":\n'
        ".\n"
        "├── teapot\n"
        "│\u00a0\u00a0 └── teapot-2.1.0-0.3.0\n"
        "│\u00a0\u00a0     └── tea\n"
        "├── cow (missing)\n"
        "│\u00a0\u00a0 └── cow-1\n"
        "├── gone-1 (missing)\n"
        "│\u00a0\u00a0 └── milk\n"
        "└── gone-2 (in namespace default)\n"
        "    └── oat\n"
        "\n"
    )


def test_get_of_an_empty_namespace(kudo: Cli, api: FakeApi) -> None:
    title = "List of current installed operators including versions and instances"
    assert kudo("get", "all").out == f'{title} in namespace "kitchen":\n.\n\n'
    assert kudo("get", "all", "-o", "json").out == "[]\n"
    assert kudo("get", "operators", "-o", "yaml").out == "...\n"


def test_get_as_data_holds_the_objects_in_the_order_of_the_kinds(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.objects["instances", "tea"]["metadata"]["managedFields"] = [{}]
    ran = kudo("get", "all", "-o", "json")
    kinds = [obj["kind"] for obj in json.loads(ran.out)]
    assert kinds == ["Operator", "OperatorVersion", "Instance"]
    assert "managedFields" not in ran.out
    assert ran.err == ""
