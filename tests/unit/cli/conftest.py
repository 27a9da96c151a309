"""What the tests of the command line share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_kudo.__main__ import main
from tests.unit.cli.fake_api import FakeApi, status

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: test
clusters:
  - name: test
    cluster: {{server: "{url}"}}
contexts:
  - name: test
    context: {{cluster: test, user: test, namespace: kitchen}}
  - name: other
    context: {{cluster: test, user: test, namespace: default}}
users:
  - name: test
    user: {{}}
"""


@dataclass(frozen=True)
class Ran:
    """What a command line left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Return a function that runs a command line in this process, with no cluster in reach."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUDO_HOME", str(_without_repositories(tmp_path / "kudo")))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def run(*argv: str) -> Ran:
        code = main(argv)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


def _without_repositories(home: Path) -> Path:
    """Return a folder of KUDO whose list of repositories is empty."""
    (home / "repository").mkdir(parents=True)
    (home / "repository" / "repositories.yaml").write_text("repositories: []\n")
    return home


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """Return an API server that holds nothing yet."""
    with FakeApi().running() as server:
        yield server


@pytest.fixture
def kudo(run: Cli, api: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Return a function that runs a command line against that server, in namespace kitchen."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(url=api.url))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return run


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return the folder of a small package."""
    folder = tmp_path / "teapot"
    (folder / "templates").mkdir(parents=True)
    (folder / "operator.yaml").write_text(OPERATOR)
    (folder / "params.yaml").write_text(PARAMETERS)
    (folder / "templates" / "pot.yaml").write_text(TEMPLATE)
    return folder


@pytest.fixture
def pot(kudo: Cli, api: FakeApi, package: Path) -> FakeApi:
    """Return a server with an idle instance `tea`, after which the package was made newer."""
    phases = "{phases: [{name: main, steps: [{name: app, tasks: [pot]}]}]}"
    plans = f"plans:\n  brew: {phases}\n  cleanup: {phases}\n"
    operator = OPERATOR.replace("plans:\n", plans)
    (package / "operator.yaml").write_text(operator)
    parameters = PARAMETERS.replace("{name: TEA}", "{name: TEA, trigger: brew}").replace(
        "{name: SIZE", "{name: POT, immutable: true, default: iron}\n  - {name: SIZE"
    )
    (package / "params.yaml").write_text(parameters)
    assert kudo("install", str(package), "-p", "TEA=mint", "--instance", "tea").code == 0
    (package / "operator.yaml").write_text(operator.replace("0.3.0", "0.4.0"))
    (package / "params.yaml").write_text(parameters + "  - {name: MILK, default: oat}\n")
    api.requests.clear()
    return api


@pytest.fixture
def installed(api: FakeApi) -> FakeApi:
    """Return the server with one operator, its version and an Instance of it."""
    plans = {"deploy": {"phases": [{"name": "main", "steps": [{"name": "app"}]}]}}
    api.add("operators", {"metadata": {"name": "teapot"}, "spec": {}})
    spec = {"operator": {"name": "teapot"}, "plans": plans}
    api.add("operatorversions", {"metadata": {"name": VERSION}, "spec": spec})
    tea = {"operatorVersion": {"name": VERSION}, "parameters": {"CUPS": "2"}}
    api.add("instances", {"metadata": {"name": "tea"}, "spec": tea})
    return api


def running(api: FakeApi, plan: str = "deploy") -> None:
    """Let instance `tea` run a plan."""
    instance = api.objects["instances", "tea"]
    instance["spec"]["planExecution"] = {"planName": plan, "uid": "run"}
    status("IN_PROGRESS", plan=plan)(instance)


def complete(api: FakeApi, plan: str = "deploy") -> None:
    """Let the next run go well."""
    api.plan = plan
    api.script = [
        status("IN_PROGRESS", plan=plan),
        status("COMPLETE", plan=plan),
        status("COMPLETE", plan=plan, done=True),
    ]


VERSION = "teapot-2.1.0-0.3.0"
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: pot}
data: {cups: "{{ .Params.CUPS }}", all: "{{ toJson .Params | sha256sum }}"}
"""
OPERATOR = """\
name: teapot
operatorVersion: 0.3.0
appVersion: 2.1.0
kubernetesVersion: 1.22.0
tasks:
  - name: pot
    kind: Apply
    spec: {resources: [pot.yaml]}
plans:
  deploy:
    phases:
      - name: main
        steps:
          - {name: app, tasks: [pot]}
"""
PARAMETERS = """\
parameters:
  - {name: CUPS, type: integer, default: "2"}
  - {name: TEA}
  - {name: SIZE, required: false, enum: [small, large]}
"""
