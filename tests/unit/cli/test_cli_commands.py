"""The commands against an API server: what they send, print and return."""

import json
import signal
import subprocess
import sys
import tarfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
VERSION = "teapot-2.1.0-0.3.0"
DENIED = 'admission webhook "i.kudo.dev" denied the request: the tea is not allowed'


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


def complete(api: FakeApi, plan: str = "deploy") -> None:
    """Let the next run go well."""
    api.plan = plan
    api.script = [
        status("IN_PROGRESS", plan=plan),
        status("COMPLETE", plan=plan),
        status("COMPLETE", plan=plan, done=True),
    ]


# install


def test_install_creates_three_objects_in_the_namespace_of_the_context(
    kudo: Run, api: FakeApi, package: Path
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
    assert api.objects["operatorversions", VERSION]["spec"]["templates"] == {
        "pot.yaml": "kind: ConfigMap\n"
    }


def test_install_takes_an_archive_and_a_parameter_file(
    kudo: Run, api: FakeApi, package: Path, tmp_path: Path
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
    kudo: Run, api: FakeApi, package: Path
) -> None:
    kudo("install", str(package), "-p", "TEA=mint")
    api.requests.clear()
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.code == 255
    assert ran.out == f"operatorversion kitchen/{VERSION} already installed\n"
    assert ran.err == (
        "Error: cannot install instance 'teapot-instance' because an instance of that name "
        "already exists in namespace kitchen\n"
    )
    assert api.writes() == []


def test_a_second_instance_shares_what_is_installed(kudo: Run, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), "--skip-instance")
    assert api.names("instances") == []
    ran = kudo("install", str(package), "-p", "TEA=mint", "--instance", "tea")
    assert ran.out == (
        f"operatorversion kitchen/{VERSION} already installed\ninstance kitchen/tea created\n"
    )


def test_other_content_under_the_same_version_is_refused(
    kudo: Run, api: FakeApi, package: Path
) -> None:
    kudo("install", str(package), "--skip-instance")
    api.requests.clear()
    (package / "templates" / "pot.yaml").write_text("kind: Secret\n")
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
        (["-p", "TEA=mint", "--instance", "No"], 'instance name "No" is not possible'),
        (["-p", "TEA=mint", "-n", "none"], 'namespaces "none" not found'),
    ],
)
def test_nothing_is_created_when_something_is_wrong(
    kudo: Run, api: FakeApi, package: Path, argv: list[str], text: str
) -> None:
    ran = kudo("install", str(package), *argv)
    assert (ran.code, ran.out) == (255, "")
    assert text in ran.err
    assert api.writes() == []


def test_a_cluster_that_is_too_old_is_refused(kudo: Run, api: FakeApi, package: Path) -> None:
    api.version = "v1.21.9"
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "expected kubernetes version of 1.22.0 is not supported with version: v1.21.9" in ran.err
    assert api.writes() == []


def test_who_may_not_read_namespaces_can_install(kudo: Run, api: FakeApi, package: Path) -> None:
    api.refusals["GET", "namespaces"] = (403, "namespaces is forbidden")
    assert kudo("install", str(package), "-p", "TEA=mint").code == 0


def test_a_denied_instance_takes_back_what_this_call_created(
    kudo: Run, api: FakeApi, package: Path
) -> None:
    api.refusals["POST", "instances"] = (403, DENIED)
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.code == 255
    assert ran.err == (
        f"Error: failed to create instance kitchen/teapot-instance: {DENIED}\n"
        f"Removed again: operatorversion kitchen/{VERSION}, operator kitchen/teapot.\n"
    )
    assert api.objects == {}
    deletions = [body for method, _, body in api.requests if method == "DELETE"]
    assert all(body and body["preconditions"]["uid"] for body in deletions)


def test_what_was_there_before_is_not_taken_back(kudo: Run, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), "--skip-instance")
    api.refusals["POST", "instances"] = (403, DENIED)
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "Removed" not in ran.err
    assert api.names("operatorversions") == [VERSION]


