"""`install` against an API server: what it sends, prints and returns."""

import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from kubectl_kudo.core.errors import ExitCode
from tests.unit.cli.conftest import TEMPLATE, VERSION, Cli, complete
from tests.unit.cli.fake_api import FakeApi, status

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


def test_install_again_says_what_is_there_and_creates_nothing(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    kudo("install", str(package), "-p", "TEA=mint")
    api.requests.clear()
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.code == 255
    assert ran.out == f"operatorversion kitchen/{VERSION} already installed\n"
    assert ran.err == (
        "Error: cannot install instance 'teapot-instance' because an instance of that name "
        "already exists in namespace kitchen; change its parameters with `kubectl kudo update` "
        "and its version with `kubectl kudo upgrade`, or either with `kubectl kudo install "
        "--upgrade`\n"
    )
    assert api.writes() == []


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


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], "missing required parameters during installation: TEA"),
        (["-p", "TEA=mint", "-p", "CUPS=two"], 'parameter "CUPS" has an invalid value "two"'),
        (["-p", "TEA=mint", "-p", "CUP=2"], "did you mean CUPS?"),
        (["-p", "TEA=mint", "--instance", "No"], 'instance name "No" is not valid'),
        (["-p", "TEA=mint", "-n", "none"], 'namespaces "none" not found'),
    ],
)
def test_nothing_is_created_when_something_is_wrong(
    kudo: Cli, api: FakeApi, package: Path, argv: list[str], text: str
) -> None:
    # BTO-25, BTO-26: names, values and unknown parameters were found after objects were created.
    ran = kudo("install", str(package), *argv)
    assert ran.code in {2, 3, 4, 255}
    assert ran.out == ""
    assert text in ran.err
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


def test_install_waits_for_the_deployment(kudo: Cli, api: FakeApi, package: Path) -> None:
    complete(api)
    ran = kudo("install", str(package), "-p", "TEA=mint", "--wait")
    assert ran.code == 0
    assert ran.out.endswith(
        "instance kitchen/teapot-instance created\ninstance kitchen/teapot-instance ready\n"
    )
    assert [line.split()[1:] for line in ran.err.splitlines()] == [
        ["deploy", "IN_PROGRESS"],
        ["deploy.main", "IN_PROGRESS"],
        ["deploy.main.app", "IN_PROGRESS"],
        ["deploy", "COMPLETE"],
        ["deploy.main", "COMPLETE"],
        ["deploy.main.app", "COMPLETE"],
    ]


def test_a_failed_deployment_ends_the_waiting_and_names_step_and_message(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    # BTO-33: FATAL_ERROR did not end the waiting.
    api.plan, api.script = "deploy", [status("FATAL_ERROR", message="no such kind: Tea")]
    ran = kudo("install", str(package), "-p", "TEA=mint", "--wait")
    assert ran.code == 6
    assert ran.err[ran.err.index("Error: ") :].splitlines() == [
        (
            "Error: instance kitchen/teapot-instance: plan deploy ended with FATAL_ERROR at "
            "deploy.main.app: no such kind: Tea"
        ),
        (
            f"Created: operator kitchen/teapot, operatorversion kitchen/{VERSION}, instance "
            "kitchen/teapot-instance. To remove it:"
        ),
        "  kubectl kudo uninstall --instance teapot-instance -n kitchen --wait",
        "  kubectl kudo uninstall --all-unused -n kitchen",
    ]


def test_a_timeout_says_what_was_waited_for(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.plan, api.script = "deploy", [status("IN_PROGRESS", message="1 of 2 ready")]
    ran = kudo("install", str(package), "-p", "TEA=mint", "--wait", "--wait-time", "1")
    assert ran.code == 7
    assert ran.err[ran.err.index("Error: ") :].splitlines()[:4] == [
        (
            "Error: failed to wait on instance kitchen/teapot-instance: timed out waiting for the "
            "condition after 1s: deploy.main.app is IN_PROGRESS (1 of 2 ready)"
        ),
        "The plan goes on in the cluster.",
        "See it: kubectl kudo plan wait --instance teapot-instance -n kitchen",
        "Cancel it: kubectl kudo plan cancel --instance teapot-instance -n kitchen",
    ]


def test_an_interrupt_says_what_was_created_before(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.silent.add("instances")
    command = [sys.executable, "-m", "kubectl_kudo", "install", str(package), "-p", "TEA=mint"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    shown = [process.stdout.readline() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert shown[1] == f"operatorversion kitchen/{VERSION} created\n"
    assert process.returncode == ExitCode.INTERRUPTED
    assert err.strip() == (
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
