"""`get` against an API server: tables, the tree of KUDO 0.19, and data."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import VERSION, Cli, running
from tests.unit.cli.dialogs import answered
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
TREE_OF_ALL = "List of current installed operators including versions and instances"


@pytest.fixture
def terminal(kudo: Cli, tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a command line on a terminal, and returns what it shows."""
    assert os.environ["KUBECONFIG"], "`kudo` has named the server"

    def run(*argv: str) -> str:
        code, shown = answered(tmp_path, argv, [])
        assert code == 0, shown
        return shown.replace("\r\n", "\n")

    return run


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


def test_a_terminal_gets_a_table_of_instances(terminal: Callable[..., str], shop: FakeApi) -> None:
    status("COMPLETE")(shop.objects["instances", "tea"])
    assert terminal("get", "instances").splitlines() == [
        "NAME   OPERATOR   VERSION            LAST PLAN   PLAN STATUS   READY    AGE",
        "milk   <none>     gone-1 (missing)   <none>      <none>        <none>   <unknown>",
        "tea    teapot     0.3.0              deploy      COMPLETE      <none>   <unknown>",
    ]


def test_a_table_is_as_wide_as_asked_for(kudo: Cli, shop: FakeApi) -> None:
    child = shop.objects["instances", "tea"]
    child["metadata"]["ownerReferences"] = [{"kind": "Instance", "name": "milk", "uid": "u"}]
    child["status"] = {
        "conditions": [{"type": "Ready", "status": "False", "reason": "ResourceNotReady"}]
    }
    heading, _, tea = rows(kudo("get", "instances", "-o", "wide").out)[:3]
    assert dict(zip(heading, tea, strict=True)) == {
        "NAME": "tea",
        "OPERATOR": "teapot",
        "VERSION": "0.3.0",
        "LAST PLAN": "<none>",
        "PLAN STATUS": "<none>",
        "READY": "False",
        "AGE": "<unknown>",
        "APP VERSION": "2.1.0",
        "OPERATOR VERSION": VERSION,
        "REASON": "ResourceNotReady",
        "PARENT": "milk",
    }


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


def test_all_kinds_are_shown_as_one_table_each(terminal: Callable[..., str], shop: FakeApi) -> None:
    # BTO-60: an OperatorVersion without Operator, and an Instance without OperatorVersion, were
    # invisible.
    operators, versions, instances = terminal("get", "all").split("\n\n")
    assert [row[0] for row in rows(operators)] == ["NAME", "operator.kudo.dev/teapot"]
    assert [row[:2] for row in rows(versions)[1:]] == [
        ["operatorversion.kudo.dev/cow-1", "cow (missing)"],
        [f"operatorversion.kudo.dev/{VERSION}", "teapot"],
    ]
    assert [row[:3] for row in rows(instances)[1:3]] == [
        ["instance.kudo.dev/milk", "<none>", "gone-1 (missing)"],
        ["instance.kudo.dev/tea", "teapot", "0.3.0"],
    ]


def test_all_namespaces_are_shown_with_their_names(kudo: Cli, shop: FakeApi) -> None:
    table = rows(kudo("get", "instances", "-A").out)
    assert [row[:4] for row in table[:-1]] == [
        ["NAMESPACE", "NAME", "OPERATOR", "VERSION"],
        ["default", "oat", "teapot", "0.3.0"],
        ["kitchen", "milk", "<none>", "gone-1 (missing)"],
        ["kitchen", "tea", "teapot", "0.3.0"],
    ]
    names = [obj["metadata"]["name"] for obj in json.loads(kudo("get", "ki", "-A", "-ojson").out)]
    assert names == ["oat", "milk", "tea"]


def test_the_version_in_another_namespace_is_found(kudo: Cli, shop: FakeApi) -> None:
    assert rows(kudo("get", "ki", "-n", "default", "-o", "table").out)[1][:3] == [
        *("oat", "teapot", "0.3.0"),
    ]


@pytest.mark.parametrize("flag", ["--no-headers", "--headers=false"])
def test_a_table_has_no_headings_where_none_are_wanted(kudo: Cli, shop: FakeApi, flag: str) -> None:
    assert rows(kudo("get", "operators", flag).out)[0][0] == "teapot"
    assert kudo("get", "operators", flag, "-o", "custom-columns=N:.metadata.name").out == "teapot\n"


