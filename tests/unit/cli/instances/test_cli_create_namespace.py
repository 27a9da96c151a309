"""`install --create-namespace`."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

ARGUMENTS = ("--create-namespace", "-n", "cellar", "-p", "TEA=mint")
MANIFEST = """\
apiVersion: v1
kind: Namespace
metadata:
  name: other
  namespace: other
  labels: {cups: "{{ .Params.CUPS }}", tea: "{{ .Params.TEA }}", of: "{{ .Name }}"}
"""


@pytest.fixture
def described(package: Path) -> Path:
    """Return the package, with a manifest of its namespace."""
    text = (package / "operator.yaml").read_text()
    (package / "operator.yaml").write_text(f"namespaceManifest: ns.yaml\n{text}")
    (package / "templates" / "ns.yaml").write_text(MANIFEST)
    return package


def test_the_namespace_is_created_first(kudo: Cli, api: FakeApi, package: Path) -> None:
    ran = kudo("install", str(package), *ARGUMENTS)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [
        "namespace cellar created",
        "operator cellar/teapot created",
    ]
    metadata = api.objects["namespaces", "cellar"]["metadata"]
    assert metadata["annotations"] == {"created-by": "kudo-cli"}


def test_the_manifest_of_the_package_gives_its_labels(
    kudo: Cli, api: FakeApi, described: Path
) -> None:
    # BTO-27: the manifest had only the parameters of the command line, and not the defaults.
    assert kudo("install", str(described), *ARGUMENTS, "--instance", "pot").code == 0
    created = api.objects["namespaces", "cellar"]
    labels = created["metadata"]["labels"]
    assert {"cups": "2", "tea": "mint", "of": "pot"}.items() <= labels.items()
    assert ("namespaces", "other") not in api.objects


def test_nothing_is_created_if_the_namespace_exists_or_its_manifest_is_wrong(
    kudo: Cli, api: FakeApi, described: Path
) -> None:
    exists = kudo("install", str(described), "--create-namespace", "-p", "TEA=mint")
    assert exists.code == 255
    assert 'namespaces "kitchen" already exists; leave out --create-namespace' in exists.err
    (described / "templates" / "ns.yaml").write_text("{{ .Params.NONE }}")
    refused = kudo("install", str(described), *ARGUMENTS)
    assert '"NONE" in template ns.yaml is not defined  (templates/ns.yaml:1:11)' in refused.err
    wrong = kudo("install", str(described), *ARGUMENTS, "--skip-verify")
    assert wrong.code == 255
    assert 'failed to render namespace manifest "ns.yaml": ' in wrong.err
    assert api.writes() == []


def test_a_failure_takes_the_namespace_back(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.refusals["POST", "instances"] = (403, "no instances today")
    ran = kudo("install", str(package), *ARGUMENTS)
    assert ran.code == 4
    assert "no instances today" in ran.err
    assert "namespace cellar." in ran.err
    assert any(change.startswith("DELETE ") and "cellar" in change for change in api.changes)


def test_dry_runs_create_no_namespace(kudo: Cli, api: FakeApi, package: Path) -> None:
    ran = kudo("install", str(package), *ARGUMENTS, "--dry-run=client")
    assert ran.out.splitlines()[0] == "namespace cellar created (dry run)"
    assert "use --dry-run=client" in (
        kudo("install", str(package), *ARGUMENTS, "--dry-run=server").err
    )
    assert api.changes == []


def test_without_a_cluster_a_dry_run_prints_the_namespace_first(run: Cli, described: Path) -> None:
    ran = run("install", str(described), *ARGUMENTS, "--dry-run=client")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == "namespace cellar created (dry run)"
    ran = run("install", str(described), *ARGUMENTS, "--dry-run=client", "-o", "json")
    namespace, *_ = json.loads(ran.out)
    assert (namespace["kind"], namespace["metadata"]["name"]) == ("Namespace", "cellar")
    assert namespace["metadata"]["labels"]["tea"] == "mint"
