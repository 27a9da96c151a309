"""`diagnostics collect`: which files there are, what is in them; no failure ends the rest."""

import base64
import gzip
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import VERSION, Cli, Ran
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
UIDS = {"kudo.dev/operator": "teapot", "kudo.dev/instance": "tea", "heritage": "kudo"}


def owned(name: str, owner: JsonObject, **more: Any) -> JsonObject:
    metadata = owner["metadata"]
    reference = {"kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {"metadata": {"name": name, "ownerReferences": [reference]}, **more}


def pod_of(owner: JsonObject, name: str = "tea-0", **status: Any) -> JsonObject:
    spec = {
        "initContainers": [{"name": "prepare"}],
        "containers": [
            {"name": "brew", "env": [{"name": "PLAIN", "value": "milk-and-sugar"}]},
            {"name": "idle"},
        ],
    }
    states = {
        "initContainerStatuses": [
            {"name": "prepare", "state": {"terminated": {"exitCode": 0}}, "ready": True}
        ],
        "containerStatuses": [
            {
                "name": "brew",
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
                "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}},
                "restartCount": 7,
            },
            {"name": "idle", "state": {"waiting": {"reason": "ContainerCreating"}}},
        ],
    }
    return owned(name, owner, spec=spec, status={**states, **status})


@pytest.fixture
def busy(installed: FakeApi) -> FakeApi:
    """Return the server with objects of the Instance `tea`, and of another one."""
    api = installed
    tea = api.objects["instances", "tea"]
    tea["metadata"]["labels"] = {"kudo.dev/operator": "teapot"}
    tea["spec"]["parameters"] = {"CUPS": "2", "PASSWORD": "milk-and-sugar"}
    workload = api.add("statefulsets", owned("tea", tea, spec={"replicas": 0}))
    api.add("pods", pod_of(workload))
    api.add("secrets", owned("s", tea, data={"pin": base64.b64encode(b"4711-4711").decode()}))
    labelled = {"name": "labelled", "labels": UIDS}
    api.add("configmaps", {"metadata": labelled, "data": {"pin": "4711-4711", "size": "big"}})
    other = api.add(
        "instances",
        {"metadata": {"name": "other", "labels": UIDS}, "spec": {"operatorVersion": {"name": "x"}}},
    )
    api.add("configmaps", owned("of-other", other, data={"a": "b"}))
    api.texts = {
        "pods/tea-0/log?prepare": b"prepared 4711-4711\n",
        "pods/tea-0/log?brew?previous": b"first\npassword=hunter2 milk-and-sugar\nlast words\n",
        "pods/tea-0/log?brew": b"again\n",
    }
    return api


def collect(kudo: Cli, target: Path, *more: str) -> Ran:
    return kudo("diagnostics", "collect", "-O", str(target), *(more or ("--instance", "tea")))


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def everything(folder: Path) -> str:
    """Return all that is written, logs included."""
    texts = []
    for path in folder.rglob("*"):
        if path.suffix == ".gz":
            texts.append(gzip.decompress(path.read_bytes()).decode())
        elif path.is_file():
            texts.append(path.read_text(encoding="utf-8"))
    return "\n".join(texts)


# Files


def test_the_files_have_the_names_of_kudo_0_19(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    ran = collect(kudo, tmp_path / "diag")
    assert ran.code == 0, ran.err
    instance = "operator_teapot/instance_tea"
    assert {path for path in files(tmp_path / "diag") if not path.startswith("kudo/")} == {
        *("SUMMARY.txt", "version.yaml", "settings.yaml", "operator_teapot/teapot.yaml"),
        f"operator_teapot/operatorversion_{VERSION}/{VERSION}.yaml",
        f"{instance}/tea.yaml",
        f"{instance}/pod_tea-0/tea-0.yaml",
        *(f"{instance}/pod_tea-0/{name}.log.gz" for name in ("prepare", "brew", "brew.previous")),
        *(f"{instance}/{kind}list.yaml" for kind in ("statefulset", "secret", "configmap")),
    }
    assert (tmp_path / "diag").stat().st_mode & 0o777 == 0o700
    listed = yaml.safe_load((tmp_path / "diag" / instance / "configmaplist.yaml").read_text())
    assert [obj["metadata"]["name"] for obj in listed["items"]] == ["labelled"]


def test_the_record_of_what_was_applied_is_collected(
    kudo: Cli, busy: FakeApi, tmp_path: Path
) -> None:
    tea = busy.objects["instances", "tea"]
    entry = {
        "version": "v1",
        "kind": "Secret",
        "resource": "secrets",
        "name": "s",
        "plan": "deploy",
    }
    inventory = owned("tea.1.0", tea)
    inventory |= {"objects": [entry | {"namespace": "kitchen", "digest": "4711"}]}
    busy.add("inventories", inventory)
    assert collect(kudo, tmp_path / "diag").code == 0
    path = tmp_path / "diag/operator_teapot/instance_tea/inventorylist.kudo.dev.yaml"
    (found,) = yaml.safe_load(path.read_text())["items"]
    assert found["objects"] == inventory["objects"]


def test_objects_of_other_instances_of_the_operator_are_left_out(
    kudo: Cli, busy: FakeApi, tmp_path: Path
) -> None:
    """BTO-56."""
    shared = json.dumps({})
    for name, users in (("mine", "kitchen/tea/u"), ("theirs", "bar/tea/u")):
        annotations = {"kudo.dev/shared-by": users, "note": shared}
        metadata = {"name": name, "labels": UIDS, "annotations": annotations}
        busy.add("clusterroles", {"metadata": metadata})
    assert collect(kudo, tmp_path / "diag").code == 0
    text = everything(tmp_path / "diag")
    assert "of-other" not in text
    path = tmp_path / "diag/operator_teapot/instance_tea/clusterrolelist.yaml"
    found = yaml.safe_load(path.read_text())["items"]
    assert [obj["metadata"]["name"] for obj in found] == ["mine"]


def test_children_of_children_are_followed(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    """BTO-59, first part."""
    busy.add("operators", {"metadata": {"name": "kettle"}, "spec": {}})
    busy.add(
        "operatorversions",
        {"metadata": {"name": "kettle-1"}, "spec": {"operator": {"name": "kettle"}}},
    )
    owner = busy.objects["instances", "tea"]
    for name in ("child", "grandchild"):
        spec = {"operatorVersion": {"name": "kettle-1"}}
        owner = busy.add("instances", owned(name, owner, spec=spec))
    busy.add("configmaps", owned("deep", owner, data={}))
    assert collect(kudo, tmp_path / "diag").code == 0
    found = files(tmp_path / "diag")
    assert "operator_teapot/operator_kettle/instance_child/child.yaml" in found
    below = "operator_teapot/operator_kettle/operator_kettle/instance_grandchild"
    assert {f"{below}/grandchild.yaml", f"{below}/configmaplist.yaml"} <= found


def test_all_instances_of_a_namespace(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    ran = collect(kudo, tmp_path / "diag", "--all")
    assert ran.code == 0, ran.err
    found = files(tmp_path / "diag")
    assert "operator_teapot/instance_tea/tea.yaml" in found
    assert "operator_teapot/instance_other/configmaplist.yaml" in found
    assert ran.out.count("instance other: its OperatorVersion x was not found") == 1
    [first] = [line for line in ran.out.splitlines() if line.startswith("Instances: ")]
    names = first.removeprefix("Instances: ").partition(";")[0].split(", ")
    assert sorted(names) == sorted(set(names))


def test_an_archive(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    target = tmp_path / "tea.tgz"
    assert collect(kudo, target).code == 0
    assert list(tmp_path.glob(".tea*")) == []
    with tarfile.open(target) as archive:
        members = archive.getmembers()
        names = {member.name for member in members}
        assert {"tea", "tea/SUMMARY.txt", "tea/operator_teapot/teapot.yaml"} <= names
        assert {(member.uid, member.uname) for member in members} == {(0, "")}


@pytest.mark.parametrize("name", ["diag", "diag.tgz"])
def test_nothing_is_overwritten(kudo: Cli, busy: FakeApi, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    target.write_text("mine")
    ran = collect(kudo, target)
    assert ran.code == 255
    assert f"{target}" in ran.err
    assert "already exists" in ran.err
    assert target.read_text() == "mine"
    assert busy.requests == []


def test_a_place_that_cannot_be_written(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = collect(kudo, tmp_path / "file" / "diag")
    assert ran.code == 255
    assert ran.err.startswith("Error: cannot write ")


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], 'required flag(s) "instance" not set; --all collects all instances'),
        (["--all", "--instance", "x"], "give either '--instance' or '--all', not both"),
        (["tea", "milk"], "diagnostics collect takes one instance, not tea and milk"),
        (["--instance", "a", "--log-limit", "big"], 'invalid argument "big" for "--log-limit"'),
        (["--instance", "a", "--kudo-namespace", "../x"], "../x"),
    ],
)
def test_what_the_command_line_must_have(run: Cli, argv: list[str], text: str) -> None:
    ran = run("diagnostics", "collect", *argv)
    assert ran.code == 2
    assert text in ran.err


# Failures


def test_a_missing_version_ends_nothing(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    """BTO-57."""
    busy.remove("operatorversions", VERSION)
    ran = collect(kudo, tmp_path / "diag")
    assert ran.code == 0
    found = files(tmp_path / "diag")
    assert "operator_teapot/operatorversion.err" in found
    assert "operator_teapot/instance_tea/pod_tea-0/brew.log.gz" in found
    assert {"version.yaml", "settings.yaml"} <= found
    assert f"instance tea: its OperatorVersion {VERSION} was not found" in ran.out


def test_what_may_not_be_read_is_told(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    busy.refusals["GET", "secrets"] = (403, 'secrets is forbidden: User "me" cannot list')
    busy.refusals["GET", "customresourcedefinitions/instances.kudo.dev"] = (403, "no crds for me")
    del busy.texts["pods/tea-0/log?brew"]
    ran = collect(kudo, tmp_path / "diag")
    assert ran.code == 0
    folder = tmp_path / "diag/operator_teapot/instance_tea"
    assert "forbidden" in (folder / "secretlist.err").read_text()
    assert (folder / "pod_tea-0/brew.log.err").exists()
    assert (folder / "pod_tea-0/brew.previous.log.gz").exists()
    assert "no crds for me" in (tmp_path / "diag/kudo/crds.err").read_text()
    assert "secretlist.err: " in ran.out


def test_the_list_of_instances_need_not_be_readable(
    kudo: Cli, busy: FakeApi, tmp_path: Path
) -> None:
    busy.refusals["LIST", "instances"] = (403, "no lists")
    assert collect(kudo, tmp_path / "diag").code == 0
    assert "operator_teapot/instance_tea/tea.yaml" in files(tmp_path / "diag")
    ran = collect(kudo, tmp_path / "more", "--all")
    assert (ran.code, "no instances can be read" in ran.err) == (ExitCode.DENIED, True)


def test_a_server_that_does_not_answer_leaves_nothing(
    kudo: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(config.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1#"))
    ran = collect(kudo, tmp_path / "diag")
    assert ran.code == 255
    assert not (tmp_path / "diag").exists()
    assert list(tmp_path.glob(".diag*")) == []


def test_names_from_the_cluster_are_no_paths(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    busy.objects["operatorversions", VERSION]["spec"]["operator"]["name"] = "../../up"
    assert collect(kudo, tmp_path / "here" / "diag").code == 0
    assert not (tmp_path / "up.yaml").exists()
    assert "operator_.._.._up/instance_tea/tea.yaml" in files(tmp_path / "here" / "diag")


# Secrets


def test_no_secret_is_in_any_file(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    """BTO-59, second part."""
    ran = collect(kudo, tmp_path / "diag")
    text = everything(tmp_path / "diag") + ran.out + ran.err
    for secret in ("4711-4711", "milk-and-sugar", "hunter2"):
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in text
    assert "CUPS: '2'" in text
    assert "size: big" in text
    assert "prepared (redacted)" in text


def test_secrets_that_pods_refer_to_are_read_for_their_values(
    kudo: Cli, busy: FakeApi, tmp_path: Path
) -> None:
    data = {"key": base64.b64encode(b"not-of-kudo").decode()}
    busy.add("secrets", {"metadata": {"name": "by-hand"}, "data": data})
    pod = busy.objects["pods", "tea-0"]
    pod["spec"]["containers"][0]["envFrom"] = [
        {"secretRef": {"name": "by-hand"}},
        {"configMapRef": {"name": "gone"}},
        {"configMapRef": {"name": "not-needed", "optional": True}},
    ]
    busy.texts["pods/tea-0/log?brew"] = b"connecting as not-of-kudo\n"
    ran = collect(kudo, tmp_path / "diag")
    assert "not-of-kudo" not in everything(tmp_path / "diag")
    assert "pod tea-0: needs ConfigMap gone, which does not exist" in ran.out
    assert "not-needed" not in ran.out


# Logs and metrics


def test_the_end_of_a_long_log_is_kept(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    lines = [f"line {number:05}" for number in range(5000)]
    busy.texts["pods/tea-0/log?brew"] = "\n".join(lines).encode()
    ran = collect(kudo, tmp_path / "diag", "--instance", "tea", "--log-limit", "10Ki")
    assert ran.code == 0
    path = tmp_path / "diag/operator_teapot/instance_tea/pod_tea-0/brew.log.gz"
    note, *kept = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert note.endswith("bytes before this are left out]")
    assert 5 * 2**10 <= sum(len(line) + 1 for line in kept) <= 10 * 2**10
    assert kept == lines[-len(kept) :]


def test_kudo_is_found_in_any_namespace(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    """BTO-58."""
    labels = {
        "app.kubernetes.io/part-of": "kudo",
        "app.kubernetes.io/component": "reconciler",
    }
    metadata = {"name": "kudo-reconciler", "namespace": "default", "labels": labels}
    busy.add("deployments", {"metadata": metadata, "spec": {"replicas": 0}})
    pod = {
        "metadata": {
            **metadata,
            "name": "kudo-reconciler-x",
            "annotations": {"prometheus.io/port": "8080"},
        },
        "spec": {"containers": [{"name": "reconciler"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "reconciler", "state": {"running": {}}, "ready": True}],
        },
    }
    busy.add("pods", pod)
    busy.texts["pods/kudo-reconciler-x/log?reconciler"] = b'{"message": "leads"}\n'
    busy.texts["pods/kudo-reconciler-x:8080/proxy/metrics"] = b"kudo_plans 1\n"
    ran = collect(kudo, tmp_path / "diag")
    assert ran.code == 0, ran.err
    folder = tmp_path / "diag/kudo"
    assert {
        *("pod_kudo-reconciler-x/kudo-reconciler-x.yaml", "deploymentlist.yaml", "crds.yaml"),
        *("pod_kudo-reconciler-x/reconciler.log.gz", "pod_kudo-reconciler-x/metrics.txt.gz"),
    } <= files(folder)
    metrics = (folder / "pod_kudo-reconciler-x/metrics.txt.gz").read_bytes()
    assert gzip.decompress(metrics) == b"kudo_plans 1\n"
    assert "deployment kudo-webhook: was not found in namespace default" in ran.out


# The summary


def test_the_summary_says_what_looks_wrong(kudo: Cli, busy: FakeApi, tmp_path: Path) -> None:
    message = "Waiting for 1 pods"
    busy.objects["instances", "tea"]["status"] = {
        "planStatus": {
            "deploy": {
                "name": "deploy",
                "status": "ERROR",
                "lastUpdatedTimestamp": "2020-01-01T00:00:00Z",
                "phases": [
                    {
                        "name": "main",
                        "steps": [{"name": "app", "status": "ERROR", "message": message}],
                    }
                ],
            }
        }
    }
    busy.add(
        "events",
        {
            "metadata": {"name": "e"},
            "type": "Warning",
            "reason": "BackOff",
            "message": "Back-off restarting",
            "involvedObject": {"kind": "Pod", "name": "tea-0"},
        },
    )
    ran = collect(kudo, tmp_path / "diag")
    assert ran.code == 0
    assert (tmp_path / "diag/SUMMARY.txt").read_text() == ran.out
    assert "instance tea: plan deploy is ERROR since " in ran.out
    assert f", at step main.app: {message}" in ran.out
    crash = (
        "* pod tea-0: container brew waits: CrashLoopBackOff: back-off 5m0s; it ended with "
        "Error (3) the last time\n"
        "    see its log: kubectl logs tea-0 -n kitchen -c brew --previous\n"
        "    | first\n    | password=(redacted) (redacted)\n    | last words\n"
    )
    assert crash in ran.out
    assert "* pod tea-0: event BackOff: Back-off restarting" in ran.out
    assert "operator_teapot/instance_tea/eventlist.yaml" in files(tmp_path / "diag")
