"""Values that stand in Secrets and ConfigMaps, as `-p` names them: what is sent and shown."""

import re
from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo.reading.parameter_file import parameter_file, read_values
from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi

CANARY = "canary-7f3a"
DB = {"name": "PASSWORD", "secretKeyRef": {"name": "db", "key": "password"}}
NEW = {"name": "PASSWORD", "secretKeyRef": {"name": "new", "key": "password"}}
NOTE = {"name": "NOTE", "configMapKeyRef": {"name": "notes", "key": "today"}}
OTHER = ("-p", "PASSWORD@secret=new/password")


@pytest.fixture
def referring(installed: FakeApi) -> FakeApi:
    """Return the server with an Instance that has a password from a Secret."""
    spec = installed.objects["operatorversions", VERSION]["spec"]
    spec["parameters"] = [
        {"name": "PASSWORD", "secret": True, "description": "Of the database."},
        {"name": "CUPS"},
        {"name": "NOTE"},
    ]
    installed.objects["instances", "tea"]["spec"]["parametersFrom"] = [DB, NOTE]
    return installed


def sent(api: FakeApi) -> Any:
    return [body for method, _, body in api.requests if method == "PATCH" and body]


def test_update_replaces_one_reference_and_expects_what_it_read(
    kudo: Cli, referring: FakeApi
) -> None:
    referring.plan = "deploy"
    before = dict(referring.objects["instances", "tea"]["metadata"])
    ran = kudo("update", "--instance", "tea", *OTHER)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [
        "Instance tea was updated.",
        "PASSWORD: Secret db/password → Secret new/password; plan deploy runs",
    ]
    (patch,) = sent(referring)
    assert patch["spec"] == {"parametersFrom": [NEW, NOTE]}
    expected = {key: before[key] for key in ("uid", "resourceVersion")}
    assert patch["metadata"] == expected


