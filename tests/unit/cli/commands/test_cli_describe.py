"""`describe` against an API server: what it shows of an Instance, and what it hides."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
STEP = {
    "kudo.dev/plan": "deploy",
    "kudo.dev/phase": "main",
    "kudo.dev/step": "app",
}


def labelled(name: str = "tea") -> JsonObject:
    return {"heritage": "kudo", "kudo.dev/instance": name, "kudo.dev/operator": "teapot"}


def add(api: FakeApi, plural: str, name: str, owner: JsonObject | None = None, **more: Any) -> Any:
    """Store an object with the labels of the Instance, of an owner."""
    owners = [] if owner is None else [_reference(owner)]
    metadata = {"name": name, "labels": labelled(), "ownerReferences": owners, **more}
    return api.add(plural, {"metadata": metadata})


def _reference(owner: JsonObject) -> JsonObject:
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


@pytest.fixture
def shop(installed: FakeApi) -> FakeApi:
    """Return the server with an Instance that has everything there is."""
    spec = installed.objects["operatorversions", VERSION]["spec"]
    spec |= {
        "version": "0.3.0",
        "appVersion": "2.1.0",
        "parameters": [
            {"name": "CUPS", "default": "1", "trigger": "deploy"},
            {"name": "SIZE", "default": "small\nor not", "required": False},
            {"name": "TEA"},
            {"name": "DB_PASSWORD", "default": "x"},
        ],
    }
    spec["plans"]["rinse"] = {"phases": []}
    tea = installed.objects["instances", "tea"]
    tea["spec"]["parameters"] = {"CUPS": "2", "DB_PASSWORD": "hush", "OLD": ""}
    status("COMPLETE")(tea)
    tea["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "reason": "ResourceNotReady", "message": "no\x1bpod"}
    ]
    deployment = add(installed, "deployments", "pot", tea, annotations=STEP)
    replicas = add(installed, "replicasets", "pot-1", deployment)
    add(installed, "pods", "pot-1-a", replicas)
    add(installed, "configmaps", "leaves", tea, annotations=STEP)
    child = {"name": "tea-milk", "ownerReferences": [_reference(tea)], "labels": labelled("tea")}
    milk: JsonObject = {"operatorVersion": {"name": "milk-1"}}
    installed.add("instances", {"metadata": child, "spec": milk})
    return installed


def event(api: FakeApi, name: str, about: JsonObject, **fields: Any) -> None:
    metadata = about["metadata"]
    involved = {"kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    api.add("events", {"metadata": {"name": name}, "involvedObject": involved, **fields})


def section(text: str, title: str) -> list[str]:
    """Return the lines of a section, without their indentation."""
    _, _, rest = text.partition(f"\n{title}:\n")
    return [line[2:].rstrip() for line in rest.split("\n\n")[0].splitlines()]


def test_parameters_are_told_with_their_source(kudo: Cli, shop: FakeApi) -> None:
    assert section(kudo("describe", "instance", "tea").out, "Parameters") == [
        "NAME          VALUE          SOURCE",
        "CUPS          2              set",
        "DB_PASSWORD   <hidden>       set",
        'OLD           ""             undeclared',
        "SIZE          small or not   default",
        "TEA           <none>         none",
    ]


def test_children_and_objects_are_trees(kudo: Cli, shop: FakeApi) -> None:
    out = kudo("describe", "instance", "tea").out
    assert section(out, "Children") == ["tea-milk (milk-1, no plan ran, ready: <none>)"]
    lines = [line.partition(" (")[0] for line in section(out, "Objects")]
    assert lines == [
        "ConfigMap/leaves",
        "Deployment/pot",
        "└── ReplicaSet/pot-1",
        "    └── Pod/pot-1-a",
    ]
    assert section(out, "Objects")[1].startswith("Deployment/pot (deploy.main.app, ")


def test_a_part_of_many_objects_of_one_owner_is_shown(kudo: Cli, shop: FakeApi) -> None:
    replicas = shop.objects["replicasets", "pot-1"]
    for number in range(21):
        add(shop, "pods", f"pod-{number:02}", replicas)
    lines = section(kudo("describe", "instance", "tea").out, "Objects")
    assert lines[-1] == "    └── … 2 more; -o json has all"
    objects = json.loads(kudo("describe", "instance", "tea", "-o", "json").out)["objects"]
    assert sum(obj["kind"] == "Pod" for obj in objects) == 22


def test_objects_of_others_are_left_out(kudo: Cli, shop: FakeApi) -> None:
    former = {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "tea", "uid": "former"}
    add(shop, "secrets", "former", ownerReferences=[former])
    shop.add("secrets", {"metadata": {"name": "milks", "labels": labelled("milk")}})
    add(shop, "secrets", "without-owner")
    uid = shop.objects["instances", "tea"]["metadata"]["uid"]
    for name, sharer in (("ours", f"kitchen/tea/{uid}"), ("theirs", "kitchen/tea/former")):
        annotations = {"kudo.dev/shared-by": sharer}
        metadata = {"name": name, "labels": labelled(), "annotations": annotations}
        shop.add("clusterroles", {"metadata": metadata})
    lines = section(kudo("describe", "instance", "tea").out, "Objects")
    found = [line.partition(" (")[0] for line in lines]
    assert "Secret/without-owner" in found
    assert found[-1] == "ClusterRole/ours"
    assert not {"Secret/former", "Secret/milks", "ClusterRole/theirs"} & set(found)


def test_recent_events_are_the_instances_and_warnings_of_its_objects(
    kudo: Cli, shop: FakeApi
) -> None:
    tea, pod = shop.objects["instances", "tea"], shop.objects["pods", "pot-1-a"]
    late, early = ({"lastTimestamp": f"2030-01-01T00:00:0{second}Z"} for second in (2, 1))
    started = {"type": "Normal", "reason": "PlanStarted", "message": "m"}
    event(shop, "a", tea, **started, **late)
    warning = {"type": "Warning", "reason": "BackOff", "message": "image\nis gone"}
    event(shop, "b", pod, **warning, **early, count=7)
    event(shop, "c", pod, type="Normal", reason="Pulling", message="m")
    other = shop.objects["instances", "tea-milk"]
    event(shop, "d", other, type="Warning", reason="Other", message="m")
    lines = section(kudo("describe", "instance", "tea").out, "Events")
    assert [line.split()[-5:] for line in lines[1:]] == [
        ["BackOff", "Pod/pot-1-a", "image", "is", "gone"],
        ["0s", "Normal", "PlanStarted", "Instance/tea", "m"],
    ]
    assert "(x7)" in lines[1]


def test_an_instance_that_is_being_deleted_says_so(kudo: Cli, shop: FakeApi) -> None:
    shop.objects["instances", "tea"]["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    assert "no\\x1bpod), being deleted\n" in kudo("describe", "instance", "tea").out


def test_of_many_kinds_that_cannot_be_listed_the_first_are_named(kudo: Cli, shop: FakeApi) -> None:
    cluster = ("namespaces", "clusterroles", "clusterrolebindings")
    for plural in (*cluster, "secrets", "pods", "configmaps"):
        shop.refusals["GET", plural] = (403, "forbidden")
    assert kudo("describe", "instance", "tea").out.endswith(
        "could not be listed: configmaps, pods, secrets, "
        "clusterrolebindings.rbac.authorization.k8s.io, clusterroles.rbac.authorization.k8s.io "
        "and 1 more; -o json has all\n"
    )


def test_orphans_are_a_line_only_where_there_are_some(kudo: Cli, shop: FakeApi) -> None:
    assert "Orphans:" not in kudo("describe", "instance", "tea").out
    assert "orphans" not in json.loads(kudo("describe", "instance", "tea", "-o", "json").out)
    orphans = [{"kind": "ConfigMap", "name": f"old-{number}"} for number in range(6)]
    shop.objects["instances", "tea"]["status"] |= {"orphans": orphans, "orphansLeftOut": 2}
    names = ", ".join(f"ConfigMap/old-{number}" for number in range(5))
    line = f"Orphans:            {names} and 3 more (kubectl kudo prune --instance tea -n kitchen)"
    assert line in kudo("describe", "instance", "tea").out.splitlines()
    data = json.loads(kudo("describe", "instance", "tea", "-o", "json").out)
    assert (data["orphans"], data["orphansLeftOut"]) == (orphans, 2)


def test_a_failed_plan_shows_its_message_and_advice_in_full(kudo: Cli, shop: FakeApi) -> None:
    advice = f"{'x' * 400}; give ServiceAccount bob permission to patch deployments.apps"
    words = "Error during execution: fatal error: kitchen/tea failed in deploy.main.app.pot: "
    tea = shop.objects["instances", "tea"]
    status("FATAL_ERROR", message=words + advice)(tea)
    tea["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "reason": "PlanInFatalError", "message": advice}
    ]

    shown = kudo("describe", "instance", "tea").out

    ready, plans = shown.partition("Plans:")[::2]
    assert f"(PlanInFatalError: {advice})" in ready
    assert advice in plans.partition("Children")[0]
    assert "fatal error" not in shown
