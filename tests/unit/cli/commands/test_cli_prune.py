"""`prune` against an API server: what it lists, asks for and tells."""

from typing import Any

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import Edit, FakeApi
from tests.unit.cli.inventories import RUN, decided, entry, owned, record, shared

JsonObject = dict[str, Any]
REQUESTED = "kudo.dev/prune-requested-at"
PRUNE = ("prune", "--instance", "tea")
LISTED = """\
orphans of instance kitchen/tea to delete:
  Deployment kitchen/web (deploy/pot)
  ConfigMap kitchen/old (deploy/pot)
orphans of instance kitchen/tea that stay:
  ClusterRole reader (deploy/pot): Instance bar/milk shares it
  PersistentVolumeClaim kitchen/data (deploy/pot): its kind holds data; kudo.dev/prune: "true" on \
it permits the deletion
"""


@pytest.fixture
def shop(installed: FakeApi) -> FakeApi:
    """Return the server with two orphans to delete, two that stay, and one that is gone."""
    for plural, name in (("configmaps", "old"), ("configmaps", "used"), ("deployments", "web")):
        installed.add(plural, owned(installed, name, spec={}))
    installed.add("persistentvolumeclaims", owned(installed, "data"))
    lives(installed, "milk")
    installed.add("clusterroles", shared(installed, "reader", "bar/milk/u"))
    orphans = (
        ("ClusterRole", "reader"),
        ("ConfigMap", "old"),
        ("ConfigMap", "gone"),
        ("PersistentVolumeClaim", "data"),
        ("Deployment", "web"),
    )
    record(
        installed,
        entry("ConfigMap", "used"),
        *(entry(*one, orphaned_by=RUN) for one in orphans),
    )
    decided(installed)
    return installed


def lives(api: FakeApi, name: str) -> None:
    """Create an Instance of namespace `bar` with uid `u`."""
    spec = {"operatorVersion": {"name": "tea-1.0.0"}}
    metadata = {"name": name, "namespace": "bar", "uid": "u"}
    api.add("instances", {"metadata": metadata, "spec": spec})


def requested(api: FakeApi) -> bool:
    return REQUESTED in (api.objects["instances", "tea"]["metadata"].get("annotations") or {})


def pruned(api: FakeApi, *gone: tuple[str, str]) -> Edit:
    """Return what the reconciler does: it deletes objects, and removes the annotation."""

    def change(instance: JsonObject) -> JsonObject:
        for plural, name in gone:
            place, obj = api.objects.place((plural, name))  # type: ignore[attr-defined]
            api.cluster.server.storage.remove(place, obj)
        del instance["metadata"]["annotations"][REQUESTED]
        return instance

    return change


def test_a_dry_run_lists_what_goes_and_what_stays(kudo: Cli, shop: FakeApi) -> None:
    ran = kudo(*PRUNE, "--dry-run=client")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out == f"{LISTED}Requested prune of kitchen/tea instance (dry run)\n"
    assert (shop.writes(), requested(shop)) == ([], False)


@pytest.mark.parametrize("how", [("--yes",), ("--dry-run=client",)])
@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({"status": "FATAL_ERROR"}, "the last run is not COMPLETE", id="failed"),
        pytest.param({"configuration": "other"}, "have changed since the last run", id="changed"),
    ],
)
def test_what_a_run_has_not_decided_is_not_deleted(
    kudo: Cli, shop: FakeApi, change: dict[str, str], why: str, how: tuple[str, ...]
) -> None:
    shop.objects["instances", "tea"]["status"]["lastRun"] |= change
    ran = kudo(*PRUNE, *how)
    assert (ran.code, ran.out) == (ExitCode.ERROR, LISTED)
    assert ran.err.startswith("Error: nothing is deleted: ")
    assert why in ran.err
    assert not requested(shop)


def test_while_a_plan_runs_the_end_of_it_decides(kudo: Cli, shop: FakeApi) -> None:
    shop.objects["instances", "tea"]["status"]["lastRun"]["status"] = "IN_PROGRESS"
    running(shop)
    ran = kudo(*PRUNE, "--yes")
    assert ran.code == ExitCode.OK, ran.err
    assert "It is done later: plan deploy has to end first" in ran.err
    assert requested(shop)


def test_what_was_deleted_is_told(kudo: Cli, shop: FakeApi) -> None:
    shop.script = [pruned(shop, ("configmaps", "old"))]
    ran = kudo(*PRUNE, "--yes", "--wait")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out == (
        f"{LISTED}Requested prune of kitchen/tea instance\n"
        "Deployment kitchen/web stays: see the events of the instance\n"
        "ConfigMap kitchen/old deleted\n"
    )


def test_an_object_that_was_created_again_is_told(kudo: Cli, shop: FakeApi) -> None:
    def created_again(instance: JsonObject) -> JsonObject:
        shop.objects["configmaps", "old"]["metadata"]["uid"] = "another"
        del instance["metadata"]["annotations"][REQUESTED]
        return instance

    shop.script = [created_again]
    ran = kudo(*PRUNE, "--yes", "--wait")
    assert ran.code == ExitCode.OK, ran.err
    again = "ConfigMap kitchen/old deleted; an object of this name was created since\n"
    assert ran.out.endswith(again)