def test_a_value_in_the_place_of_a_reference_and_back(kudo: Cli, referring: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", f"PASSWORD={CANARY}", "-p", "CUPS=3")
    assert ran.code == 0
    spec = referring.objects["instances", "tea"]["spec"]
    assert (spec["parameters"], spec["parametersFrom"]) == (
        {"CUPS": "3", "PASSWORD": CANARY},
        [NOTE],
    )
    assert CANARY not in ran.out + ran.err
    assert "PASSWORD: Secret db/password → " in ran.out
    ran = kudo("update", "--instance", "tea", *OTHER)
    assert (ran.code, CANARY in ran.out + ran.err) == (0, False)
    spec = referring.objects["instances", "tea"]["spec"]
    assert spec["parametersFrom"] == [NEW, NOTE]
    assert spec["parameters"] == {"CUPS": "3"}


def test_the_same_reference_is_not_sent(kudo: Cli, referring: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", "PASSWORD@secret=db/password")
    assert ran.out == "nothing changed: instance kitchen/tea has these values already\n"
    assert sent(referring) == []


def test_values_alone_are_sent_as_before(kudo: Cli, referring: FakeApi) -> None:
    assert kudo("update", "--instance", "tea", "-p", "CUPS=3").code == 0
    assert sent(referring) == [{"spec": {"parameters": {"CUPS": "3"}}}]


def test_what_is_no_reference_is_refused_and_not_repeated(kudo: Cli, referring: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", f"PASSWORD@secret={CANARY}")
    assert ran.code == 2
    assert "PASSWORD@secret needs the name of a Secret and a key" in ran.err
    assert CANARY not in ran.err
    assert sent(referring) == []


OPERATOR = """\
name: db
operatorVersion: 0.1.0
kudoVersion: 0.20.0
kubernetesVersion: 1.25.0
tasks: [{name: app, kind: Apply, spec: {resources: [s.yaml]}}]
plans:
  deploy:
    strategy: serial
    phases: [{name: main, strategy: serial, steps: [{name: app, tasks: [app]}]}]
"""
TEMPLATE = """\
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: "{{ .Params.PASSWORD }}"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Return the folder of a package with a secret parameter, which it requires."""
    (tmp_path / "db" / "templates").mkdir(parents=True)
    (tmp_path / "db" / "operator.yaml").write_text(OPERATOR)
    (tmp_path / "db" / "params.yaml").write_text("parameters: [{name: PASSWORD, secret: true}]\n")
    (tmp_path / "db" / "templates" / "s.yaml").write_text(TEMPLATE)
    return str(tmp_path / "db")


def test_install_names_the_secret(kudo: Cli, api: FakeApi, folder: str) -> None:
    ran = kudo("install", folder, "-p", "PASSWORD@secret=db/password")
    assert ran.code == 0, ran.err
    spec = api.objects["instances", "db-instance"]["spec"]
    assert (spec["parameters"], spec["parametersFrom"]) == ({}, [DB])


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("PASSWORD@configMap=db/password", "it is secret, so its value comes from a Secret"),
        ("PASSWORT@secret=db/password", "did you mean PASSWORD?"),
    ],
)
def test_install_checks_the_reference_first(
    kudo: Cli, api: FakeApi, folder: str, argument: str, text: str
) -> None:
    parameters = Path(folder, "params.yaml")
    parameters.write_text("parameters: [{name: PASSWORD, secret: true, required: false}]\n")
    ran = kudo("install", folder, "-p", argument)
    assert ran.code == 4
    assert text in ran.err
    assert api.changes == []


def test_a_preview_shows_a_mark(kudo: Cli, folder: str) -> None:
    for argument in ([], ["-p", f"PASSWORD={CANARY}"], ["-p", "PASSWORD@secret=a/b"]):
        ran = kudo("package", "render", folder, *argument)
        assert ran.code == 0, ran.err
        assert "  password: (secret PASSWORD)\n" in ran.out
        assert CANARY not in ran.out + ran.err


# What is shown of an Instance


def read_by_the_last_run(api: FakeApi, **versions: str) -> None:
    """Let the last run have read these sources at these versions."""
    status: Any = {"planStatus": {"deploy": {"name": "deploy", "status": "COMPLETE", "uid": "u"}}}
    records = {name: {"digest": "d", **seen} for name, seen in _seen(api, versions).items()}
    status["lastRun"] = {
        "plan": "deploy",
        "uid": "u",
        "status": "COMPLETE",
        "secrets": {name: records[name] for name in records if name == "PASSWORD"},
        "configMaps": {name: records[name] for name in records if name == "NOTE"},
    }
    api.objects["instances", "tea"]["status"] = status


def _seen(api: FakeApi, versions: dict[str, str]) -> dict[str, dict[str, str]]:
    keys = {"PASSWORD": ("secrets", "db"), "NOTE": ("configmaps", "notes")}
    seen = {}
    for name, version in versions.items():
        uid = api.objects[keys[name]]["metadata"]["uid"] if keys[name] in api.objects else "gone"
        seen[name] = {"uid": uid, "resourceVersion": version}
    return seen


@pytest.fixture
def ran(referring: FakeApi) -> FakeApi:
    """Return the server where a run has read a Secret and a ConfigMap, as they are."""
    data = {"password": "Y2FuYXJ5LTdmM2E="}
    referring.add("secrets", {"metadata": {"name": "db"}, "data": data})
    referring.add("configmaps", {"metadata": {"name": "notes"}, "data": {"today": "x"}})
    now = {
        name: referring.objects[key]["metadata"]["resourceVersion"]
        for name, key in [("PASSWORD", ("secrets", "db")), ("NOTE", ("configmaps", "notes"))]
    }
    read_by_the_last_run(referring, **now)
    return referring


def test_describe_names_the_reference_and_no_value(kudo: Cli, ran: FakeApi) -> None:
    shown = kudo("describe", "instance", "tea")
    assert shown.code == 0, shown.err
    rows = [re.split(r" {2,}", line.strip()) for line in shown.out.splitlines()]
    assert ["PASSWORD", "Secret db/password", "set"] in rows
    assert ["NOTE", "ConfigMap notes/today", "set"] in rows
    assert "Sources:" not in shown.out
    data = kudo("describe", "instance", "tea", "-o", "json").out
    assert '"from": "Secret db/password"' in data
    for text in (shown.out, data):
        assert CANARY not in text
        assert "Y2FuYXJ5" not in text


CHANGED = (
    "Secret db has changed since the last run, so PASSWORD may have another value, which is not in "
    "force"
)
UNKNOWN = "whether Secret db has changed since the last run is unknown: you may not get secrets"


@pytest.mark.parametrize("command", ["describe instance tea", "plan status --instance tea"])
def test_a_source_that_has_changed_is_named_with_the_rights_of_the_reader(
    kudo: Cli, ran: FakeApi, command: str
) -> None:
    def shown() -> str:
        answer = kudo(*command.split())
        assert answer.code == 0, answer.err
        return " ".join(answer.out.split())

    assert "since the last run" not in shown()
    read_by_the_last_run(ran, PASSWORD="1")
    assert CHANGED in shown()
    ran.refusals["GET", "secrets"] = (403, "no")
    assert UNKNOWN in shown()


def test_a_source_that_is_gone_is_named(kudo: Cli, ran: FakeApi) -> None:
    ran.remove("secrets", "db")
    text = "Secret db does not exist; the next run waits for it (PASSWORD)"
    assert text in kudo("plan", "status", "--instance", "tea").out


def test_rbac_names_the_sources_of_an_instance(kudo: Cli, ran: FakeApi) -> None:
    rules = kudo("rbac", "--instance", "tea").out
    for resource, name in [("secrets", "db"), ("configmaps", "notes")]:
        rule = f'    resources: ["{resource}"]\n    resourceNames: ["{name}"]\n    verbs: ["get"]\n'
        assert rule in rules


def test_the_note_of_a_secret_parameter_without_one(kudo: Cli, ran: FakeApi) -> None:
    ran.objects["instances", "tea"]["spec"].pop("parametersFrom")
    assert "parameter PASSWORD is secret" in kudo("rbac", "--instance", "tea").out


def test_completion_ends_the_name_of_a_secret_parameter_otherwise(kudo: Cli, ran: FakeApi) -> None:
    line = ("__complete", "update", "--instance", "tea", "-p", "")
    names = [each.split("\t")[0] for each in kudo(*line).out.splitlines()]
    assert {"PASSWORD@secret=", "CUPS=", "NOTE="} <= {*names}


def test_the_file_to_edit_has_references_as_comments(ran: FakeApi) -> None:
    spec = ran.objects["instances", "tea"], ran.objects["operatorversions", VERSION]
    text = parameter_file(*spec)
    lines = (
        "# Of the database.\n# type string; secret\n"
        "# PASSWORD comes from Secret db/password. A value here takes its place.\n#PASSWORD:\n"
    )
    assert lines in text
    assert read_values(text, "f") == {"CUPS": "2"}


def test_an_upgrade_takes_a_reference_with_it(kudo: Cli, api: FakeApi, folder: str) -> None:
    assert kudo("install", folder, "-p", "PASSWORD@secret=db/password").code == 0
    operator = Path(folder, "operator.yaml")
    operator.write_text(OPERATOR.replace("0.1.0", "0.2.0"))
    before = dict(api.objects["instances", "db-instance"]["metadata"])
    ran = kudo("upgrade", folder, "--instance", "db-instance", *OTHER)
    assert ran.code == 0, ran.err
    assert "PASSWORD: Secret db/password → Secret new/password" in ran.out
    patch = sent(api)[-1]
    assert patch["spec"]["operatorVersion"]["name"] == "db-0.2.0"
    assert patch["spec"]["parametersFrom"] == [NEW]
    assert patch["metadata"]["resourceVersion"] == before["resourceVersion"]


def test_install_upgrade_leaves_what_is_there(kudo: Cli, api: FakeApi, folder: str) -> None:
    argv = ("install", folder, "--upgrade", "-p", "PASSWORD@secret=db/password")
    assert kudo(*argv).code == 0
    assert kudo(*argv).code == 0
    assert sent(api) == []
    assert kudo("install", folder, "--upgrade", *OTHER).code == 0
    assert sent(api)[-1]["spec"] == {"parametersFrom": [NEW]}


def test_a_conflict_is_tried_again_with_what_is_there_then(kudo: Cli, referring: FakeApi) -> None:
    def meanwhile(_: str) -> None:
        referring.before_write = None
        tea = referring.objects["instances", "tea"]
        tea["metadata"]["resourceVersion"] = "99999"
        tea["spec"]["parametersFrom"] = [DB, {**NOTE, "name": "MORE"}]

    referring.before_write = meanwhile
    ran = kudo("update", "--instance", "tea", *OTHER)
    assert ran.code == 0, ran.err
    stored = referring.objects["instances", "tea"]["spec"]["parametersFrom"]
    assert stored == [NEW, {**NOTE, "name": "MORE"}]
