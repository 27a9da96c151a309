"""The plan of a test suite: which cluster it runs on, and what is done for lines of others."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo.commands.test.host import kudo_verdict
from kudo_harness.findings import SuiteInvalid
from kudo_harness.planning.plan import (
    Action,
    Plan,
    PlannedNode,
    PlanOptions,
    Where,
)
from kudo_harness.planning.planner import plan_run
from kudo_harness.suite import SuiteRequest, load_suite

RUNS = "the CRDs are created, and the webhook and the reconciler run as processes"
STARTS = "kudo-cluster starts a control plane of processes on this machine"
MANAGED = "the webhook and the reconciler of this version run instead"
REMOVED = (
    "KUDO runs as processes here and cannot be removed or taken over; run the suite with "
    "--kubeconfig on another cluster"
)
NO_DOCKER = (
    "there is no Docker and no kind here, where the cluster consists of processes: remove the "
    "command, or run the suite with --kubeconfig on a cluster of kind"
)
_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


def plan(folder: Path, text: str, *, step: str = "", **options: Any) -> Plan:
    """Plan a suite with one case, of which `step` is the TestStep."""
    case = folder / "e2e" / "first"
    case.mkdir(parents=True)
    (case / "00-install.yaml").write_text(textwrap.dedent(step) or _OBJECT)
    head = "apiVersion: kudo.dev/v1alpha1\nkind: TestSuite\n"
    config = folder / "kudo-test.yaml"
    config.write_text(head + textwrap.dedent(text).removeprefix("\n"))
    suite = load_suite(SuiteRequest(config=config, test_dirs=(str(folder / "e2e"),)))
    asked = PlanOptions(**{"folder": folder, **options})
    return plan_run(suite, asked, kudo_verdict)


def problems(folder: Path, text: str, *, step: str = "", **options: Any) -> list[str]:
    with pytest.raises(SuiteInvalid) as caught:
        plan(folder, text, step=step, **options)
    return [str(one).replace(f"{folder}/", "") for one in caught.value.findings]


def lines(found: Plan, folder: Path) -> list[str]:
    return [line.replace(f"{folder}/", "") for line in map(str, found.substitutions)]


def test_without_a_line_that_asks_for_one_the_current_context_is_used(tmp_path: Path) -> None:
    found = plan(tmp_path, "commands: [{command: kubectl kudo init --wait}]")
    assert found.where is Where.CURRENT
    assert lines(found, tmp_path) == []
    assert [one.action for one in found.commands] == [Action.RUN]


@pytest.mark.parametrize("field", ["startKIND", "startControlPlane"])
def test_a_suite_of_others_runs_on_a_control_plane_of_processes(tmp_path: Path, field: str) -> None:
    found = plan(
        tmp_path,
        f"""
        {field}: true
        commands:
          - command: kubectl kudo init --unsafe-self-signed-webhook-ca --wait
          - command: kubectl apply -f rbac.yaml
          - command: ./bin/manager
            background: true
        """,
    )
    assert found.where is Where.OWN
    assert found.installs_kudo
    assert lines(found, tmp_path) == [
        f"kudo-test.yaml:3: {field}: {STARTS}",
        f"kudo-test.yaml:5: kubectl kudo init --unsafe-self-signed-webhook-ca --wait: {RUNS}",
        f"kudo-test.yaml:7: ./bin/manager: {MANAGED}",
    ]
    assert [one.action for one in found.commands] == [
        Action.INSTALL_KUDO,
        Action.RUN,
        Action.INSTALL_KUDO,
    ]
    assert found.asked is not None
    assert found.asked.place.line == 3
    assert found.nodes == (PlannedNode(),)


def test_start_kudo_has_an_effect_bto_65(tmp_path: Path) -> None:
    found = plan(tmp_path, "startControlPlane: true\nstartKUDO: true\n")
    assert lines(found, tmp_path) == [
        f"kudo-test.yaml:3: startControlPlane: {STARTS}",
        f"kudo-test.yaml:4: startKUDO: {RUNS}",
    ]
    [first] = found.commands
    assert (first.action, first.command.place.line) == (Action.INSTALL_KUDO, 4)


def test_start_kudo_alone_starts_a_cluster_bto_65(tmp_path: Path) -> None:
    found = plan(tmp_path, "timeout: 60", start_kudo=True)
    assert found.where is Where.OWN
    assert lines(found, tmp_path) == [f"command line: --start-kudo: {STARTS}, and {RUNS}"]


def test_with_a_kubeconfig_nothing_is_started_and_commands_run_as_they_are(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        """
        startKIND: true
        startKUDO: true
        kindContainers: [example.com/db:1]
        commands:
          - command: kubectl kudo init
          - command: docker build .
          - command: ./bin/manager
            background: true
        """,
        kubeconfig="kubeconfig",
    )
    assert found.where is Where.GIVEN
    assert lines(found, tmp_path) == [
        "kudo-test.yaml:3: startKIND: skipped: the cluster of --kubeconfig is used",
        "kudo-test.yaml:4: startKUDO: skipped: the cluster of --kubeconfig is used",
        "kudo-test.yaml:5: example.com/db:1: skipped: the cluster of --kubeconfig is used",
    ]
    assert [one.action for one in found.commands] == [Action.RUN] * 3
    assert not found.installs_kudo


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("startKIND: true", {"start_control_plane": True}),
        ("startControlPlane: true", {"start_kind": True}),
        ("startControlPlane: true", {"kind_config": "kind.yaml"}),
        ("timeout: 1", {"start_kind": True, "start_control_plane": True}),
    ],
)
def test_both_start_modes_are_refused(tmp_path: Path, text: str, flags: dict[str, Any]) -> None:
    (tmp_path / "kind.yaml").write_text("kind: Cluster\n")
    [problem] = problems(tmp_path, text, **flags)
    assert problem.endswith(": only one of --start-control-plane and --start-kind can be set")


def test_a_flag_that_is_given_overrides_the_file(tmp_path: Path) -> None:
    found = plan(tmp_path, "startKIND: true", start_kind=False, start_control_plane=True)
    assert lines(found, tmp_path) == [f"command line: --start-control-plane: {STARTS}"]
    assert plan(tmp_path / "b", "startKIND: true", start_kind=False).where is Where.CURRENT


@pytest.mark.parametrize(
    "command",
    [
        "kubectl kudo init",
        "kubectl-kudo init --wait",
        "./bin/kubectl-kudo init",
        "kubectl kudo -n default init",
        "kubectl kudo --kubeconfig=$KUBECONFIG init --upgrade",
        "go run ./cmd/kubectl-kudo init --crd-only",
        "go run cmd/kubectl-kudo/main.go init -c -w --wait-timeout 300",
        "env A=b timeout 60s kubectl kudo init",
        "go run ./cmd/manager",
        "go run ./cmd/manager/main.go --metrics-addr=:1",
        "bin/manager",
    ],
)
def test_what_installs_kudo_or_runs_its_manager(tmp_path: Path, command: str) -> None:
    found = plan(tmp_path, f"startKIND: true\ncommands:\n- command: {command}\n")
    assert [one.action for one in found.commands] == [Action.INSTALL_KUDO]
    assert lines(found, tmp_path)[1].startswith(f"kudo-test.yaml:5: {command}: ")


@pytest.mark.parametrize(
    "command",
    [
        "kubectl kudo install first-operator",
        "kubectl kudo init --dry-run -o yaml",
        "kubectl apply -f docker",
        "echo kind load",
        "make run",
        "cat cmd/manager/main.go",
        "kubectl 'kudo",
    ],
)
def test_what_runs_as_it_is(tmp_path: Path, command: str) -> None:
    text = f'startKIND: true\ncommands:\n- script: "{command}"\n'
    found = plan(tmp_path, text)
    assert [one.action for one in found.commands] == [Action.RUN]
    assert lines(found, tmp_path)[1:] == []


def test_flags_of_init_that_have_no_meaning_are_named(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        """
        startKIND: true
        commands:
          - command: kubectl kudo init --kudo-image kudo/controller:v0.19.0 -n other --wait
          - command: kubectl kudo init --version 0.19.0
        """,
    )
    assert [line.rpartition("; ")[2] for line in lines(found, tmp_path)[1:]] == [
        "--namespace, --kudo-image have no meaning there",
        "--version has no meaning there",
    ]


def test_verifying_the_installation_is_left_to_the_harness(tmp_path: Path) -> None:
    found = plan(tmp_path, "startKIND: true\ncommands: [{command: kubectl kudo init --verify}]")
    assert [one.action for one in found.commands] == [Action.SKIP]


def test_the_manager_of_another_controller_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("// a\nmodule example.com/operator\n\ngo 1.22\n")
    text = "startKIND: true\ncommands: [{command: ./bin/manager, background: true}]"
    assert [one.action for one in plan(tmp_path, text).commands] == [Action.RUN]


@pytest.mark.parametrize(
    "module", ["github.com/kudobuilder/kudo", '"github.com/kudobuilder/kudo"', ""]
)
def test_make_run_in_the_background_is_the_manager_of_kudo(tmp_path: Path, module: str) -> None:
    (tmp_path / "go.mod").write_text(f"module {module}\n")
    text = "startKIND: true\ncommands: [{command: make run, background: true}]"
    assert [one.action for one in plan(tmp_path, text).commands] == [Action.INSTALL_KUDO]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("docker run -d registry", NO_DOCKER),
        ("kind create cluster", NO_DOCKER),
        ("/usr/local/bin/kind get kubeconfig", NO_DOCKER),
        ("docker", NO_DOCKER),
        ("kubectl kudo init --wiat", "unknown flag: --wiat"),
        (
            "kubectl kudo init --uninstall --yes",
            REMOVED,
        ),
    ],
)
def test_what_cannot_be_done_is_an_error_with_its_line(
    tmp_path: Path, command: str, problem: str
) -> None:
    text = f"startKIND: true\ncommands:\n- command: echo\n- command: {command}\n"
    assert problems(tmp_path, text) == [f"kudo-test.yaml:6: {command}: {problem}"]


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    step = """
        apiVersion: kudo.dev/v1beta1
        kind: TestStep
        commands:
          - command: docker exec kind-control-plane ls
        """
    text = "startKIND: true\ncommands: [{command: kind version}, {script: docker ps}]"
    assert [one.partition(": ")[0] for one in problems(tmp_path, text, step=step)] == [
        "e2e/first/00-install.yaml:5",
        "kudo-test.yaml:4",
        "kudo-test.yaml:4",
    ]


@pytest.mark.parametrize(
    "command",
    ["docker build -t db .", "docker pull db:1", "docker tag a b", "kind load docker-image db"],
)
def test_commands_that_prepare_images_are_skipped(tmp_path: Path, command: str) -> None:
    found = plan(tmp_path, f"startKIND: true\ncommands:\n- command: {command}\n")
    assert [one.action for one in found.commands] == [Action.SKIP]
    assert lines(found, tmp_path)[1:] == [
        f"kudo-test.yaml:5: {command}: skipped: simulated nodes run no images"
    ]


def test_a_line_of_a_script_is_left_out_and_the_others_run(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        r"""
        startKIND: true
        commands:
          - script: |
              set -e
              # kubectl kudo init is below
              kubectl kudo init \
                --wait 2>&1 | tee init.log || true
              kubectl apply -f rbac.yaml; echo "a; docker b"
              cat > notes <<EOF
              docker run a
              EOF
        """,
    )
    installed, rest = found.commands
    assert (installed.action, rest.action) == (Action.INSTALL_KUDO, Action.RUN)
    assert rest.command.script.splitlines() == [
        "set -e",
        "# kubectl kudo init is below",
        "true",
        "",
        'kubectl apply -f rbac.yaml; echo "a; docker b"',
        "cat > notes <<EOF",
        "docker run a",
        "EOF",
    ]


def test_a_script_that_only_installs_kudo_is_not_run(tmp_path: Path) -> None:
    found = plan(tmp_path, "startKIND: true\ncommands: [{script: kubectl kudo init >log 2>&1}]")
    assert [one.action for one in found.commands] == [Action.INSTALL_KUDO]


def test_the_script_of_a_shell_is_read(tmp_path: Path) -> None:
    text = "startKIND: true\ncommands:\n- command: sh -c 'kubectl kudo init'\n"
    found = plan(tmp_path, text)
    assert [one.action for one in found.commands] == [Action.INSTALL_KUDO]


def test_a_line_of_a_script_with_more_commands_is_an_error(tmp_path: Path) -> None:
    text = "startKIND: true\ncommands: [{script: kubectl kudo init && kubectl apply -f a}]"
    [problem] = problems(tmp_path, text)
    assert problem == (
        f"kudo-test.yaml:4: kubectl kudo init: what is done for it ({RUNS}) cannot be done in the "
        "midst of a line of a script; write it on a line of its own"
    )


def test_commands_of_steps_are_planned_as_well(tmp_path: Path) -> None:
    step = """
        apiVersion: kudo.dev/v1beta1
        kind: TestStep
        commands:
          - command: kubectl kudo init
          - command: kubectl kudo install a
        """
    found = plan(tmp_path, "startKIND: true", step=step)
    [folder] = load_suite(SuiteRequest(test_dirs=(str(tmp_path / "e2e"),))).test_dirs
    actions = [found.of_step(one) for one in folder.cases[0].steps[0].commands]
    assert [one.action for planned in actions for one in planned] == [
        Action.INSTALL_KUDO,
        Action.RUN,
    ]
    assert lines(found, tmp_path)[1] == f"e2e/first/00-install.yaml:5: kubectl kudo init: {RUNS}"
    assert not found.installs_kudo


def test_the_workers_of_kind_become_simulated_nodes(tmp_path: Path) -> None:
    (tmp_path / "kind.yaml").write_text(
        textwrap.dedent(
            """\
            kind: Cluster
            apiVersion: kind.x-k8s.io/v1alpha4
            networking:
              disableDefaultCNI: true
            nodes:
            - role: control-plane
            - role: worker
              labels: {zone: a}
            - role: worker
              image: kindest/node:v1.21.1
            """
        )
    )
    found = plan(tmp_path, "startKIND: true\nkindConfig: kind.yaml\nkindContext: other\n")
    assert found.nodes == (PlannedNode({"zone": "a"}), PlannedNode())
    assert lines(found, tmp_path)[1:] == [
        "kind.yaml:3: networking: skipped: nodes here have no container",
        "kind.yaml:10: image: skipped: nodes here have no container",
        "kudo-test.yaml:4: kindConfig: kind.yaml: 2 simulated nodes",
        "kudo-test.yaml:1: kindContext: other: skipped: the cluster has a context of its own",
    ]


def test_a_cluster_of_kind_without_workers_has_one_node(tmp_path: Path) -> None:
    (tmp_path / "kind.yaml").write_text("kind: Cluster\nnodes:\n- role: control-plane\n")
    found = plan(tmp_path, "timeout: 1", kind_config="kind.yaml")
    assert found.nodes == (PlannedNode(),)
    assert lines(found, tmp_path) == [
        f"command line: --start-kind: {STARTS}",
        "command line: kindConfig: kind.yaml: one simulated node",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("featureGates: {A: true}", "kind.yaml:2: featureGates: a feature gate changes"),
        ("runtimeConfig: {api/all: 'true'}", "kind.yaml:2: runtimeConfig: it changes which APIs"),
        ("kubeadmConfigPatches: [a]", "kind.yaml:2: kubeadmConfigPatches: there is no kubeadm"),
        ("nodes: [{kubeadmConfigPatches: [a]}]", "kind.yaml:2: kubeadmConfigPatches: there is"),
        ("node: []", "kind.yaml:2: unknown field node; did you mean nodes?"),
        (f"nodes: [{'{},' * 101}]", "kind.yaml:2: more than 100 nodes cannot be simulated"),
    ],
)
def test_a_field_of_kind_that_changes_the_cluster_is_an_error(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "kind.yaml").write_text(f"kind: Cluster\n{text}\n")
    [found] = problems(tmp_path, "startKIND: true\nkindConfig: kind.yaml\n")
    assert found.startswith(problem)


def test_a_configuration_of_kind_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    [found] = problems(tmp_path, "startKIND: true\nkindConfig: kind.yaml\n")
    assert found == "kudo-test.yaml:4: kind.yaml cannot be read: No such file or directory"


def test_lines_that_only_kind_needs_are_skipped(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        """
        startKIND: true
        kindNodeCache: true
        kindContainers:
          - example.com/db:1
        attachControlPlaneOutput: true
        """,
    )
    assert [line.partition(": ")[2] for line in lines(found, tmp_path)[1:]] == [
        "kindNodeCache: skipped: there are no images",
        "kindContainers: example.com/db:1: skipped: simulated nodes run no images",
        "attachControlPlaneOutput: the logs of its programs are shown on stderr",
    ]


FAULT = """
    apiVersion: kudo.dev/v1beta1
    kind: TestStep
    faults:
      - {}
    """
UNREADY = "nodeNotReady: {name: node-2, seconds: 1}"
RESTART = "restart: reconciler"


@pytest.mark.parametrize(
    ("text", "fault", "problem"),
    [
        (
            "timeout: 1",
            RESTART,
            "faults are caused only on a cluster that the harness starts: add ",
        ),
        ("timeout: 1", UNREADY, "only the simulated nodes of a cluster that the harness starts "),
        ("startKIND: true", UNREADY, "no node node-2; there are node-1"),
        ("startKIND: true", RESTART, "the reconciler does not run: no line of the suite installs "),
    ],
)
def test_a_fault_that_cannot_be_caused_there_is_an_error_before_anything_runs(
    tmp_path: Path, text: str, fault: str, problem: str
) -> None:
    [found] = problems(tmp_path, text, step=FAULT.format(fault))
    assert found.startswith(f"e2e/first/00-install.yaml:5: {problem}")


def test_faults_on_a_cluster_of_our_own(tmp_path: Path) -> None:
    assert plan(tmp_path, "startKUDO: true", step=FAULT.format(RESTART)).where is Where.OWN
    text = "startKIND: true\ncommands: [{command: kubectl kudo init}]"
    assert plan(tmp_path / "b", text, step=FAULT.format(RESTART)).where is Where.OWN


def test_faults_on_a_cluster_of_the_user_have_to_be_allowed(tmp_path: Path) -> None:
    step = FAULT.format(RESTART)
    assert (
        plan(tmp_path, "timeout: 1", step=step, context="a", allow_faults=True).substitutions == ()
    )
    [problem] = problems(tmp_path / "b", "timeout: 1", step=step, kubeconfig="k")
    assert problem.endswith("or allow them on this cluster with --allow-faults")
    [problem] = problems(
        tmp_path / "c", "timeout: 1", step=FAULT.format(UNREADY), context="a", allow_faults=True
    )
    assert "only the simulated nodes" in problem