def test_what_somebody_uses_by_now_is_not_taken_back(
    kudo: Run, api: FakeApi, package: Path
) -> None:
    spec = {"operatorVersion": {"name": VERSION}}
    api.add("instances", {"metadata": {"name": "other"}, "spec": spec})
    api.refusals["POST", "instances"] = (500, "the server is tired")
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "What was installed stays, because instance other uses it." in ran.err
    assert api.names("operatorversions") == [VERSION]


def test_what_cannot_be_taken_back_is_said(kudo: Run, api: FakeApi, package: Path) -> None:
    api.refusals["POST", "instances"] = (403, DENIED)
    api.refusals["DELETE", "operatorversions"] = (403, "no deleting")
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert "could not be removed again: no deleting" in ran.err


def test_a_new_version_renews_the_description_of_the_operator(
    kudo: Run, api: FakeApi, package: Path
) -> None:
    api.add("operators", {"metadata": {"name": "teapot"}, "spec": {"description": "old"}})
    ran = kudo("install", str(package), "-p", "TEA=mint")
    assert ran.out.endswith("operator kitchen/teapot updated\n")
    assert api.objects["operators", "teapot"]["spec"] == {"kubernetesVersion": "1.22.0"}


def test_install_waits_for_the_deployment(kudo: Run, api: FakeApi, package: Path) -> None:
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
    kudo: Run, api: FakeApi, package: Path
) -> None:
    api.plan, api.script = "deploy", [status("FATAL_ERROR", message="no such kind: Tea")]
    ran = kudo("install", str(package), "-p", "TEA=mint", "--wait")
    assert ran.code == 255
    assert ran.err.splitlines()[-1] == (
        "Error: instance kitchen/teapot-instance: plan deploy ended with FATAL_ERROR at "
        "deploy.main.app: no such kind: Tea"
    )


def test_a_timeout_says_what_was_waited_for(kudo: Run, api: FakeApi, package: Path) -> None:
    api.plan, api.script = "deploy", [status("IN_PROGRESS", message="1 of 2 ready")]
    ran = kudo("install", str(package), "-p", "TEA=mint", "--wait", "--wait-time", "1")
    assert ran.code == 255
    assert ran.err.splitlines()[-1] == (
        "Error: failed to wait on instance kitchen/teapot-instance: timed out waiting for the "
        "condition after 1s: deploy.main.app is IN_PROGRESS (1 of 2 ready)"
    )


# update


def test_update_sends_the_parameters_alone(kudo: Run, installed: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "-p", "TEA=mint")
    assert (ran.code, ran.out, ran.err) == (0, "Instance tea was updated.\n", "")
    assert installed.requests[-1] == (
        "PATCH",
        "instances/tea",
        {"spec": {"parameters": {"CUPS": "3", "TEA": "mint"}}},
    )


