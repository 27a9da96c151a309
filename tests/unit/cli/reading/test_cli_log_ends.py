"""The last lines of the log of what has failed, read with the rights of whoever asks."""

from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo.__main__ import main
from kubectl_kudo.reading import log_ends
from kubectl_kudo.reading.log_ends import CHARACTERS, LINES, last_lines
from kubectl_kudo.session.errors import ExitCode
from kudo.api.names import ANNOTATION_PLAN_UID, LABEL_JOB_OF
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.terminals.stream import TerminalStream
from tests.unit.cli.conftest import KUBECONFIG, VERSION, Cli
from tests.unit.cli.diagnostics.incidents import controlled, install_kudo, settle, waits
from tests.unit.cli.fake_api import FakeApi, status
from tests.unit.cli.inventories import owned
from tests.unit.cli.live_api import LiveApi

JsonObject = dict[str, Any]
JOB = "tea-boil-0123456789"
POD = f"{JOB}-a"
LOG = f"pods/{POD}/log?main"
FAILED = (
    "Error during execution: fatal error: tea failed in deploy.main.app.boil: "
    f"job {JOB} failed: container main ended with exit code 3: no water"
)
OF_CHILD = "instance kitchen/pot plan deploy ended with FATAL_ERROR"
HEAD = f"last lines of pod {POD}, container main:"
TREE = f"""\
                └── {HEAD}
                    ├── + psql orders
                    └──   no such table
"""


@pytest.fixture
def tea(installed: FakeApi) -> FakeApi:
    """Return the server; plan `deploy` of `tea` has failed at a Job task, whose log is there."""
    install_kudo(installed)
    fail(installed)
    job = add_job(installed)
    add_pod(installed, job)
    installed.texts[LOG] = b"+ psql orders\n  no such table\n"
    return installed


def fail(api: FakeApi, message: str = FAILED, name: str = "tea") -> None:
    instance = api.objects["instances", name]
    instance["spec"]["planExecution"] = {"planName": "deploy", "uid": "run"}
    waits(instance, message, "FATAL_ERROR")


def add_job(api: FakeApi, name: str = JOB, run: str = "run") -> JsonObject:
    job = owned(api, name, spec={})
    job["metadata"] |= {
        "labels": {LABEL_JOB_OF: "boil"},
        "annotations": {ANNOTATION_PLAN_UID: run},
    }
    api.unavailable.add(name)
    stored = api.add("jobs", job)
    why = {"reason": "BackoffLimitExceeded", "message": "Job has reached its backoff limit"}
    failed = {"type": "Failed", "status": "True", **why}
    api.objects["jobs", name]["status"] = {"conditions": [failed]}
    return stored


