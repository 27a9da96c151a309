"""What `uninstall` tells of objects that stay, by the record of the Instance."""

from typing import Any

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.inventories import entry, owned, record, shared

UNINSTALL = ("uninstall", "--instance", "tea")
DELETED = "instance.kudo.dev/v1beta1/tea deleted\n\n"
DELETE = {"kudo.dev/delete-with-instance": "true"}


@pytest.fixture
def paths(installed: FakeApi) -> list[str]:
    """Return the paths of all requests that are sent from now on."""
    found: list[str] = []
    server = installed.cluster.server
    handle = server.handle

    def noted(request: Any) -> Any:
        found.append(request.path)
        return handle(request)

    server.handle = noted  # type: ignore[method-assign]
    return found


def test_where_nothing_stays_nothing_is_told(kudo: Cli, installed: FakeApi) -> None:
    installed.add("configmaps", owned(installed, "leaves"))
    installed.add("clusterroles", shared(installed, "mine", **DELETE))
    record(installed, entry("ConfigMap", "leaves"), entry("ClusterRole", "mine"))
    ran = kudo(*UNINSTALL)
    assert (ran.code, ran.out, ran.err) == (0, DELETED, "")


def test_what_stays_is_told_with_the_reason(
    kudo: Cli, installed: FakeApi, paths: list[str]
) -> None:
    installed.add("clusterroles", shared(installed, "ours", "bar/milk/u", **DELETE))
    installed.add("clusterroles", shared(installed, "kept"))
    many = [f"bar/milk{number}/u" for number in range(32)]
    installed.add("clusterroles", shared(installed, "many", *many))
    installed.add("clusterroles", {"metadata": {"name": "theirs"}})
    retain = {"kudo.dev/deletion-policy": "retain"}
    installed.add("persistentvolumeclaims", {"metadata": {"name": "data", "annotations": retain}})
    installed.add("secrets", {"metadata": {"name": "key"}})
    names = ("ours", "kept", "many", "theirs", "gone")
    record(
        installed,
        *(entry("ClusterRole", name) for name in names),
        entry("PersistentVolumeClaim", "data", retained=True),
        entry("Secret", "key", adopted=True),
    )
    ran = kudo(*UNINSTALL)
    assert (ran.code, ran.out) == (0, DELETED)
    assert ran.err == (
        "Warning: these cluster-scoped objects stay in the cluster: ClusterRole kept (without "
        'kudo.dev/delete-with-instance: "true"), ClusterRole many (shared with 32 '
        "Instances or more), ClusterRole ours (shared with bar/milk)\n"
        "Warning: these objects stay in namespace kitchen: PersistentVolumeClaim data (retained), "
        "Secret key (it existed before)\n"
    )
    # By name: no discovery, and no list but those of KUDO's own kinds.
    read = [path.rpartition("/")[2] for path in paths if "kudo.dev" not in path]
    assert sorted(read) == sorted([*names, "data", "key"])


def test_what_may_not_be_read_is_told(kudo: Cli, installed: FakeApi) -> None:
    installed.refusals["GET", "clusterroles"] = (403, "clusterroles is forbidden")
    record(installed, entry("ClusterRole", "reader"))
    ran = kudo(*UNINSTALL)
    assert (ran.code, ran.out) == (0, DELETED)
    assert ran.err == (
        "Warning: you may not read these objects, so whether they stay is not known: ClusterRole "
        "reader\n"
    )


@pytest.mark.parametrize("reason", ["not complete", "none", "forbidden"])
def test_without_a_complete_record_kinds_are_listed(
    kudo: Cli, installed: FakeApi, reason: str
) -> None:
    installed.add("clusterroles", shared(installed, "kept"))
    if reason == "not complete":
        record(installed, complete=False)
    if reason == "forbidden":
        installed.refusals["GET", "inventories"] = (403, "inventories is forbidden")
    ran = kudo(*UNINSTALL)
    assert (ran.code, ran.out, ran.err) == (
        0,
        DELETED,
        "Warning: these cluster-scoped objects stay in the cluster: ClusterRole kept\n",
    )


def test_what_is_retained_is_told_by_a_record_that_is_not_complete(
    kudo: Cli, installed: FakeApi
) -> None:
    retain = {"kudo.dev/deletion-policy": "retain"}
    installed.add("persistentvolumeclaims", {"metadata": {"name": "data", "annotations": retain}})
    record(installed, entry("PersistentVolumeClaim", "data", retained=True), complete=False)
    ran = kudo(*UNINSTALL)
    assert ran.err == (
        "Warning: these objects stay in namespace kitchen: PersistentVolumeClaim data (retained)\n"
    )


def test_what_many_share_is_told_by_an_incomplete_record(kudo: Cli, installed: FakeApi) -> None:
    many = {"kudo.dev/shared-by": "more than 16 Instances, the last one bar milk u", **DELETE}
    for name in ("ours", "theirs"):
        metadata = {"name": name, "labels": {"heritage": "kudo"}, "annotations": many}
        installed.add("clusterroles", {"metadata": metadata})
    record(installed, entry("ClusterRole", "ours"), complete=False)
    ran = kudo(*UNINSTALL)
    assert ran.code == 0
    assert (
        ran.err == "Warning: these cluster-scoped objects stay in the cluster: ClusterRole ours\n"
    )
