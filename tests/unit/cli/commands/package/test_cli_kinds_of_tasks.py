"""Commands for authors know every kind of task: they follow from `kudo.api.task_kinds.KINDS`."""

from pathlib import Path

import pytest
import yaml

from kubectl_kudo.commands.package.add.task import FIELDS
from kudo.api.task_kinds import KINDS
from kudo.api.task_kinds.kind import TaskKind
from tests.unit.cli.conftest import Cli

PARAMETERS = "parameters: [{name: MILK, type: boolean, default: true}]\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pot}\n"
FLAGS = {
    "resources": "--resource=pot",
    "parameter": "--toggle=MILK",
    "pod": "--pod=filler",
    "pipe": "--pipe=file=/out/k,kind=Secret,key=k",
    "package": "--package=cup",
    "job": "--script=s.sh --image=busybox",
    "check": "--api-version=v1 --object-kind=Pod --object-name=pot --until=has(self.status)",
}
"""What gives a value to each field that a kind needs, as in a shell."""


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request: pytest.FixtureRequest) -> TaskKind:
    found: TaskKind = request.param
    return found


@pytest.fixture(autouse=True)
def teapot(kind: TaskKind, package: Path, kudo: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package whose only task, of the kind, was added by a command."""
    monkeypatch.chdir(package)
    (package / "params.yaml").write_text(PARAMETERS)
    (package / "templates" / "pot.yaml").write_text(CONFIG_MAP)
    operator = package / "operator.yaml"
    step = {"name": "s", "tasks": ["one"]}
    document = {
        "name": "teapot",
        "operatorVersion": "0.1.0",
        "kubernetesVersion": "1.22.0",
        "plans": {"deploy": {"phases": [{"name": "main", "steps": [step]}]}},
    }
    operator.write_text(yaml.safe_dump(document, sort_keys=False))
    flags = [flag for field in kind.needed for flag in FLAGS[field].split()]
    added = kudo("package", "add", "task", "one", f"--kind={kind.name}", *flags)
    assert added.code == 0, added
    [task] = yaml.safe_load(operator.read_text())["tasks"]
    assert task["kind"] == kind.name
    assert set(kind.needed) <= task["spec"].keys()
    return package


def test_a_flag_gives_each_field_that_it_needs(kind: TaskKind) -> None:
    assert set(kind.needed) <= FIELDS.keys()


def test_it_is_offered_and_described(kind: TaskKind, run: Cli) -> None:
    offered = run("__complete", "package", "add", "task", "--kind", "").out
    assert kind.name in offered.split()
    text = run("package", "add", "task", "--help").out
    assert text.count(kind.name) > len(kind.needed)


def test_a_package_with_it_is_right(kudo: Cli) -> None:
    ran = kudo("package", "verify", ".")
    assert ran.code == 0, ran


def test_it_is_listed_rendered_and_documented(kind: TaskKind, kudo: Cli) -> None:
    assert kind.name in kudo("package", "list", "tasks", ".").out
    assert f"[{kind.word()}]  one" in kudo("package", "list", "plans", ".", "--with-tasks").out
    rendered = kudo("package", "render", ".", "--plan", "deploy")
    assert rendered.code == 0, rendered
    assert "step s, task one" in rendered.out
    assert kudo("package", "docs", ".").code == 0
