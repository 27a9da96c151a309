"""`why` and the first line of `plan status` on a terminal, for what goes wrong in clusters."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kubectl_kudo.__main__ import main
from kubectl_kudo.session.blocks import Mark
from kubectl_kudo.session.errors import ExitCode
from tests.support.terminals.stream import TerminalStream
from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.diagnostics.incidents import (
    BRIEF,
    INCIDENTS,
    WAITS,
    Incident,
    controlled,
    crash,
    fail_job,
    hang,
    install_kudo,
    pull,
    remove_version,
    settle,
    stop_reconciler,
    waits,
    warn,
)
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.inventories import entry, owned, record

JsonObject = dict[str, Any]
Shown = Callable[..., str]


@pytest.fixture
def shown(kudo: Cli, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Return a function that runs a command line on a terminal of 80 columns."""
    del kudo  # it has set where the server is

    def run(*argv: str) -> str:
        screen = TerminalStream()
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", "80")
            patch.setenv("LINES", "25")
            patch.setenv("NO_COLOR", "1")
            patch.setattr("sys.stdout", screen)
            main(argv)
        return screen.getvalue()

    return run


@pytest.fixture
def tea(installed: FakeApi) -> JsonObject:
    """Return the Instance; KUDO works, and plan `deploy` waits for Deployment `tea`."""
    install_kudo(installed)
    installed.unavailable = {"tea"}
    instance = installed.objects["instances", "tea"]
    instance["spec"]["planExecution"] = {"planName": "deploy", "uid": "run"}
    waits(instance, 'deployment "tea" is not healthy: 0 of 1 updated replicas are available...')
    return instance


def _words(text: str) -> list[str]:
    """Return the words of a text, however it is wrapped, without the sign before it."""
    return text.lstrip("".join(mark.value for mark in Mark)).split()


ALL = pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: incident.__name__)


@ALL
def test_the_cause_stands_first(
    shown: Shown, installed: FakeApi, tea: JsonObject, incident: Incident
) -> None:
    incident(installed, tea)
    summary, cause = INCIDENTS[incident]
    # The message of a step stands below.
    line = summary
    if cause.startswith("Cause: step main.app: "):
        line = f"{summary.partition(' at main.app')[0]} at main.app\n"
    assert _words(shown("why", "tea")) == _words(line + cause)


@ALL
def test_plan_status_begins_with_how_the_instance_is(
    kudo: Cli, shown: Shown, installed: FakeApi, tea: JsonObject, incident: Incident
) -> None:
    incident(installed, tea)
    summary = INCIDENTS[incident][0]
    advice = "" if "Ready (" in summary else "See why: kubectl kudo why tea -n kitchen\n"
    tree = kudo("plan", "status", "--instance", "tea").out
    assert tree.startswith("Plan(s)") or incident is remove_version
    head, _, drawn = shown("plan", "status", "--instance", "tea").partition("\n\n")
    assert _words(head) == _words(summary + advice)
    assert drawn.split("\n")[0] == tree.split("\n")[0]


def test_nothing_is_wrong(shown: Shown, tea: JsonObject) -> None:
    settle(tea)
    assert shown("why", "--instance", "tea") == (
        "✓ tea: Ready (ResourcesReady)\nNothing looks wrong.\n"
    )
    assert shown("why") == "All instances in namespace kitchen are ready (1).\n"
    assert shown("why", "-n", "default") == "No instances in namespace default.\n"


def test_services_that_run_outside_of_the_cluster_are_not_missing(
    shown: Shown, installed: FakeApi, tea: JsonObject
) -> None:
    settle(tea)
    for name in ("kudo-webhook", "kudo-reconciler"):
        installed.remove("deployments", name)
    assert "deployment kudo-webhook: was not found in namespace kudo-system" in shown("why", "tea")
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        configuration = installed.objects[kind, "kudo-instance-admission"]
        configuration["webhooks"] = [{"clientConfig": {"url": "https://one", "caBundle": "x"}}]
    assert shown("why", "tea") == "✓ tea: Ready (ResourcesReady)\nNothing looks wrong.\n"
    installed.objects["leases", "kudo-reconciler"]["spec"]["holderIdentity"] = ""
    out = shown("why", "tea")
    assert "deployment kudo-reconciler: was not found" in out
    assert "deployment kudo-webhook" not in out


