"""`install` against an API server: what it sends, prints and returns."""

import tarfile
from pathlib import Path

import yaml

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import TEMPLATE, VERSION, Cli
from tests.unit.cli.fake_api import FakeApi

REASON = "the tea is not allowed"
DENIED = f'admission webhook "i.kudo.dev" denied the request: {REASON}'


def test_install_creates_three_objects_in_the_namespace_of_the_context(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    ran = kudo("install", str(package), "-p", "TEA=mint", "-p", "TEA=green", "-p", "CUPS=3")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "operator kitchen/teapot created\n"
        f"operatorversion kitchen/{VERSION} created\n"
        "instance kitchen/teapot-instance created\n"
    )
    instance = api.objects["instances", "teapot-instance"]
    assert instance["metadata"]["labels"] == {"kudo.dev/operator": "teapot"}
    assert instance["spec"] == {
        "operatorVersion": {"name": VERSION},
        "parameters": {"CUPS": "3", "TEA": "green"},
    }
    assert api.objects["operatorversions", VERSION]["spec"]["templates"] == {"pot.yaml": TEMPLATE}


def test_install_takes_an_archive_and_a_parameter_file(
    kudo: Cli, api: FakeApi, package: Path, tmp_path: Path
) -> None:
    with tarfile.open(tmp_path / "teapot.tgz", "w:gz") as archive:
        for path in package.rglob("*.yaml"):
            archive.add(path, path.relative_to(package))
    (tmp_path / "values.yaml").write_text("TEA: black\nCUPS: 4\n")
    argv = ["-P", f"{tmp_path}/values.yaml", "-p", "CUPS=5", "--instance", "tea", "-n", "default"]
    ran = kudo("install", f"{tmp_path}/teapot.tgz", *argv)
    assert ran.out.endswith("instance default/tea created\n")
    assert api.objects["instances", "tea"]["spec"]["parameters"] == {"TEA": "black", "CUPS": "5"}


def test_a_second_instance_shares_what_is_installed(kudo: Cli, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), "--skip-instance")
    assert api.names("instances") == []
    ran = kudo("install", str(package), "-p", "TEA=mint", "--instance", "tea")
    assert ran.out == (
        f"operatorversion kitchen/{VERSION} already installed\ninstance kitchen/tea created\n"
    )


def test_another_app_version_is_another_version(kudo: Cli, api: FakeApi, package: Path) -> None:
    # BTO-29: a version that differed in appVersion alone counted as installed, and was not there.
    kudo("install", str(package), "--skip-instance")
    text = (package / "operator.yaml").read_text()
    (package / "operator.yaml").write_text(text.replace("appVersion: 2.1.0", "appVersion: 2.2.0"))
    ran = kudo("install", str(package), "-p", "TEA=mint")
    other = VERSION.replace("2.1.0", "2.2.0")
    assert f"operatorversion kitchen/{other} created\n" in ran.out
    (instance,) = (api.objects["instances", name] for name in api.names("instances"))
    assert instance["spec"]["operatorVersion"] == {"name": other}
    assert api.names("operatorversions") == [VERSION, other]


def test_other_content_under_the_same_version_is_refused(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    kudo("install", str(package), "--skip-instance")
    api.requests.clear()
    (package / "templates" / "pot.yaml").write_text(TEMPLATE + "# other\n")
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.code == 255
    assert "differs in spec.templates[pot.yaml]" in ran.err
    assert api.writes() == []


def test_a_cluster_that_is_too_old_is_refused(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.set_version("v1.21.9")
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "expected kubernetes version of 1.22.0 is not supported with version: v1.21.9" in ran.err
    assert api.writes() == []


def test_who_may_not_read_namespaces_can_install(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.refusals["GET", "namespaces"] = (403, "namespaces is forbidden")
    assert kudo("install", str(package), "-p", "TEA=mint").code == 0


def test_a_denied_instance_takes_back_what_this_call_created(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    api.refusals["POST", "instances"] = (403, DENIED)
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.code == 4
    assert ran.err == (
        f"Error: failed to create instance kitchen/teapot-instance: {REASON}\n"
        f"Removed again: operatorversion kitchen/{VERSION}, operator kitchen/teapot.\n"
    )
    assert api.objects == {}
    deletions = [body for method, _, body in api.requests if method == "DELETE"]
    assert all(body and body["preconditions"]["uid"] for body in deletions)


def test_a_denial_that_names_the_instance_is_told_once(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    text = "failed to create an Instance kitchen/teapot-instance: no tea"
    api.refusals["POST", "instances"] = (403, DENIED.replace(REASON, text))
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.err.splitlines()[0] == f"Error: {text}"


def test_what_was_there_before_is_not_taken_back(kudo: Cli, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), "--skip-instance")
    api.refusals["POST", "instances"] = (403, DENIED)
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "Removed" not in ran.err
    assert api.names("operatorversions") == [VERSION]


def test_what_somebody_uses_by_now_is_not_taken_back(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    spec = {"operatorVersion": {"name": VERSION}}
    api.add("instances", {"metadata": {"name": "other"}, "spec": spec})
    api.refusals["POST", "instances"] = (500, "the server is tired")
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "What was installed stays, because instance other uses it." in ran.err
    assert api.names("operatorversions") == [VERSION]


def test_what_cannot_be_taken_back_is_said(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.refusals["POST", "instances"] = (403, DENIED)
    api.refusals["DELETE", "operatorversions"] = (403, "no deleting")
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "could not be removed again: no deleting" in ran.err


def test_a_new_version_renews_the_description_of_the_operator(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    # BTO-28: an Operator that existed was never updated.
    api.add("operators", {"metadata": {"name": "teapot"}, "spec": {"description": "old"}})
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.out.endswith("operator kitchen/teapot updated\n")
    assert api.objects["operators", "teapot"]["spec"] == {"kubernetesVersion": "1.22.0"}


def test_an_interrupt_says_what_was_created_before(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.silent.add("instances")
    api.interrupts = True
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.out.endswith(f"operatorversion kitchen/{VERSION} created\n")
    assert ran.code == ExitCode.INTERRUPTED
    assert ran.err.strip() == (
        f"Interrupted. Created before: operator kitchen/teapot, operatorversion kitchen/{VERSION}. "
        "Repeat the command to go on, or remove what nobody uses: kubectl kudo uninstall "
        "--all-unused -n kitchen"
    )


def test_manifests_for_git_are_the_same_whatever_is_installed(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    command = ("install", str(package), "-p", "TEA=mint", "--dry-run=client", "-o", "yaml")
    before = kudo(*command)
    assert (before.code, api.requests) == (0, [])
    assert kudo("install", str(package), "-p", "TEA=green").code == 0
    api.requests.clear()
    after = kudo(*command)
    assert (after.code, after.out, api.requests) == (0, before.out, [])
    kinds = [document["kind"] for document in yaml.safe_load_all(before.out)]
    assert kinds == ["Operator", "OperatorVersion", "Instance"]
    assert "planExecution" not in before.out