def test_what_has_the_labels_is_shown(kudo: Cli, shop: FakeApi) -> None:
    shop.objects["instances", "tea"]["metadata"]["labels"] = {"kudo.dev/operator": "teapot"}
    ran = kudo("get", "instances", "-l", "kudo.dev/operator=teapot")
    assert [row[0] for row in rows(ran.out)[:-1]] == ["NAME", "tea"]
    assert kudo("get", "all", "-l", "kudo.dev/operator=teapot", "-o", "name").out == (
        "instance.kudo.dev/tea\n"
    )


def test_who_may_not_read_versions_sees_their_instances(kudo: Cli, shop: FakeApi) -> None:
    shop.refusals["GET", "operatorversions"] = (403, "forbidden")
    for flags in ([], ["-A"]):
        ran = kudo("get", "instances", "-o", "wide", *flags)
        assert ran.code == 0
        assert "<unknown>" in ran.out
        assert "missing" not in ran.out


def test_no_text_of_others_reaches_the_terminal_as_it_is(kudo: Cli, installed: FakeApi) -> None:
    installed.objects["operators", "teapot"]["spec"]["url"] = "a\x1b[2Jb\nc"
    assert "a\\x1b[2Jb c" in kudo("get", "operators", "-o", "table").out


# Names


def test_one_object_is_printed_by_its_name(kudo: Cli, shop: FakeApi) -> None:
    assert [row[0] for row in rows(kudo("get", "instances", "tea").out)[:-1]] == ["NAME", "tea"]
    assert json.loads(kudo("get", "instance", "tea", "-o", "json").out)["kind"] == "Instance"
    assert kudo("get", "kov", VERSION, "-o", "jsonpath={.spec.version}").out == "0.3.0"


def test_several_objects_are_printed_in_the_order_of_their_names(kudo: Cli, shop: FakeApi) -> None:
    ran = kudo("get", "instances", "tea", "milk", "tea", "-o", "name")
    assert ran.out == "instance.kudo.dev/tea\ninstance.kudo.dev/milk\n"
    assert isinstance(json.loads(kudo("get", "ki", "tea", "milk", "-o", "json").out), list)


def test_names_that_no_object_has_are_told_after_the_others(kudo: Cli, shop: FakeApi) -> None:
    ran = kudo("get", "instances", "tea", "none", "-o", "name")
    assert (ran.code, ran.out) == (3, "instance.kudo.dev/tea\n")
    assert ran.err == 'Error: instances.kudo.dev "none" not found\n'
    ran = kudo("get", "instances", "none", "nor", "-o", "json")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines() == [
        'Error: instances.kudo.dev "none" not found',
        '  instances.kudo.dev "nor" not found',
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("all tea", 'names need a kind: use "instances", "operators" or "operatorversions"'),
        ("ki tea -A", "a resource cannot be retrieved by name across all namespaces"),
        ("ki tea -l a=b", "name cannot be provided when a selector is specified"),
        ("ki tea -o tree", "a tree shows all objects: leave out names and --selector"),
        ("ki -l a=b -o tree", "a tree shows all objects: leave out names and --selector"),
        ("ki -o jsonpath", "jsonpath needs a template: -o jsonpath='{.metadata.name}'"),
        ("ki -o jsonpath={.a", "cannot parse jsonpath {.a: character 1: { without }"),
        (
            "ki -o custom-columns=",
            "custom-columns needs columns: -o custom-columns=NAME:.metadata.name",
        ),
        (
            "ki -o custom-columns=NAME",
            'unexpected custom-columns spec: "NAME", expected <header>:<json-path-expr>',
        ),
        (
            "ki -o custom-columns=NAME:.a[",
            (
                "cannot parse the path .a[ of column NAME: character 4: expected an index, a "
                "slice, *, ?(…) or a name in quotes instead of the end"
            ),
        ),
        (
            "ki -o json=x",
            (
                'invalid output format "json=x": use table, wide, tree, json, yaml, name, '
                "jsonpath=<template> or custom-columns=<spec>"
            ),
        ),
    ],
)
def test_what_cannot_be_is_told_without_a_cluster(run: Cli, line: str, text: str) -> None:
    ran = run("get", *line.split())
    assert (ran.code, ran.out, ran.err) == (2, "", f"Error: {text}\n")


