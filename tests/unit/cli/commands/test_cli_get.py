"""`get` against an API server: tables, the tree of KUDO 0.19, and data."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import VERSION, Cli, running
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
TREE_OF_ALL = "List of current installed operators including versions and instances"


@pytest.fixture
def shop(installed: FakeApi) -> FakeApi:
    """Return the server with versions and Instances, among them some whose parents are missing."""
    version = installed.objects["operatorversions", VERSION]["spec"]
    version |= {"version": "0.3.0", "appVersion": "2.1.0", "templates": {"pot.yaml": "x" * 1000}}
    orphan: JsonObject = {"operatorVersion": {"name": "gone-1"}}
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": orphan})
    elsewhere: JsonObject = {"operatorVersion": {"name": VERSION, "namespace": "kitchen"}}
    oat = {"metadata": {"name": "oat", "namespace": "default"}, "spec": elsewhere}
    installed.add("instances", oat)
    cow = {"operator": {"name": "cow"}, "version": "1.0.0"}
    installed.add("operatorversions", {"metadata": {"name": "cow-1"}, "spec": cow})
    for obj in installed.objects.values():
        obj["metadata"].pop("creationTimestamp", None)
    return installed


def rows(text: str) -> list[list[str]]:
    """Return the cells of a table of kubectl's form."""
    return [
        [cell.strip() for cell in line.split("   ") if cell.strip()] for line in text.split("\n")
    ]


# Tables


def test_a_run_that_has_not_begun_is_pending(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    instance = installed.objects["instances", "tea"]
    assert rows(kudo("get", "instance", "tea").out)[1][3:5] == ["deploy", "IN_PROGRESS"]
    # Nobody has begun the next one: the reconciler may be gone.
    instance["spec"]["planExecution"] = {"planName": "deploy", "uid": "another"}
    assert rows(kudo("get", "instance", "tea").out)[1][3:5] == ["deploy", "PENDING"]


def test_an_instance_that_is_being_deleted_is_not_ready(kudo: Cli, installed: FakeApi) -> None:
    instance = installed.objects["instances", "tea"]
    instance["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    instance["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert rows(kudo("get", "instances", "-o", "table").out)[1][5] == "Deleting"


def test_the_version_in_another_namespace_is_found(kudo: Cli, shop: FakeApi) -> None:
    assert rows(kudo("get", "ki", "-n", "default", "-o", "table").out)[1][:3] == [
        *("oat", "teapot", "0.3.0"),
    ]


@pytest.mark.parametrize("flag", ["--no-headers", "--headers=false"])
def test_a_table_has_no_headings_where_none_are_wanted(kudo: Cli, shop: FakeApi, flag: str) -> None:
    assert rows(kudo("get", "operators", flag).out)[0][0] == "teapot"


def test_who_may_not_read_versions_sees_their_instances(kudo: Cli, shop: FakeApi) -> None:
    shop.refusals["GET", "operatorversions"] = (403, "forbidden")
    for flags in ([], ["-A"]):
        ran = kudo("get", "instances", "-o", "wide", *flags)
        assert ran.code == 0
        assert "<unknown>" in ran.out
        assert "missing" not in ran.out


# Names


def test_several_objects_are_printed_in_the_order_of_their_names(kudo: Cli, shop: FakeApi) -> None:
    ran = kudo("get", "instances", "tea", "milk", "tea", "-o", "name")
    assert ran.out == "instance.kudo.dev/tea\ninstance.kudo.dev/milk\n"
    assert isinstance(json.loads(kudo("get", "ki", "tea", "milk", "-o", "json").out), list)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("all tea", 'names need a kind: use "instances", "operators" or "operatorversions"'),
        ("ki tea -A", "a resource cannot be retrieved by name across all namespaces"),
        ("ki tea -l a=b", "name cannot be provided when a selector is specified"),
        ("ki tea -o tree", "a tree shows all objects: leave out names and --selector"),
        ("ki -l a=b -o tree", "a tree shows all objects: leave out names and --selector"),
        ("ki -o json=x", 'invalid output format "json=x"'),
    ],
)
def test_what_cannot_be_is_told_without_a_cluster(run: Cli, line: str, text: str) -> None:
    ran = run("get", *line.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"Error: {text}")


# Formats of kubectl


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (
            ["ki", "-o", "jsonpath={.items[*].kind}"],
            "instances.kudo.dev -o 'jsonpath={.items[*].kind}'",
        ),
        (
            ["operators", "-o", "custom-columns=A:.kind"],
            "operators.kudo.dev -o custom-columns=A:.kind",
        ),
        (
            ["kov", "-o", "go-template-file=a b"],
            "operatorversions.kudo.dev -o 'go-template-file=a b'",
        ),
        (
            ["all", "-o", "jsonpath-file=x"],
            "operators.kudo.dev,operatorversions.kudo.dev,instances.kudo.dev -o jsonpath-file=x",
        ),
    ],
)
def test_templates_are_those_of_kubectl(run: Cli, words: list[str], command: str) -> None:
    ran = run("get", *words)
    name = words[-1].partition("=")[0]
    text = f"Error: {name} is a format of kubectl: kubectl get {command}\n"
    assert (ran.code, ran.out, ran.err) == (2, "", text)


def test_kubectl_has_no_kind_for_what_an_instance_owns(run: Cli) -> None:
    ran = run("get", "objects", "--instance", "tea", "-o", "jsonpath={.a}")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "Error: objects have no jsonpath: use json, yaml or name\n"


# The tree of KUDO 0.19


def test_the_tree_of_all_shows_parents_that_are_missing(kudo: Cli, installed: FakeApi) -> None:
    # BTO-60: what has no parent was invisible.
    spec: JsonObject = {"operatorVersion": {"name": "gone-1"}}
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": spec})
    spec = {"operatorVersion": {"name": "gone-2", "namespace": "default"}}
    installed.add("instances", {"metadata": {"name": "oat"}, "spec": spec})
    spec = {"operator": {"name": "cow"}}
    installed.add("operatorversions", {"metadata": {"name": "cow-1"}, "spec": spec})
    assert kudo("get", "all").out == (
        f'{TREE_OF_ALL} in namespace "kitchen":\n'
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