def test_no_record(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo(*PRUNE)
    assert (ran.code, ran.out, ran.err) == (
        ExitCode.OK,
        "instance kitchen/tea has no record of what it owns, so no orphans are known\n",
        "Record it: kubectl kudo adopt --instance tea -n kitchen\n",
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"retained": True}, "kudo.dev/deletion-policy says retain"),
        ({"adopted": True}, "it existed before the Instance applied it, and holds data"),
    ],
)
def test_orphans_that_stay_are_told_and_nothing_is_asked_for(
    kudo: Cli, installed: FakeApi, fields: JsonObject, why: str
) -> None:
    installed.add("secrets", owned(installed, "key"))
    record(installed, entry("Secret", "key", orphaned_by=RUN, **fields))
    ran = kudo(*PRUNE)
    assert (ran.code, ran.out) == (
        ExitCode.OK,
        (
            "orphans of instance kitchen/tea that stay:\n"
            f"  Secret kitchen/key (deploy/pot): {why}\nthere is nothing to delete\n"
        ),
    )
    assert installed.writes() == []


def test_an_object_of_somebody_else_stays(kudo: Cli, installed: FakeApi) -> None:
    installed.add("configmaps", {"metadata": {"name": "theirs"}})
    record(installed, entry("ConfigMap", "theirs", orphaned_by=RUN))
    assert "it does not belong to the Instance any more\n" in kudo(*PRUNE).out


def test_what_was_shared_with_an_instance_that_is_gone_is_deleted(
    kudo: Cli, installed: FakeApi
) -> None:
    lives(installed, "again")
    gone = ("gone/gone/u", "bar/again/of-a-former-one")
    installed.add("clusterroles", shared(installed, "reader", *gone))
    record(installed, entry("ClusterRole", "reader", orphaned_by=RUN))
    decided(installed)
    ran = kudo(*PRUNE, "--yes")
    assert "to delete:\n  ClusterRole reader (deploy/pot)\nRequested" in ran.out, ran.err
    assert requested(installed)


MANY = ",".join(["bar/milk/u", *(f"gone/gone{number}/u" for number in range(31))])
UNLESS = "to delete:\n  ClusterRole reader (deploy/pot), unless KUDO has to keep it: "


def many(api: FakeApi) -> None:
    """Store an orphan whose annotation may not list all that share it."""
    metadata = {"name": "reader", "annotations": {"kudo.dev/shared-by": MANY}}
    api.add("clusterroles", {"metadata": metadata})
    record(api, entry("ClusterRole", "reader", orphaned_by=RUN))


def test_what_many_shared_is_left_to_kudo(kudo: Cli, installed: FakeApi) -> None:
    many(installed)
    decided(installed)
    ran = kudo(*PRUNE, "--yes")
    assert f"{UNLESS}32 Instances or more shared it\n" in ran.out
    assert requested(installed)


def test_what_many_share_stays_if_one_that_is_listed_exists(kudo: Cli, installed: FakeApi) -> None:
    lives(installed, "milk")
    many(installed)
    ran = kudo(*PRUNE, "--yes")
    assert "ClusterRole reader (deploy/pot): Instance bar/milk shares it\n" in ran.out
    assert not requested(installed)


def test_a_sharer_that_may_not_be_read_is_left_to_kudo(kudo: Cli, shop: FakeApi) -> None:
    shop.refusals["GET", "instances/milk"] = (403, "instances is forbidden")
    ran = kudo(*PRUNE, "--dry-run=client")
    assert (
        "ClusterRole reader (deploy/pot), unless KUDO has to keep it: "
        "you may not read whether Instance bar/milk exists\n"
    ) in ran.out


def test_what_may_not_be_read_is_left_to_kudo(kudo: Cli, shop: FakeApi) -> None:
    shop.refusals["GET", "configmaps"] = (403, "configmaps is forbidden")
    ran = kudo(*PRUNE, "--dry-run=client")
    assert (
        "ConfigMap kitchen/old (deploy/pot), unless KUDO has to keep it: configmaps is" in ran.out
    )


def test_an_orphan_that_nobody_agreed_to_is_not_deleted(kudo: Cli, shop: FakeApi) -> None:
    lists = 0
    server = shop.cluster.server
    handle = server.handle

    def created_again(request: Any) -> Any:
        """Give an orphan another uid before the second look at it."""
        nonlocal lists
        lists += request.path.endswith("/inventories")
        if lists == 2:
            shop.objects["configmaps", "old"]["metadata"]["uid"] = "another"
        return handle(request)

    server.handle = created_again  # type: ignore[method-assign]
    ran = kudo(*PRUNE, "--yes")
    assert ran.code == ExitCode.ERROR
    assert "nothing was deleted: the orphans changed meanwhile; run the command again" in ran.err
    assert not requested(shop)