def test_update_of_a_missing_instance(kudo: Run, api: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.err == ("Error: instance tea in namespace kitchen does not exist in the cluster\n")


def test_a_denial_is_shown_in_the_words_of_the_api_server(kudo: Run, installed: FakeApi) -> None:
    installed.refusals["PATCH", "instances"] = (403, DENIED)
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3")
    assert (ran.code, ran.out, ran.err) == (255, "", f"Error: {DENIED}\n")


def test_update_waits_for_the_run_that_it_caused(kudo: Run, installed: FakeApi) -> None:
    complete(installed)
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 0
    assert ran.out == "Instance tea was updated.\ninstance kitchen/tea ready\n"


def test_an_update_that_triggers_nothing_is_not_waited_for(kudo: Run, installed: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=2", "--wait")
    assert ran.code == 0
    assert ran.out == "Instance tea was updated.\n"
    assert "nothing to wait for" in ran.err


def test_an_instance_deleted_while_waiting_is_an_error(kudo: Run, installed: FakeApi) -> None:
    installed.plan, installed.script = "deploy", [lambda _: None]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 255
    assert ran.err.splitlines()[-1] == (
        "Error: instance kitchen/tea was deleted while waiting for it"
    )


# uninstall


def test_uninstall_deletes_exactly_the_instance_that_was_seen(
    kudo: Run, installed: FakeApi
) -> None:
    uid = installed.objects["instances", "tea"]["metadata"]["uid"]
    ran = kudo("uninstall", "--instance", "tea")
    assert (ran.code, ran.out) == (0, "instance.kudo.dev/v1beta1/tea deleted\n\n")
    method, path, body = installed.requests[-1]
    assert (method, path) == ("DELETE", "instances/tea")
    assert body is not None
    assert body["preconditions"] == {"uid": uid}
    assert body["propagationPolicy"] == "Background"
    assert installed.names("operatorversions") == [VERSION]


def test_uninstall_of_a_missing_instance(kudo: Run, api: FakeApi) -> None:
    ran = kudo("uninstall", "--instance", "tea")
    assert ran.err == ("Error: instance tea in namespace kitchen does not exist in the cluster\n")


def test_uninstall_waits_until_the_instance_is_gone(kudo: Run, installed: FakeApi) -> None:
    installed.script = [status("IN_PROGRESS", plan="cleanup"), lambda _: None]
    ran = kudo("uninstall", "--instance", "tea", "--wait")
    assert ran.code == 0
    assert "cleanup.main.app IN_PROGRESS" in ran.err


# get


def test_get_prints_names_as_a_tree(kudo: Run, installed: FakeApi) -> None:
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": {}})
    ran = kudo("get", "instances")
    assert ran.out == (
        'List of current installed instances in namespace "kitchen":\n.\n├── milk\n└── tea\n\n'
    )


def test_get_all_shows_parents_that_are_missing(kudo: Run, installed: FakeApi) -> None:
    spec: JsonObject = {"operatorVersion": {"name": "gone-1"}}
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": spec})
    spec = {"operatorVersion": {"name": "gone-2", "namespace": "default"}}
    installed.add("instances", {"metadata": {"name": "oat"}, "spec": spec})
    spec = {"operator": {"name": "cow"}}
    installed.add("operatorversions", {"metadata": {"name": "cow-1"}, "spec": spec})
    assert kudo("get", "all").out == (
        "List of current installed operators including versions and instances "
        'in namespace "kitchen":\n'
        ".\n"
        "├── teapot\n"
        "│\u00a0\u00a0 └── teapot-2.1.0-0.3.0\n"
        "│\u00a0\u00a0     └── tea\n"
        "├── cow (missing)\n"
        "│\u00a0\u00a0 └── cow-1\n"
        "├── gone-1 (missing)\n"
        "│\u00a0\u00a0 └── milk\n"
        "└── gone-2 (in namespace default)\n"
        "    └── oat\n"
        "\n"
    )


def test_get_of_an_empty_namespace(kudo: Run, api: FakeApi) -> None:
    title = "List of current installed operators including versions and instances"
    assert kudo("get", "all").out == f'{title} in namespace "kitchen":\n.\n\n'
    assert kudo("get", "all", "-o", "json").out == "[]\n"
    assert kudo("get", "operators", "-o", "yaml").out == "...\n"


def test_get_as_data_holds_the_objects_in_the_order_of_the_kinds(
    kudo: Run, installed: FakeApi
) -> None:
    installed.objects["instances", "tea"]["metadata"]["managedFields"] = [{}]
    ran = kudo("get", "all", "-o", "json")
    kinds = [obj["kind"] for obj in json.loads(ran.out)]
    assert kinds == ["Operator", "OperatorVersion", "Instance"]
    assert "managedFields" not in ran.out
    assert ran.err == ""


# plan status, plan trigger


def test_plan_status_of_an_instance_that_never_ran(kudo: Run, installed: FakeApi) -> None:
    text = "No plan ever run for instance - nothing to show for instance tea\n"
    assert kudo("plan", "status", "--instance", "tea").out == text
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert (ran.code, ran.out) == (0, text)


def test_plan_status_prints_the_tree(kudo: Run, installed: FakeApi) -> None:
    status("COMPLETE")(installed.objects["instances", "tea"])
    assert kudo("plan", "status", "--instance", "tea").out == (
        'Plan(s) for "tea" in namespace "kitchen":\n'
        ".\n"
        f'└── tea (Operator-Version: "{VERSION}" Active-Plan: "deploy")\n'
        "    └── Plan deploy (serial strategy) [COMPLETE]\n"
        "        └── Phase main (serial strategy) [COMPLETE]\n"
        "            └── Step app [COMPLETE]\n"
        "\n"
    )


def test_plan_status_as_data_is_the_status(kudo: Run, installed: FakeApi) -> None:
    status("COMPLETE")(installed.objects["instances", "tea"])
    ran = kudo("plan", "status", "--instance", "tea", "-o", "json")
    assert json.loads(ran.out) == installed.objects["instances", "tea"]["status"]


def test_plan_status_needs_the_instance_and_its_version(kudo: Run, installed: FakeApi) -> None:
    assert kudo("plan", "status", "--instance", "milk").err == (
        "Error: instance kitchen/milk does not exist\n"
    )
    status("COMPLETE")(installed.objects["instances", "tea"])
    del installed.objects["operatorversions", VERSION]
    assert kudo("plan", "status", "--instance", "tea").err == (
        f"Error: OperatorVersion {VERSION} from instance kitchen/tea does not exist\n"
    )
    assert kudo("plan", "status", "--instance", "tea", "-o", "yaml").code == 0


def test_plan_status_waits_for_the_end_and_prints_the_last_tree(
    kudo: Run, installed: FakeApi
) -> None:
    tea = installed.objects["instances", "tea"]
    tea["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    complete(installed)
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert ran.code == 0
    assert ran.out.count("Plan deploy (serial strategy) [COMPLETE]") == 1
    assert "IN_PROGRESS" not in ran.out
    assert "deploy IN_PROGRESS" in ran.err


def test_plan_status_fails_when_the_plan_does(kudo: Run, installed: FakeApi) -> None:
    tea = installed.objects["instances", "tea"]
    tea["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    installed.script = [status("FATAL_ERROR", message="no water")]
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert ran.code == 255
    assert "Step app [FATAL_ERROR] (no water)" in ran.out
    assert ran.err.endswith("FATAL_ERROR at deploy.main.app: no water\n")


def test_plan_trigger_names_the_plan_under_a_fresh_uid(kudo: Run, installed: FakeApi) -> None:
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    assert (ran.code, ran.out) == (0, "Triggered deploy plan for kitchen/tea instance\n")
    first = installed.requests[-1][2]
    kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    second = installed.requests[-1][2]
    assert first
    assert second
    assert first["spec"]["planExecution"]["planName"] == "deploy"
    assert len({obj["spec"]["planExecution"]["uid"] for obj in (first, second)}) == 2


def test_plan_trigger_of_a_missing_instance_says_what_the_server_says(
    kudo: Run, api: FakeApi
) -> None:
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    assert ran.err == 'Error: instances.kudo.dev "tea" not found\n'


def test_plan_trigger_waits_for_its_run(kudo: Run, installed: FakeApi) -> None:
    complete(installed)
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy", "--wait")
    assert ran.code == 0
    assert ran.out.endswith("instance kitchen/tea ready\n")


# Waiting


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_tree_is_drawn_again_and_again_and_stays(
    kudo: Run, installed: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    complete(installed)
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 0
    drawn = terminal.getvalue().split("\033[J")
    assert "Plan deploy (serial strategy) [PENDING]" in drawn[1]
    assert "Plan deploy (serial strategy) [COMPLETE]" in drawn[-1]


def test_a_lost_watch_is_told_and_taken_up_again(kudo: Run, installed: FakeApi) -> None:
    complete(installed)
    installed.lost_watches = 2
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 0
    assert ran.err.count("lost sight of instance kitchen/tea, trying again: ") >= 1
    assert "deploy.main.app COMPLETE" in ran.err


def test_who_may_not_watch_is_told_at_once(kudo: Run, installed: FakeApi) -> None:
    installed.plan = "deploy"
    installed.refusals["GET", "instances"] = (403, "instances.kudo.dev is forbidden")
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy", "--wait")
    assert ran.code == 255
    assert ran.err == "Error: instances.kudo.dev is forbidden\n"


def test_an_interrupt_while_waiting_ends_quietly_with_130(kudo: Run, installed: FakeApi) -> None:
    installed.objects["instances", "tea"]["spec"]["planExecution"] = {
        "planName": "deploy",
        "uid": "1",
    }
    installed.script = [status("IN_PROGRESS")]
    command = [sys.executable, "-m", "kubectl_kudo", "plan", "status", "--instance", "tea"]
    process = subprocess.Popen([*command, "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert b"deploy IN_PROGRESS" in first
    assert process.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)


# The connection


@pytest.mark.parametrize("name", ["..", "a/b", "Tea", "tea-"])
def test_names_that_no_object_can_have_are_not_sent(kudo: Run, api: FakeApi, name: str) -> None:
    ran = kudo("uninstall", "--instance", name)
    assert ran.code == 255
    assert f'the instance name "{name}" is not possible' in ran.err
    assert api.requests == []


def test_the_namespace_is_that_of_the_chosen_context_or_of_the_flag(
    kudo: Run, api: FakeApi
) -> None:
    assert 'namespace "default"' in kudo("get", "all", "--context", "other").out
    assert 'namespace "pantry"' in kudo("-n", "pantry", "get", "all", "--context", "other").out


def test_an_unknown_context_is_an_error(kudo: Run, api: FakeApi) -> None:
    ran = kudo("get", "all", "--context", "none")
    assert ran.code == 255
    assert "none" in ran.err


def test_missing_crds_are_named_one_by_one(kudo: Run, api: FakeApi) -> None:
    api.served = ["instances"]
    ran = kudo("get", "all")
    assert ran.code == 255
    assert "Error: CRDs invalid: \n" in ran.err
    assert "Expected API version v1beta1 was not found for operators.kudo.dev" in ran.err
    assert "instances.kudo.dev" not in ran.err
    assert kudo("get", "all", "--validate-install=false").code == 0


def test_who_may_not_read_discovery_is_let_through(kudo: Run, api: FakeApi) -> None:
    api.refusals["GET", "discovery"] = (403, "forbidden")
    assert kudo("get", "all").code == 0


def test_what_is_forbidden_is_told_in_the_words_of_the_api_server(kudo: Run, api: FakeApi) -> None:
    api.refusals["GET", "instances"] = (403, 'instances.kudo.dev is forbidden: User "tea"')
    ran = kudo("get", "instances")
    assert ran.err == 'Error: instances.kudo.dev is forbidden: User "tea"\n'


def test_warnings_of_the_api_server_go_to_stderr_once(kudo: Run, api: FakeApi) -> None:
    api.warning = "tea is deprecated"
    ran = kudo("get", "all", "-o", "json")
    assert ran.out == "[]\n"
    assert ran.err == "Warning: tea is deprecated\n"


def test_the_warning_about_the_name_of_our_finalizer_is_kept_from_users(
    kudo: Run, api: FakeApi
) -> None:
    api.warning = (
        'metadata.finalizers: "kudo.dev.instance.cleanup": prefer a domain-qualified finalizer name'
    )
    assert kudo("get", "all").err == ""
