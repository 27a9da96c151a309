"""Kinds that the cluster does not have are told before anything runs, with file and line."""

from pathlib import Path

import pytest

from kubeio.resource import Resource
from kudo_harness.checks.kinds import Kinds, command_may_create
from kudo_harness.findings import Place
from kudo_harness.suite import Command
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.testing.suites import findings_in, kinds_of

SERVED = (
    Resource("", "v1", "ConfigMap", "configmaps", namespaced=True),
    Resource("", "v1", "Namespace", "namespaces", namespaced=False),
    Resource("", "v1", "Pod", "pods", namespaced=True),
    Resource("", "v1", "Secret", "secrets", namespaced=True),
    Resource("apps", "v1", "Deployment", "deployments", namespaced=True),
    Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True),
    Resource("networking.k8s.io", "v1", "Ingress", "ingresses", namespaced=True),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
    ),
    Resource("example.com", "v1", "Widget", "widgets", namespaced=True),
)
INSTANCE = "apiVersion: kudo.dev/v1beta1\nkind: Instance\nmetadata: {name: a}\n"
WIDGET = "apiVersion: shop.example.com/v1\nkind: Gadget\nmetadata: {name: a}\n"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v2, served: false, storage: false}
"""
NEVER = "error e2e/a/01-assert.yaml:1: the cluster has no kind Gadget in shop.example.com/v1"
MAYBE = f"{NEVER.replace('error', 'warning')}, so an assert of it can never match, unless "


@pytest.fixture
def kinds() -> Kinds:
    return Kinds({(one.api_version, one.kind): one for one in SERVED})


def asserted(api_version: str, kind: str) -> dict[str, str]:
    text = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"
    return {"e2e/a/00-assert.yaml": text}


def test_kinds_of_the_cluster_are_fine(tmp_path: Path, kinds: Kinds) -> None:
    assert findings_in(tmp_path, kinds, asserted("apps/v1", "Deployment")) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "line", "advice"),
    [
        ("apps/v1", "Deploymnt", 2, "did you mean Deployment?"),
        ("apps/v1", "deployment", 2, "did you mean Deployment?"),
        ("apps/v1beta1", "Deployment", 1, "the cluster has Deployment in apps/v1"),
        ("extensions/v1beta1", "Ingress", 1, "the cluster has Ingress in networking.k8s.io/v1"),
        ("v1", "Deployment", 2, "the cluster has Deployment in apps/v1"),
        ("app/v1", "StatefulSets", 1, "did you mean StatefulSet in apps/v1?"),
        ("example.com/v1", "Wdget", 2, "did you mean Widget?"),
        ("example.com/v2", "Widget", 1, "the cluster has Widget in example.com/v1"),
        ("v1", "List", 2, "write its items as documents of their own, with --- between them"),
    ],
)
def test_an_unknown_kind_is_an_error_that_says_what_to_write(
    tmp_path: Path, kinds: Kinds, api_version: str, kind: str, line: int, advice: str
) -> None:
    assert findings_in(tmp_path, kinds, asserted(api_version, kind)) == [
        (
            f"error e2e/a/00-assert.yaml:{line}: the cluster has no kind {kind} in {api_version}, "
            f"so an assert of it can never match; {advice}"
        )
    ]


def test_an_unknown_kind_like_no_other_has_no_advice(tmp_path: Path, kinds: Kinds) -> None:
    (finding,) = findings_in(tmp_path, kinds, asserted("v1", "Qqqqqqqqqqq"))
    assert finding.endswith("Qqqqqqqqqqq in v1, so an assert of it can never match")


def test_every_place_of_a_step_is_looked_at(tmp_path: Path, kinds: Kinds) -> None:
    step = """
    apiVersion: kuttl.dev/v1beta1
    kind: TestStep
    delete:
    - {apiVersion: v1, kind: Podd}
    """
    options = """
    apiVersion: kuttl.dev/v1beta1
    kind: TestAssert
    resourceRefs:
    - {apiVersion: v1, kind: Podx, name: a, ref: pod}
    """
    unknown = "apiVersion: v1\nkind: Pady\nmetadata: {name: a}\n"
    files = {
        "e2e/a/00-step.yaml": step,
        "e2e/a/00-apply.yaml": unknown,
        "e2e/a/00-errors.yaml": unknown,
        "e2e/a/00-assert.yaml": options,
    }
    assert [one.partition("; ")[0] for one in findings_in(tmp_path, kinds, files)] == [
        "error e2e/a/00-apply.yaml:2: the cluster has no kind Pady in v1, so it cannot be applied",
        (
            "error e2e/a/00-assert.yaml:4: the cluster has no kind Podx in v1, so the "
            "expressions of this assert can never hold"
        ),
        (
            "error e2e/a/00-errors.yaml:2: the cluster has no kind Pady in v1, so it can never be "
            "looked for"
        ),
        (
            "error e2e/a/00-step.yaml:4: the cluster has no kind Podd in v1, so nothing of it can "
            "be deleted"
        ),
    ]


def test_kinds_of_faults_are_looked_at(tmp_path: Path, kinds: Kinds) -> None:
    step = """
    apiVersion: kuttl.dev/v1beta1
    kind: TestStep
    faults:
    - refuseWrites: {apiVersion: apps/v1, kind: Deploymnt, seconds: 3}
      when: {apiVersion: v1, kind: Podd, metadata: {name: a}, status: {phase: Running}}
    """
    found = findings_in(tmp_path, kinds, {"e2e/a/00-step.yaml": step})
    assert [one.partition(", so ")[0].partition(": ")[2] for one in found] == [
        "the cluster has no kind Deploymnt in apps/v1",
        "the cluster has no kind Podd in v1",
    ]
    assert all("so this fault can never be caused; did you mean" in one for one in found)


def test_a_crd_that_the_case_applied_before_defines_a_kind(tmp_path: Path, kinds: Kinds) -> None:
    files = {"e2e/a/00-crd.yaml": CRD, "e2e/a/01-assert.yaml": WIDGET}
    assert findings_in(tmp_path, kinds, files) == []


def test_a_crd_of_a_later_step_comes_too_late(tmp_path: Path, kinds: Kinds) -> None:
    files = {"e2e/a/02-crd.yaml": CRD, "e2e/a/01-assert.yaml": WIDGET}
    (finding,) = findings_in(tmp_path, kinds, files)
    assert finding.startswith(NEVER)


def test_a_crd_of_another_case_does_not_count(tmp_path: Path, kinds: Kinds) -> None:
    files = {"e2e/b/00-crd.yaml": CRD, "e2e/a/01-assert.yaml": WIDGET}
    (finding,) = findings_in(tmp_path, kinds, files)
    assert finding.startswith(NEVER)


def test_a_version_that_a_crd_does_not_serve_is_unknown(tmp_path: Path, kinds: Kinds) -> None:
    other = WIDGET.replace("/v1\n", "/v2\n")
    files = {"e2e/a/00-crd.yaml": CRD, "e2e/a/01-assert.yaml": other}
    (finding,) = findings_in(tmp_path, kinds, files)
    assert finding.endswith("; the cluster has Gadget in shop.example.com/v1")


@pytest.mark.parametrize("option", ["crdDir: {root}/crds", "manifestDirs: ['{root}/crds']"])
def test_crds_of_the_suite_file_define_kinds(tmp_path: Path, kinds: Kinds, option: str) -> None:
    suite = f"""
    apiVersion: kuttl.dev/v1beta1
    kind: TestSuite
    testDirs: ['{tmp_path}/e2e']
    {option.format(root=tmp_path)}
    """
    files = {
        "suite.yaml": suite,
        "crds/below/gadgets.yml": CRD.replace("/v1\n", "/v1beta1\n", 1)
        .replace("  versions:\n  - {name: v1, served: true, storage: true}\n", "  version: v1\n")
        .replace("  - {name: v2, served: false, storage: false}\n", ""),
        "e2e/a/01-assert.yaml": WIDGET,
    }
    (finding,) = findings_in(tmp_path, kinds, files)
    # Only the CRD itself is of an old version; the kind that it defines is known.
    assert finding.startswith(
        "error crds/below/gadgets.yml:1: the cluster has no kind CustomResourceDefinition in "
        "apiextensions.k8s.io/v1beta1, so it cannot be applied"
    )


def test_other_files_among_crds_are_left_out(tmp_path: Path, kinds: Kinds) -> None:
    suite = f"""
    apiVersion: kuttl.dev/v1beta1
    kind: TestSuite
    testDirs: ['{tmp_path}/e2e']
    crdDir: {tmp_path}/crds
    """
    files = {
        "suite.yaml": suite,
        "crds/kustomization.yaml": "resources: [gadgets.yaml]\n",
        "crds/gadgets.yaml": CRD,
        "e2e/a/01-assert.yaml": WIDGET,
    }
    assert findings_in(tmp_path, kinds, files) == []


def test_a_folder_that_is_missing_is_told(tmp_path: Path, kinds: Kinds) -> None:
    suite = f"""
    apiVersion: kuttl.dev/v1beta1
    kind: TestSuite
    testDirs: ['{tmp_path}/e2e']
    crdDir: {tmp_path}/crds
    """
    files = {"suite.yaml": suite, **asserted("v1", "Pod")}
    assert findings_in(tmp_path, kinds, files) == [
        "error suite.yaml:4: crds cannot be read: No such file or directory"
    ]


@pytest.mark.parametrize(
    "before",
    [
        "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\ncommands: [{command: make install}]\n",
        "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\ncommands: [{script: ./install.sh}]\n",
        "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\napply: ['https://example.com/crd.yaml']\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: controller}\n",
        INSTANCE,
    ],
)
def test_what_may_create_crds_before_makes_it_a_warning(
    tmp_path: Path, kinds: Kinds, before: str
) -> None:
    files = {"e2e/a/00-before.yaml": before, "e2e/a/01-assert.yaml": WIDGET}
    (finding,) = findings_in(tmp_path, kinds, files, kudo_installed=True)
    assert finding.startswith(MAYBE)


def test_a_kind_that_may_come_later_is_warned_of_once(tmp_path: Path, kinds: Kinds) -> None:
    step = "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\ncommands: [{command: make install}]\n"
    case = {"00-step.yaml": step, "01-assert.yaml": WIDGET, "02-assert.yaml": WIDGET}
    files = {f"e2e/{name}/{file}": text for name in "ab" for file, text in case.items()}
    (finding,) = findings_in(tmp_path, kinds, files)
    assert finding.startswith(MAYBE)


def test_an_instance_may_create_crds_before_asserts_of_its_own_step(
    tmp_path: Path, kinds: Kinds
) -> None:
    files = {"e2e/a/01-instance.yaml": INSTANCE, "e2e/a/01-assert.yaml": WIDGET}
    (finding,) = findings_in(tmp_path, kinds, files, kudo_installed=True)
    assert finding.startswith(MAYBE)


def test_nothing_creates_kinds_of_the_api_server_itself(tmp_path: Path, kinds: Kinds) -> None:
    step = "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\ncommands: [{command: make install}]\n"
    files = {"e2e/a/00-step.yaml": step, **asserted("apps/v1", "Deploymnt")}
    (finding,) = findings_in(tmp_path, kinds, files)
    assert finding.startswith("error ")


def test_a_step_on_another_cluster_is_not_checked(tmp_path: Path, kinds: Kinds) -> None:
    step = "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\nkubeconfig: other.yaml\n"
    files = {"e2e/a/00-step.yaml": step, **asserted("v1", "Deploymnt")}
    assert findings_in(tmp_path, kinds, files) == []


def test_kinds_of_kudo_are_known_if_the_run_installs_it(tmp_path: Path, kinds: Kinds) -> None:
    files = {"e2e/a/00-assert.yaml": INSTANCE}
    assert findings_in(tmp_path, kinds, files, kudo_installed=True) == []
    assert findings_in(tmp_path, kinds, files) == [
        (
            "error e2e/a/00-assert.yaml:1: KUDO is not installed in the cluster, so there is no "
            "Instance in kudo.dev/v1beta1 and an assert of it can never match; add `kubectl kudo "
            "init` to the commands of the suite, or startKUDO: true"
        )
    ]


@pytest.mark.parametrize(
    "command",
    ["command: kubectl kudo init --wait", "script: 'set -e; kubectl kudo init | tee log'"],
)
def test_kinds_of_kudo_are_known_after_a_command_that_installs_it(
    tmp_path: Path, kinds: Kinds, command: str
) -> None:
    step = f"apiVersion: kuttl.dev/v1beta1\nkind: TestStep\ncommands: [{{{command}}}]\n"
    files = {"e2e/a/00-step.yaml": step, "e2e/a/00-assert.yaml": INSTANCE}
    assert findings_in(tmp_path, kinds, files) == []
    earlier = {"e2e/b/01-step.yaml": step, "e2e/b/00-assert.yaml": INSTANCE}
    (finding,) = findings_in(tmp_path, kinds, earlier)
    assert finding.startswith("error e2e/b/00-assert.yaml:1: KUDO is not installed")


def test_kinds_of_kudo_are_known_after_such_a_command_of_the_suite(
    tmp_path: Path, kinds: Kinds
) -> None:
    suite = f"""
    apiVersion: kuttl.dev/v1beta1
    kind: TestSuite
    testDirs: ['{tmp_path}/e2e']
    commands: [command: kubectl kudo init]
    """
    files = {"suite.yaml": suite, "e2e/a/00-assert.yaml": INSTANCE}
    assert findings_in(tmp_path, kinds, files) == []


def test_an_old_version_of_kudo_names_the_present_one(tmp_path: Path, kinds: Kinds) -> None:
    old = INSTANCE.replace("v1beta1", "v1alpha1")
    files = {"e2e/a/00-assert.yaml": old}
    (finding,) = findings_in(tmp_path, kinds, files, kudo_installed=True)
    assert finding.startswith("error e2e/a/00-assert.yaml:1: the cluster has no kind Instance in")
    assert finding.endswith("; the cluster has Instance in kudo.dev/v1beta1")


def test_expressions_are_compiled_before_anything_runs(tmp_path: Path, kinds: Kinds) -> None:
    options = """
    apiVersion: kuttl.dev/v1beta1
    kind: TestAssert
    resourceRefs:
    - {apiVersion: v1, kind: Pod, name: a, ref: pod}
    assertAll:
    - celExpr: pod.status.phase == 'Running'
    - celExpr: pot.status.phase == 'Running'
    """
    assert findings_in(tmp_path, kinds, {"e2e/a/00-assert.yaml": options}) == [
        ("error e2e/a/00-assert.yaml:7: unknown name pot; did you mean pod?")
    ]


@pytest.mark.parametrize(
    ("command", "creates"),
    [
        ("kubectl apply -f crds", True),
        ("kubectl kudo install ./operator", True),
        ("kubectl kudo plan trigger --name deploy --instance a", True),
        ("kubectl -n a get pods", True),
        ("helm install a b", True),
        ('echo "not closed', True),
        ("kubectl get pods", False),
        ("kubectl delete pod a", False),
        ("kubectl kudo package verify .", False),
        ("sleep 5", False),
    ],
)
def test_commands_that_only_read_create_no_crds(command: str, creates: bool) -> None:
    one = Command(command=command, place=Place("a"))
    assert command_may_create(one) is creates


async def test_kinds_are_read_from_discovery(api: FakeApi) -> None:
    kinds = await kinds_of(api)
    pods, namespaces = kinds.find("v1", "Pod"), kinds.find("v1", "Namespace")
    assert pods is not None
    assert namespaces is not None
    assert pods.path("a") == "/api/v1/namespaces/a/pods"
    assert not namespaces.namespaced
    assert kinds.find("v1", "Deployment") is None