def test_a_name_that_no_object_can_have_is_not_sent(kudo: Cli, api: FakeApi) -> None:
    ran = kudo("get", "instances", "../x")
    assert (ran.code, api.requests) == (255, [])
    assert 'the instance name "../x" is not valid' in ran.err


# Data


def test_jsonpath_finds_the_objects_of_a_list_under_items(kudo: Cli, shop: FakeApi) -> None:
    template = '{range .items[*]}{.metadata.name}{"\\t"}{.spec.operatorVersion.name}{"\\n"}{end}'
    ran = kudo("get", "instances", "-o", f"jsonpath={template}")
    assert ran.out == f"milk\tgone-1\ntea\t{VERSION}\n"
    ran = kudo("get", "instances", "-o", "jsonpath={.items[7]}")
    assert ran.err == (
        "Error: cannot evaluate jsonpath {.items[7]}: character 9: array index out of bounds: "
        "index 7, length 2\n"
    )


def test_custom_columns_are_those_of_kubectl(kudo: Cli, shop: FakeApi) -> None:
    shop.objects["instances", "tea"]["spec"]["parameters"] = {"A": "1", "B": "x,y"}
    spec = "NAME:.metadata.name,ALL:{.spec.parameters.*},IF:.spec['parameters.A','parameters.B']"
    assert kudo("get", "instances", "-o", f"custom-columns={spec}").out.splitlines() == [
        "NAME   ALL      IF",
        "milk   <none>   <none>",
        "tea    1,x,y    1,x,y",
    ]


def test_get_as_data_holds_the_objects_in_the_order_of_the_kinds(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.objects["instances", "tea"]["metadata"]["managedFields"] = [{}]
    ran = kudo("get", "all", "-o", "json")
    kinds = [obj["kind"] for obj in json.loads(ran.out)]
    assert kinds == ["Operator", "OperatorVersion", "Instance"]
    assert "managedFields" not in ran.out
    assert ran.err == ""


def test_data_of_versions_is_whole(kudo: Cli, shop: FakeApi) -> None:
    [_, version] = json.loads(kudo("get", "operatorversions", "-o", "json").out)
    assert version["spec"]["templates"] == {"pot.yaml": "x" * 1000}


# The tree of KUDO 0.19


def test_a_pipe_gets_the_tree_of_the_original(kudo: Cli, installed: FakeApi) -> None:
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": {}})
    ran = kudo("get", "instances")
    assert ran.out == (
        'List of current installed instances in namespace "kitchen":\n.\n├── milk\n└── tea\n\n'
    )


def test_a_terminal_gets_the_tree_where_it_is_asked_for(
    terminal: Callable[..., str], installed: FakeApi
) -> None:
    assert terminal("get", "instances", "-o", "tree") == (
        'List of current installed instances in namespace "kitchen":\n.\n└── tea\n\n'
    )


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


def test_the_tree_of_all_namespaces_has_them_at_its_top(kudo: Cli, shop: FakeApi) -> None:
    assert kudo("get", "ki", "-A", "-o", "tree").out == (
        "List of current installed instances in all namespaces:\n"
        ".\n"
        "├── default\n"
        "│\u00a0\u00a0 └── oat\n"
        "└── kitchen\n"
        "    ├── milk\n"
        "    └── tea\n"
        "\n"
    )


def test_get_of_an_empty_namespace(kudo: Cli, api: FakeApi) -> None:
    # BTO-7: JSON of no objects was `null`.
    assert kudo("get", "all").out == f'{TREE_OF_ALL} in namespace "kitchen":\n.\n\n'
    assert kudo("get", "all", "-o", "json").out == "[]\n"
    assert kudo("get", "operators", "-o", "yaml").out == "...\n"
    ran = kudo("get", "all", "-o", "wide")
    assert (ran.code, ran.out, ran.err) == (0, "", "No resources found in kitchen namespace.\n")
    assert kudo("get", "instances", "-A").err == "No resources found.\n"
