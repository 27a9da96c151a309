"""Instances that another one owns: how `plan status` shows and `uninstall` names them."""

import json
from typing import Any

import pytest

from kubectl_kudo.reading.owned import Names, family
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]


def plan(*steps: str) -> JsonObject:
    """Return a plan of one phase, each step named and with the task of that name."""
    return {
        "phases": [{"name": "main", "steps": [{"name": step, "tasks": [step]} for step in steps]}]
    }


def child_task(name: str, package: str, **spec: str) -> JsonObject:
    return {"name": name, "kind": "KudoOperator", "spec": {"package": package, **spec}}


@pytest.fixture
def shop(api: FakeApi) -> FakeApi:
    """Return a server with `shop`, which made `shop-db` and `cache`; `shop-db` made `disk`."""
    tasks = [
        {"name": "app", "kind": "Apply", "spec": {}},
        child_task("db", "db"),
        child_task("cache", "redis", instanceName="cache"),
    ]
    version(api, "shop", tasks=tasks, plans={"deploy": plan("db", "app"), "warm": plan("cache")})
    disk = [child_task("app", "disk", instanceName="disk")]
    version(api, "db", tasks=disk, plans={"deploy": plan("app"), "backup": plan("app")})
    for name in ("redis", "disk"):
        version(api, name, tasks=[], plans={"deploy": plan("app")})
    uid = instance(api, "shop", "shop")
    db = instance(api, "shop-db", "db", owner=uid)
    instance(api, "cache", "redis", owner=uid)
    instance(api, "disk", "disk", owner=db)
    instance(api, "stranger", "redis")
    return api


def version(api: FakeApi, name: str, **spec: Any) -> None:
    api.add("operatorversions", {"metadata": {"name": f"{name}-1"}, "spec": spec})


def instance(api: FakeApi, name: str, operator: str, owner: str = "") -> str:
    owners = [{"kind": "Instance", "uid": owner}] if owner else []
    metadata = {"name": name, "ownerReferences": owners}
    spec = {"operatorVersion": {"name": f"{operator}-1"}}
    return str(api.add("instances", {"metadata": metadata, "spec": spec})["metadata"]["uid"])


def ran(api: FakeApi, name: str, state: str = "COMPLETE") -> None:
    status(state)(api.objects["instances", name])


# plan status


def test_children_stand_below_the_step_of_their_task(kudo: Cli, shop: FakeApi) -> None:
    shop.objects["instances", "shop"]["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    ran(shop, "shop-db", "IN_PROGRESS")
    assert kudo("plan", "status", "--instance", "shop").out == (
        'Plan(s) for "shop" in namespace "kitchen":\n'
        ".\n"
        '└── shop (Operator-Version: "shop-1" Active-Plan: "deploy")\n'
        "    ├── Plan deploy (serial strategy) [PENDING]\n"
        "    │\u00a0\u00a0 └── Phase main (serial strategy) [PENDING]\n"
        "    │\u00a0\u00a0     ├── Step db [PENDING]\n"
        "    │\u00a0\u00a0     │\u00a0\u00a0 └── shop-db "
        '(Operator-Version: "db-1" Active-Plan: "deploy")\n'
        "    │\u00a0\u00a0     │\u00a0\u00a0     └── Plan deploy (serial strategy) [IN_PROGRESS]\n"
        "    │\u00a0\u00a0     │\u00a0\u00a0         └── Phase main (serial strategy) "
        "[IN_PROGRESS]\n"
        "    │\u00a0\u00a0     │\u00a0\u00a0             └── Step app [IN_PROGRESS]\n"
        "    │\u00a0\u00a0     │\u00a0\u00a0                 └── disk "
        '(Operator-Version: "disk-1" Active-Plan: "")\n'
        "    │\u00a0\u00a0     └── Step app [PENDING]\n"
        "    ├── Never run: warm\n"
        '    └── cache (Operator-Version: "redis-1" Active-Plan: "")\n'
        "\n"
    )


def test_a_child_whose_version_is_gone_is_still_shown(kudo: Cli, shop: FakeApi) -> None:
    ran(shop, "shop")
    ran(shop, "cache")
    shop.remove("operatorversions", "redis-1")
    out = kudo("plan", "status", "--instance", "shop").out
    assert '    └── cache (Operator-Version: "redis-1" Active-Plan: "deploy")\n' in out
    assert "        └── Plan deploy (serial strategy) [COMPLETE]\n" in out


def test_as_data_children_are_beside_the_status(kudo: Cli, shop: FakeApi) -> None:
    ran(shop, "shop")
    ran(shop, "disk", "FATAL_ERROR")
    shown = json.loads(kudo("plan", "status", "--instance", "shop", "-o", "json").out)
    cache, db = shown.pop("children")
    assert shown == shop.objects["instances", "shop"]["status"]
    assert cache == {"name": "cache", "operatorVersion": "redis-1", "status": {}, "children": []}
    assert db["name"] == "shop-db"
    (disk,) = db["children"]
    assert disk["status"] == shop.objects["instances", "disk"]["status"]


def test_who_may_not_list_instances_sees_no_children(kudo: Cli, shop: FakeApi) -> None:
    ran(shop, "shop")
    shop.refusals["LIST", "instances"] = (403, "instances.kudo.dev is forbidden")
    done = kudo("plan", "status", "--instance", "shop")
    assert (done.code, "shop-db" in done.out) == (0, False)


# uninstall


@pytest.mark.parametrize("argv", [[], ["--dry-run=client"], ["--dry-run=server"]])
def test_uninstall_names_what_goes_with_it(kudo: Cli, shop: FakeApi, argv: list[str]) -> None:
    done = kudo("uninstall", "--instance", "shop", *argv)
    assert done.code == 0
    assert done.out.startswith("instance.kudo.dev/v1beta1/shop deleted")
    assert done.err == "these instances are deleted with it: cache, shop-db, disk\n"
    assert ("instances", "shop") not in shop.objects or argv


def test_uninstall_waits_until_the_children_are_gone(kudo: Cli, shop: FakeApi) -> None:
    done = kudo("uninstall", "--instance", "shop", "--wait")
    assert done.code == 0
    assert done.out.splitlines() == [
        "instance.kudo.dev/v1beta1/shop deleted",
        "",
        *(f"instance.kudo.dev/v1beta1/{name} deleted" for name in ("cache", "shop-db", "disk")),
    ]
    assert shop.names("instances") == ["stranger"]


# The family


def metadata(uid: str, *owners: str) -> JsonObject:
    return {"name": uid, "uid": uid, "ownerReferences": [{"uid": owner} for owner in owners]}


def test_a_family_is_sorted_and_leaves_strangers_out() -> None:
    instances = [metadata("c", "a"), metadata("b", "a", "x"), metadata("d"), metadata("e", "b")]
    assert family("a", instances) == (Names("b", (Names("e", (), "e"),), "b"), Names("c", (), "c"))


def test_a_circle_of_owners_has_an_end() -> None:
    instances = [metadata("a", "b"), metadata("b", "a")]
    assert family("a", instances) == (Names("b", (), "b"),)