def add_pod(
    api: FakeApi, job: JsonObject, name: str = POD, created: str = "2026-01-01T00:00:00Z"
) -> None:
    ended = {"terminated": {"reason": "Error", "exitCode": 3}}
    state = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": ended}]}
    pod = controlled(name, job, spec={}, status=state)
    labels = {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    pod["metadata"] |= {"labels": labels, "creationTimestamp": created}
    api.add("pods", pod)


def shown(kudo: Cli) -> str:
    ran = kudo("plan", "status", "--instance", "tea")
    assert ran.code == 0
    return ran.out


# Where it is shown


def test_plan_status_shows_it_below_the_failed_step(kudo: Cli, tea: FakeApi) -> None:
    assert TREE in shown(kudo)
    assert TREE in kudo("plan", "status", "--instance", "tea", "--plan", "deploy").out
    fail(tea, f'job "{JOB}" has failed terminally: limit')
    assert TREE in shown(kudo)


def test_a_wait_that_fails_has_it_in_its_error(kudo: Cli, tea: FakeApi) -> None:
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == ExitCode.PLAN_FAILED
    assert f"\n  {HEAD}\n    + psql orders\n      no such table\nSee why: " in ran.err


def test_plan_status_that_waits_shows_it_once(kudo: Cli, tea: FakeApi) -> None:
    tea.objects["instances", "tea"]["status"] = {}
    tea.script = [status("FATAL_ERROR", message=FAILED)]
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert ran.code == ExitCode.PLAN_FAILED
    assert TREE in ran.out
    assert HEAD not in ran.err


def test_why_shows_it_below_the_cause(kudo: Cli, tea: FakeApi) -> None:
    assert (
        f"""\
Cause: pod {POD}: container main ended with Error (3)
Next: see its log
Run: kubectl logs {POD} -n kitchen -c main
L{HEAD[1:]}
  + psql orders
    no such table
Also:
"""
        in kudo("why", "tea").out
    )


@pytest.mark.parametrize("command", ["why tea -o json", "plan status --instance tea -o yaml"])
def test_data_for_programs_is_without_it(kudo: Cli, tea: FakeApi, command: str) -> None:
    del tea
    ran = kudo(*command.split())
    assert ran.code == 0
    assert "psql" not in ran.out


def test_a_terminal_has_each_line_cut_to_its_width(
    kudo: Cli, tea: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    del kudo
    tea.texts[LOG] = b"a b " * 100 + b"\n" + b"x" * 300
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    for command in (["why", "tea"], ["plan", "status", "--instance", "tea"]):
        screen = TerminalStream()
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", screen)
            main(command)
        lines = screen.getvalue().splitlines()
        log = [line for line in lines if "a b a b" in line or "xxxx" in line]
        assert [line[-1] for line in log] == ["…", "…"]
        assert all(60 < len(line) <= 80 for line in log)


def test_that_of_a_child_is_shown_below_the_step_of_its_parent(kudo: Cli, tea: FakeApi) -> None:
    spec = {"operatorVersion": {"name": VERSION}}
    tea.add("instances", {"metadata": {"name": "pot"}, "spec": spec})
    fail(tea, FAILED, "pot")
    fail(tea, OF_CHILD)
    assert TREE in shown(kudo)


def test_a_step_that_is_only_waiting_costs_no_log(kudo: Cli, tea: FakeApi) -> None:
    waits(tea.objects["instances", "tea"], f'job "{JOB}" still running')
    assert HEAD not in shown(kudo)


def test_a_container_that_crashes_again_and_again_is_shown_as_it_ended(
    kudo: Cli, tea: FakeApi
) -> None:
    waiting = {"reason": "CrashLoopBackOff"}
    ended = {"terminated": {"reason": "Error", "exitCode": 3}}
    state = {"name": "main", "state": {"waiting": waiting}, "lastState": ended, "restartCount": 7}
    tea.objects["pods", POD]["status"] = {"phase": "Running", "containerStatuses": [state]}
    tea.texts[f"{LOG}?previous"] = b"out of tea\n"
    assert f"L{HEAD[1:]}\n  out of tea\n" in kudo("why", "tea").out


# Which log


def test_of_several_pods_the_last_one_counts(kudo: Cli, tea: FakeApi) -> None:
    job = tea.objects["jobs", JOB]
    add_pod(tea, job, f"{JOB}-0", "2026-01-01T00:00:05Z")
    tea.texts[f"pods/{JOB}-0/log?main"] = b"the second attempt\n"
    assert "the second attempt" in shown(kudo)
    assert "psql" not in shown(kudo)


def test_a_job_that_an_earlier_run_has_left_is_not_the_cause(kudo: Cli, tea: FakeApi) -> None:
    former = add_job(tea, "tea-boil-9999999999", run="former")
    add_pod(tea, former, "tea-boil-9999999999-a")
    assert "9999999999" not in kudo("why", "tea").out
    settle(tea.objects["instances", "tea"])
    tea.objects["instances", "tea"]["status"]["planStatus"]["deploy"]["uid"] = "newer"
    assert kudo("why", "tea").out == "tea: Ready (ResourcesReady)\nNothing looks wrong.\n"


def test_a_job_without_pods_has_none(kudo: Cli, tea: FakeApi) -> None:
    tea.remove("pods", POD)
    assert "log" not in shown(kudo)


def test_a_log_that_is_gone_is_not_spoken_of(kudo: Cli, tea: FakeApi) -> None:
    del tea.texts[LOG]
    assert "log" not in shown(kudo)
    assert "ast lines" not in kudo("why", "tea").out


# What cannot be read


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (("GET", "pods/log"), f"of pod {POD}, container main: you need get on pods/log"),
        (("LIST", "pods"), f"of job {JOB}: you need list on pods"),
    ],
)
def test_a_right_that_is_lacking_is_named(
    kudo: Cli, tea: FakeApi, refused: tuple[str, str], said: str
) -> None:
    tea.refusals[refused] = (403, "forbidden: no rights")
    out = shown(kudo)
    assert f"└── to see the log {said} in namespace kitchen\n" in out
    assert "no rights" not in out
    assert (
        f"to see the log {said} in namespace kitchen\n"
        in kudo("plan", "wait", "--instance", "tea").err
    )


