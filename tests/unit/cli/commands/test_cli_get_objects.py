"""`get objects` against an API server: what an Instance owns, by its record and as it is."""

import json
import re
from typing import Any

import pytest
import yaml

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import Cli, Ran
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.inventories import CREATED, RUN, entry, owned, record, shared

JsonObject = dict[str, Any]


def shown(kudo: Cli, *flags: str) -> Ran:
    return kudo("get", "objects", "--instance", "tea", *flags)


def tree(ran: Ran) -> list[str]:
    """Return the lines of the tree, with ages as `AGE` and plain blanks."""
    text = ran.out.replace("\N{NO-BREAK SPACE}", " ")
    return re.sub(r"(?<=, )\d+[smhdy]\w*", "AGE", text).splitlines()


@pytest.fixture
def shop(installed: FakeApi) -> FakeApi:
    """Return the server with an Instance that owns one object of each sort."""
    installed.unavailable.add("web")
    installed.add("configmaps", owned(installed, "leaves"))
    installed.add("configmaps", owned(installed, "old"))
    installed.add("secrets", {"metadata": {"name": "key", "creationTimestamp": CREATED}})
    installed.add("deployments", owned(installed, "web", spec={"replicas": 2}))
    installed.add("persistentvolumeclaims", owned(installed, "data"))
    installed.add("clusterroles", shared(installed, "reader", "bar/milk/u"))
    record(
        installed,
        entry("ConfigMap", "leaves"),
        entry("ConfigMap", "old", orphaned_by=RUN),
        entry("ConfigMap", "gone", task="rinse"),
        entry("Secret", "key", adopted=True),
        entry("Deployment", "web", plan="update"),
        entry("PersistentVolumeClaim", "data", orphaned_by=RUN),
        entry("ClusterRole", "reader", plan="", task=""),
    )
    return installed


def test_objects_are_below_their_plans_and_tasks(kudo: Cli, shop: FakeApi) -> None:
    ran = shown(kudo)
    assert ran.code == ExitCode.OK, ran.err
    assert tree(ran) == [
        "instance kitchen/tea: 7 objects, 2 of them orphans",
        "├── plan not known",
        "│   └── task not known",
        "│       └── ClusterRole/reader (healthy, AGE, shared with bar/milk)",
        "├── plan deploy",
        "│   ├── task pot",
        "│   │   ├── ConfigMap/leaves (healthy, AGE)",
        "│   │   ├── ConfigMap/old (healthy, AGE, orphan)",
        (
            "│   │   ├── PersistentVolumeClaim/data (healthy, AGE, orphan that stays: its kind "
            'holds data; kudo.dev/prune: "true" on it permits the deletion)'
        ),
        "│   │   └── Secret/key (healthy, AGE, adopted)",
        "│   └── task rinse",
        "│       └── ConfigMap/gone (missing)",
        "└── plan update",
        "    └── task pot",
        (
            '        └── Deployment/web (waiting, AGE): deployment "web" is not healthy: Waiting '
            "for rollout to finish: 0 of 2 updated replicas are available..."
        ),
    ]
    assert ran.err == (
        "What becomes of orphans: kubectl kudo prune --instance tea -n kitchen --dry-run=client\n"
    )


def test_data_tells_why_an_orphan_stays_and_who_shares(kudo: Cli, shop: FakeApi) -> None:
    ran = shown(kudo, "-o", "json")
    found = {obj["metadata"]["name"]: obj for obj in json.loads(ran.out)}
    assert found["data"].items() >= {"orphan": True, "orphanedBy": RUN}.items()
    assert found["data"]["staysBecause"].startswith("its kind holds data; ")
    assert found["reader"]["sharedWith"] == "bar/milk"
    assert found["gone"]["condition"] == "missing"
    assert [*yaml.safe_load_all(shown(kudo, "-o", "yaml").out)] == [*found.values()]


def test_no_secret_is_read_whole(kudo: Cli, shop: FakeApi) -> None:
    whole: list[str] = []
    server = shop.cluster.server
    handle = server.handle

    def record_requests(request: Any) -> Any:
        if "PartialObjectMetadata" not in request.accept:
            whole.append(request.path.rpartition("/")[2])
        return handle(request)

    server.handle = record_requests  # type: ignore[method-assign]
    assert shown(kudo).code == ExitCode.OK
    assert {"web", "data"} <= {*whole}
    assert not {"key", "leaves", "old"} & {*whole}


def test_what_may_not_be_read_says_so(kudo: Cli, shop: FakeApi) -> None:
    shop.refusals["GET", "secrets"] = (403, "secrets is forbidden: tea-drinkers")
    ran = shown(kudo)
    assert ran.code == ExitCode.OK
    assert any(
        line.endswith("Secret/key (unknown, adopted): secrets is forbidden: tea-drinkers")
        for line in tree(ran)
    )