def test_a_pod_that_another_one_has_replaced_is_not_the_cause(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    hang(installed, tea)
    replica_set = installed.objects["replicasets", "tea-1"]
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
    installed.add("pods", controlled("tea-1-0", replica_set, spec={}, status=evicted))
    out = kudo("why", "tea").out
    assert "Cause: pod tea-1-a: " in out
    assert "\n  pod tea-1-0: has failed: Evicted: low on memory\n" in out


def test_an_object_that_the_plan_does_not_wait_for_is_told_last(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    waits(tea, 'job "boil" still running')
    record(installed, entry("ConfigMap", "pot"), entry("Deployment", "tea"))
    out = kudo("why", "tea").out
    cause, _, rest = out.partition("Also:\n")
    assert cause.startswith(f'{BRIEF}Cause: step main.app: job "boil" still running')
    assert rest.splitlines() == [
        f"  {kind}: does not exist; plan deploy has applied it"
        for kind in ("configmap pot", "deployment tea")
    ]
    waits(tea, 'deployment "tea" is not healthy: not found')
    assert "Cause: deployment tea: does not exist; plan deploy" in kudo("why", "tea").out


def test_an_operator_that_is_missing_is_told_last(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    hang(installed, tea)
    installed.remove("operators", "teapot")
    out = kudo("why", "tea").out
    assert "Cause: pod tea-1-a: " in out
    assert out.endswith(f"  operatorversion {VERSION}: its Operator was not found\n")


def test_what_is_wrong_with_kudo_is_told_first_if_no_plan_runs(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    pull(installed, tea)
    stop_reconciler(installed, tea)
    installed.objects["deployments", "kudo-reconciler"]["status"] = {}
    lines = kudo("why", "tea").out.splitlines()
    assert lines[1].startswith("Cause: lease kudo-reconciler: is held by nobody")
    also = lines[lines.index("Also:") + 1 :]
    assert also[0] == "  deployment kudo-reconciler: 0 of 1 pods are ready"
    assert also[1].startswith("  pod tea-1-a: container brew waits: ImagePullBackOff")


def test_a_failed_pod_of_a_job_that_has_succeeded_is_nothing_wrong(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    fail_job(installed, tea)
    settle(tea)
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    installed.objects["jobs", "boil"]["status"] = complete
    assert kudo("why", "tea").out == "tea: Ready (ResourcesReady)\nNothing looks wrong.\n"


def test_what_a_pod_needs_and_nobody_has_made_is_the_cause(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    hang(installed, tea)
    sources = [{"secretRef": {"name": "absent"}}, {"secretRef": {"name": "there"}}]
    pod = installed.objects["pods", "tea-1-a"]
    pod["spec"] = {"containers": [{"name": "brew", "envFrom": sources}]}
    installed.add("secrets", {"metadata": {"name": "there"}, "data": {"a": "c2VjcmV0"}})
    out = kudo("why", "tea").out
    assert "Cause: pod tea-1-a: needs Secret absent, which does not exist\n" in out
    assert "there" not in out


def test_warnings_of_a_ready_instance_are_not_told(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    warn(installed, "Instance", "tea", "PipePodReplaced", "pod p was evicted")
    settle(tea)
    assert "PipePodReplaced" not in kudo("why", "tea").out
    tea["status"] = {}
    tea["spec"]["planExecution"] = {}
    out = kudo("why", "tea").out
    assert "Cause: instance tea: event PipePodReplaced: pod p was evicted\n" in out


def test_without_a_name_all_are_told_of_that_are_not_ready(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    pull(installed, tea)
    version = {"operatorVersion": {"name": VERSION}}
    for name in ("cocoa", "milk"):
        installed.add("instances", {"metadata": {"name": name}, "spec": version})
    settle(installed.objects["instances", "cocoa"])
    ran = kudo("why")
    assert [line for line in ran.out.splitlines() if line[:1].islower()] == [
        "milk: no plan has run yet",
        WAITS.replace("\n ", "").rstrip(),
    ]
    assert ran.code == 0


def test_the_cause_may_be_with_a_child(kudo: Cli, installed: FakeApi, tea: JsonObject) -> None:
    waits(tea, "instance kitchen/tea-pot: plan deploy is not COMPLETE")
    child = owned(installed, "tea-pot", spec={"operatorVersion": {"name": VERSION}})
    child = installed.add("instances", child)
    waits(child, 'statefulset "pot" is not healthy')
    installed.unavailable = {"pot"}
    installed.add("statefulsets", controlled("pot", child, spec={"replicas": 1}))
    out = kudo("why").out
    assert out.count("Cause: ") == 1
    assert "Cause: statefulset pot: 0 of 1 pods are ready\n" in out


def test_what_may_not_be_read_is_told_in_one_line(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    settle(tea)
    for plural in ("pods", "operatorversions", "leases", "mutatingwebhookconfigurations"):
        installed.refusals["GET", plural] = (403, f"{plural} is forbidden: no rights")
    ran = kudo("why", "tea")
    assert ran.code == 0
    *said, last = ran.out.splitlines()
    assert said == ["tea: Ready (ResourcesReady)", "Nothing looks wrong.", ""]
    names = last.removeprefix("Not read: ").partition(":")[0].split(", ")
    assert sorted(names) == [
        "leases of KUDO", "mutatingwebhooks of KUDO", "operatorversion", "pods", "pods of KUDO"
    ]  # fmt: skip
    assert last.endswith("is forbidden: no rights")


def test_what_is_told_for_programs(kudo: Cli, installed: FakeApi, tea: JsonObject) -> None:
    crash(installed, tea)
    found = json.loads(kudo("why", "tea", "-o", "json").out)
    (one,) = found["instances"]
    assert one["findings"][0] == {
        "object": "pod tea-1-a",
        "text": "container brew waits: CrashLoopBackOff: back-off 5m0s; it ended with Error (3) "
        "the last time",
        "advice": "see its log",
        "command": "kubectl logs tea-1-a -n kitchen -c brew --previous",
    }
    assert found["unread"] == found["leftOut"] == []
    assert kudo("why", "tea", "-o", "yaml").out.startswith("instances:\n- findings:\n")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["milk"], ExitCode.NOT_FOUND, "instance milk in namespace kitchen does not exist"),
        (["tea", "milk"], ExitCode.USAGE, "why takes one instance, not tea and milk"),
        (["tea", "-o", "purple"], ExitCode.USAGE, "invalid output format"),
    ],
)
def test_only_what_cannot_be_asked_is_an_error(
    kudo: Cli, tea: JsonObject, argv: list[str], code: ExitCode, said: str
) -> None:
    del tea
    ran = kudo("why", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_who_may_read_no_instances_is_told_so(kudo: Cli, installed: FakeApi) -> None:
    installed.refusals["LIST", "instances"] = (403, "instances is forbidden: no rights")
    ran = kudo("why")
    assert (ran.code, ran.err) == (ExitCode.DENIED, "Error: instances is forbidden: no rights\n")


def test_a_failing_wait_names_why(kudo: Cli, installed: FakeApi, tea: JsonObject) -> None:
    fail_job(installed, tea)
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == ExitCode.PLAN_FAILED
    assert ran.err.endswith("\nSee why: kubectl kudo why tea -n kitchen\n")