def test_why_names_the_right_that_is_lacking(kudo: Cli, tea: FakeApi) -> None:
    tea.refusals["GET", "pods/log"] = (403, "forbidden: no rights")
    ran = kudo("why", "tea")
    said = f"To see the log of pod {POD}, container main: you need get on pods/log in namespace"
    assert f"{said} kitchen\nAlso:\n" in ran.out
    assert ran.code == 0


def test_other_errors_are_told_in_its_place(kudo: Cli, tea: FakeApi) -> None:
    tea.refusals["GET", "pods/log"] = (500, "no kubelet\non the node")
    said = f"└── the log of pod {POD}, container main could not be read: no kubelet on the node\n"
    assert said in shown(kudo)


def test_an_answer_that_does_not_come_holds_up_no_command(
    kudo: Cli, tea: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_ends, "SECONDS", 0.2)
    tea.silent.add(f"pods/{POD}")
    said = f"the log of pod {POD}, container main could not be read within 0.2s\n"
    assert said in shown(kudo)
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == ExitCode.PLAN_FAILED
    assert said in ran.err


def test_a_program_that_wrote_nothing_is_told(kudo: Cli, tea: FakeApi) -> None:
    tea.texts[LOG] = b"\n"
    assert f"└── pod {POD}, container main has written nothing to its log\n" in shown(kudo)


# The lines


@pytest.mark.parametrize(
    ("log", "lines"),
    [
        (b"", ()),
        (b"one", ("one",)),
        (b"one\n\n  two\t2\r\n\n", ("one", "", "  two   2")),
        (b"\x1b[1;31mred\x1b[0m \x1b[2Kline\n", ("red line",)),
        (b"\x1b]0;title\x07 \x9b \x00\n", (r"\x1b]0;title\x07 " + "�" + r" \x00",)),
        ("\u202eevil\u2028line\n".encode(), (r"\u202eevil\u2028line",)),
        (b"progress 1\rprogress 2\n", (r"progress 1\rprogress 2",)),
        (b"".join(b"%d\n" % n for n in range(99)), tuple(str(n) for n in range(79, 99))),
    ],
    ids=str,
)
def test_lines_are_those_at_the_end_without_control_characters(
    log: bytes, lines: tuple[str, ...]
) -> None:
    assert last_lines(log) == lines


def test_lines_have_a_bounded_length_together() -> None:
    log = b"".join(b"%02d%s\n" % (n, b"x" * 600) for n in range(LINES))
    lines = last_lines(log)
    assert [line[:2] for line in lines] == ["14", "15", "16", "17", "18", "19"]
    assert sum(map(len, lines)) <= CHARACTERS
    (line,) = last_lines(b"begin" + b"\x00" * 100_000)
    assert line.startswith(r"begin\x00")
    assert line.endswith("…")
    assert len(line) <= 1000


def test_a_huge_log_is_shown_by_its_end(kudo: Cli, tea: FakeApi) -> None:
    tea.texts[LOG] = b"noise\n" * 2_000_000 + b"the end\n"
    out = shown(kudo)
    assert "                    └── the end\n" in out
    assert out.count("── noise") == LINES - 1


# The whole way

OPERATOR = """\
name: web
operatorVersion: 0.1.0
kudoVersion: 0.20.0
kubernetesVersion: 1.22.0
tasks:
  - {name: load, kind: Job, spec: {job: {image: alpine, command: [/load]}}}
plans:
  deploy: {phases: [{name: main, steps: [{name: load, tasks: [load]}]}]}
"""


def test_the_log_of_a_job_task_is_found_by_what_its_step_says(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "operator.yaml").write_text(OPERATOR)
    (tmp_path / "params.yaml").write_text("parameters: []\n")
    with LiveApi().running() as api:
        api.cluster.workloads.outcome = lambda _: Outcome("failed", seconds=0.1)
        api.cluster.workloads.has_pod = lambda _: True
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.format(url=api.url))
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        ran = run("install", str(tmp_path), "--instance", "tea", "--wait", "--wait-time", "30")
        assert ran.code == ExitCode.PLAN_FAILED, ran
        (pod,) = api.names("pods")
        api.texts[f"pods/{pod}/log?main"] = b"out of memory\n"
        assert f"{pod}, container main:\n{' ' * 20}└── out of memory\n" in shown(run)
        assert "\n  out of memory\n" in run("why", "tea").out
        ran = run("plan", "wait", "--instance", "tea")
        assert "container main:\n    out of memory\n" in ran.err