def test_a_kind_that_is_not_served_is_not_taken_for_a_missing_object(
    kudo: Cli, installed: FakeApi
) -> None:
    record(installed, entry("Deployment", "web", version="v1beta1"))
    assert "Deployment/web (unknown): apps/v1beta1 deployments is not served" in shown(kudo).out


def test_a_server_that_is_busy_is_asked_again(
    kudo: Cli, shop: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubectl_kudo.reading.inventory.Backoff.next", lambda *_: 0.0)
    shop.refusals["GET", "configmaps"] = (429, "not so fast")
    ran = shown(kudo)
    assert ran.code == ExitCode.OK
    assert "ConfigMap/leaves (unknown): not so fast" in ran.out


def test_the_record_is_in_several_inventories(kudo: Cli, installed: FakeApi) -> None:
    record(installed, entry("ConfigMap", "a"))
    record(installed, entry("ConfigMap", "b"), number=1)
    assert "instance kitchen/tea: 2 objects\n" in shown(kudo).out


def test_inventories_of_others_and_entries_that_cannot_be_are_left_out(
    kudo: Cli, installed: FakeApi
) -> None:
    own = record(installed, entry("ConfigMap", "a"))
    bad = {**own["objects"][0], "name": "../../secrets/x"}
    stored = installed.objects["inventories", own["metadata"]["name"]]
    stored["objects"] = [*own["objects"], bad, {**own["objects"][0], "namespace": "default"}]
    former = {**own["metadata"], "name": "tea.former.0"}
    former["ownerReferences"] = [{**own["metadata"]["ownerReferences"][0], "uid": "former"}]
    installed.add("inventories", {**own, "metadata": former})
    ran = shown(kudo)
    assert ran.out.startswith("instance kitchen/tea: 1 object\n")
    assert ran.err == (
        "2 entries of its Inventories were left out: no plan can have made such an object.\n"
    )


def test_a_record_that_is_not_complete_is_told(kudo: Cli, installed: FakeApi) -> None:
    record(installed, complete=False)
    ran = shown(kudo)
    assert (ran.code, ran.out) == (ExitCode.OK, "instance kitchen/tea: 0 objects\n")
    assert ran.err == (
        "The record is not complete: objects of earlier runs may be missing. `kubectl kudo adopt "
        "--instance tea -n kitchen` looks for them.\n"
    )


STEP = {"kudo.dev/plan": "deploy", "kudo.dev/phase": "main", "kudo.dev/step": "app"}


def labelled(api: FakeApi, name: str, **more: Any) -> JsonObject:
    obj = owned(api, name)
    obj["metadata"] |= {"labels": {"heritage": "kudo", "kudo.dev/instance": "tea"}, **more}
    return obj


def test_without_a_record_labels_and_owners_tell(kudo: Cli, installed: FakeApi) -> None:
    installed.add("configmaps", labelled(installed, "leaves", annotations=STEP))
    installed.add("configmaps", labelled(installed, "made-by-a-controller"))
    ran = shown(kudo)
    assert ran.code == ExitCode.OK
    assert tree(ran) == [
        "instance kitchen/tea: 1 object",
        "└── plan deploy",
        "    └── task not known",
        "        └── ConfigMap/leaves (healthy, AGE)",
    ]
    assert ran.err == (
        "Instance kitchen/tea: shown is what labels and owners tell, because it has no Inventory "
        "yet. It gets one at its next run, or by `kubectl kudo adopt --instance tea -n kitchen`, "
        "which only reads and records.\n"
    )


def test_who_may_not_read_the_record_is_told_why(kudo: Cli, installed: FakeApi) -> None:
    installed.refusals["GET", "inventories"] = (403, "inventories is forbidden")
    installed.refusals["LIST", "secrets"] = (403, "no")
    ran = shown(kudo)
    assert (ran.code, ran.out) == (ExitCode.OK, "instance kitchen/tea: 0 objects\n")
    assert "because its record cannot be read (inventories is forbidden)." in ran.err
    assert "You may not list these kinds: secrets.\n" in ran.err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("objects",), "name the instance whose objects to show with --instance=<name>"),
        (("objects", "--instance", "tea", "x"), "name the instance whose objects to show with"),
        (("objects", "--instance", "tea", "-A"), "leave out -A and --selector"),
        (("objects", "--instance", "tea", "-o", "x"), 'invalid output format "x"'),
        (("instances", "--instance", "tea"), "--instance goes with objects"),
    ],
)
def test_what_the_command_line_must_have(run: Cli, argv: tuple[str, ...], text: str) -> None:
    ran = run("get", *argv)
    assert ran.code == ExitCode.USAGE
    assert text in ran.err
