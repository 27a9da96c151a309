"""Cases and steps as their authors write them."""

import re
from pathlib import Path

import pytest

from kudo_harness.suite import (
    Case,
    CollectorType,
    KubeconfigLoading,
    ListMatching,
    Step,
    SuiteRequest,
)
from tests.unit.harness.suite.writing import COMPLETE, GROUPS, INSTALL, load, warnings


def cases(root: Path, files: dict[str, str], request: SuiteRequest | None = None) -> list[Case]:
    return [case for folder in load(root, files, request).test_dirs for case in folder.cases]


def steps(root: Path, files: dict[str, str], request: SuiteRequest | None = None) -> list[Step]:
    (case,) = cases(root, files, request)
    return list(case.steps)


def kinds(documents: tuple[object, ...]) -> list[object]:
    return [getattr(document, "value", {}).get("kind") for document in documents]


def test_files_of_one_number_are_one_step(tmp_path: Path) -> None:
    first, second = steps(
        tmp_path,
        {
            "e2e/install/00-install.yaml": INSTALL,
            "e2e/install/0-assert.yaml": COMPLETE,
            "e2e/install/00-errors.yaml": INSTALL,
            "e2e/install/01-next.yaml": f"{INSTALL}---\n{INSTALL}---\n",
            "e2e/install/README.md": "# install",
        },
    )
    assert (first.title, second.title) == ("0-install", "1-next")
    assert kinds(first.objects.apply) == ["ConfigMap"]
    assert kinds(first.objects.asserts) == ["Instance"]
    assert kinds(first.objects.errors) == ["ConfigMap"]
    assert len(second.objects.apply) == 2


def test_a_folder_holds_the_files_of_a_step(tmp_path: Path) -> None:
    (step,) = steps(
        tmp_path,
        {
            "e2e/install/00-install/deploy.yaml": INSTALL,
            "e2e/install/00-install/assert.yaml": COMPLETE,
            "e2e/install/00-install/00-errors-x.yaml": INSTALL,
            "e2e/install/00-more.yaml": INSTALL,
        },
    )
    assert step.title == "0-deploy"
    assert kinds(step.objects.apply) == ["ConfigMap", "ConfigMap"]
    assert (len(step.objects.asserts), len(step.objects.errors)) == (1, 1)


@pytest.mark.parametrize(
    ("files", "title"),
    [
        ({"02-assert.yaml": COMPLETE}, "2-"),
        ({"02-assert.yaml": COMPLETE, "02-b.yaml": INSTALL, "02-a.yaml": INSTALL}, "2-a"),
        ({"02-go-on.yaml": INSTALL}, "2-go-on"),
        ({"02-folder/assert.yaml": COMPLETE}, "2-folder"),
        (
            {
                "02-a.yaml": INSTALL,
                "02-z.yaml": """
                    apiVersion: kudo.dev/v1beta1
                    kind: TestStep
                    metadata: {name: upgrade}
                """,
            },
            "2-upgrade",
        ),
    ],
)
def test_a_step_has_the_name_of_its_teststep_or_first_file(
    tmp_path: Path, files: dict[str, str], title: str
) -> None:
    (step,) = steps(tmp_path, {f"e2e/case/{name}": text for name, text in files.items()})
    assert step.title == title


@pytest.mark.parametrize("group", GROUPS)
def test_every_field_of_a_step_is_read(tmp_path: Path, group: str) -> None:
    (step,) = steps(
        tmp_path,
        {
            "e2e/a/00-a.yaml": f"""
                apiVersion: {group}
                kind: TestStep
                metadata: {{name: first}}
                index: 4
                unitTest: true
                apply: [more/x.yaml]
                assert: [more]
                error: ['https://example.org/gone.yaml']
                delete:
                - apiVersion: v1
                  kind: Pod
                  name: p
                  namespace: other
                  labels: {{app: web}}
                commands:
                - command: kubectl get pods
                  namespaced: true
                  ignoreFailure: true
                  skipLogOutput: true
                  timeout: -1
                kubeconfig: other.kubeconfig
                context: two
                kubeconfigLoading: lazy
            """,
            "e2e/a/more/x.yaml": INSTALL,
            "e2e/a/more/y.yaml": COMPLETE,
            "e2e/a/more/z.txt": "no YAML",
        },
    )
    options = step.options
    assert options is not None
    assert (step.title, options.kubeconfig, options.context) == (
        "0-first",
        "other.kubeconfig",
        "two",
    )
    assert options.kubeconfig_loading is KubeconfigLoading.LAZY
    (deletion,) = options.delete
    assert (deletion.api_version, deletion.kind, deletion.name) == ("v1", "Pod", "p")
    assert (deletion.namespace, deletion.labels) == ("other", {"app": "web"})
    (command,) = options.commands
    assert command.namespaced
    assert command.ignore_failure
    assert command.skip_log_output
    assert (command.timeout, command.place.line) == (-1, 16)
    assert kinds(step.objects.apply) == ["ConfigMap"]
    assert kinds(step.objects.asserts) == ["ConfigMap", "Instance"]
    assert [(one.url.value, one.role) for one in step.downloads] == [
        ("https://example.org/gone.yaml", "errors")
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_every_field_of_an_assert_is_read(tmp_path: Path, group: str) -> None:
    (step,) = steps(
        tmp_path,
        {
            "e2e/a/00-assert.yaml": f"""
                apiVersion: {group}
                kind: TestAssert
                timeout: 120
                collectors:
                - pod: web-0
                  namespace: other
                  container: main
                  tail: 5
                - selector: app=web
                - type: command
                  command: kubectl get all
                - command: ls
                - type: events
                  pod: web-0
                commands:
                - script: test -f x
                resourceRefs:
                - apiVersion: v1
                  kind: Pod
                  name: web-0
                  namespace: other
                  ref: pod
                assertAll:
                - celExpr: pod.status.phase == 'Running'
                assertAny:
                - celExpr: "true"
                listMatching: name
            """,
        },
    )
    options = step.assert_options
    assert options is not None
    assert options.timeout == 120
    assert [(one.type, one.tail) for one in options.collectors] == [
        (CollectorType.POD, 5),
        (CollectorType.POD, None),
        (CollectorType.COMMAND, None),
        (CollectorType.COMMAND, None),
        (CollectorType.EVENTS, None),
    ]
    assert [one.script for one in options.commands] == ["test -f x"]
    (reference,) = options.resource_refs
    assert (reference.api_version, reference.kind, reference.name) == ("v1", "Pod", "web-0")
    assert (reference.namespace, reference.ref) == ("other", "pod")
    assert [one.value for one in options.assert_all] == ["pod.status.phase == 'Running'"]
    assert [one.value for one in options.assert_any] == ["true"]
    assert options.list_matching is ListMatching.NAME


def test_objects_of_the_group_kudo_dev_are_objects(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, {"e2e/a/00-a.yaml": COMPLETE, "e2e/a/00-assert.yaml": COMPLETE})
    assert kinds(step.objects.apply) == kinds(step.objects.asserts) == ["Instance"]


def test_an_assert_needs_no_name(tmp_path: Path) -> None:
    (step,) = steps(
        tmp_path,
        {
            "e2e/a/00-assert.yaml": """
                apiVersion: v1
                kind: Pod
                metadata:
                  labels: {app: web}
                status: {phase: Running}
            """,
        },
    )
    assert step.objects.asserts[0].place("status", "phase").line == 5


def test_templates_see_namespace_and_variables(tmp_path: Path) -> None:
    request = SuiteRequest(
        namespace_of=lambda case: f"ns-{case}", variables={"replicas": 3, "names": ["a", "b"]}
    )
    (step,) = steps(
        tmp_path,
        {
            "e2e/a/00-a.gotmpl.yaml": """
                {{- range .Vars.names }}
                apiVersion: v1
                kind: ConfigMap
                metadata:
                  name: {{ . | upper | lower }}
                  namespace: {{ $.Namespace }}
                data:
                  replicas: {{ $.Vars.replicas | quote }}
                ---
                {{- end }}
            """,
        },
        request,
    )
    assert [document.value["metadata"] for document in step.objects.apply] == [
        {"name": "a", "namespace": "ns-a"},
        {"name": "b", "namespace": "ns-a"},
    ]
    # Positions are those of the template.
    assert step.objects.apply[1].place("data", "replicas").line == 8


@pytest.mark.parametrize(
    ("of_file", "of_request", "expected"),
    [("", "", "ns-case"), ("fixed", "", "fixed"), ("fixed", "mine", "mine"), ("", "mine", "mine")],
)
def test_a_case_knows_its_namespace(
    tmp_path: Path, of_file: str, of_request: str, expected: str
) -> None:
    files = {
        "suite.yaml": f"""
            apiVersion: kuttl.dev/v1beta1
            kind: TestSuite
            testDirs: ["{tmp_path}/e2e"]
            namespace: "{of_file}"
            """,
        "e2e/case/00-install.gotmpl.yaml": INSTALL.replace("name: a", "name: {{ .Namespace }}"),
    }
    request = SuiteRequest(namespace_of=lambda case: f"ns-{case}", namespace=of_request)
    case = load(tmp_path, files, request).test_dirs[0].cases[0]
    applied = case.steps[0].objects.apply[0].value
    assert (case.namespace, applied["metadata"]) == (expected, {"name": expected})


def test_variables_are_replaced_in_paths(tmp_path: Path) -> None:
    request = SuiteRequest(environment={"WHICH": "one"}, namespace_of=lambda _: "ns")
    (step,) = steps(
        tmp_path,
        {
            "e2e/a/00-a.yaml": """
                apiVersion: kuttl.dev/v1beta1
                kind: TestStep
                apply: ['$WHICH/x.yaml', 'https://example.org/$NAMESPACE.yaml']
            """,
            "e2e/a/one/x.yaml": INSTALL,
        },
        request,
    )
    assert len(step.objects.apply) == 1
    assert [one.url.value for one in step.downloads] == ["https://example.org/ns.yaml"]


FOR_SOME_RUNS = """
apiVersion: kuttl.dev/v1beta1
kind: TestFile
testRunSelector:
  matchLabels: {size: small}
  matchExpressions:
  - {key: cloud, operator: NotIn, values: [gcp]}
  - {key: slow, operator: DoesNotExist}
  - {key: zone, operator: Exists}
  - {key: arch, operator: In, values: [arm64, amd64]}
---
"""
SELECTED = {"size": "small", "zone": "a", "arch": "arm64"}


@pytest.mark.parametrize(
    ("labels", "count"),
    [
        (SELECTED, 1),
        ({**SELECTED, "cloud": "aws"}, 1),
        ({**SELECTED, "cloud": "gcp"}, 0),
        ({**SELECTED, "size": "large"}, 0),
        ({**SELECTED, "slow": ""}, 0),
        ({**SELECTED, "arch": "riscv"}, 0),
        ({"size": "small", "zone": "a"}, 0),
        ({"size": "small", "arch": "arm64"}, 0),
        ({}, 0),
    ],
)
def test_a_testfile_selects_runs_by_label(
    tmp_path: Path, labels: dict[str, str], count: int
) -> None:
    files = {"e2e/a/00-a.yaml": FOR_SOME_RUNS + INSTALL, "e2e/a/01-b.yaml": INSTALL}
    first, _ = steps(tmp_path, files, SuiteRequest(labels=labels))
    assert len(first.objects.apply) == count
    assert first.title == ("0-a" if count else "0-")


def test_cases_are_selected_by_a_part_of_their_name(tmp_path: Path) -> None:
    files = {f"e2e/{name}/00-a.yaml": INSTALL for name in ("install", "reinstall", "upgrade")}
    found = cases(tmp_path, files, SuiteRequest(select=re.compile("install")))
    assert [case.name for case in found] == ["install", "reinstall"]


def test_a_case_that_is_not_selected_is_not_read(tmp_path: Path) -> None:
    files = {"e2e/good/00-a.yaml": INSTALL, "e2e/bad/00-a.yaml": "a: ["}
    assert len(cases(tmp_path, files, SuiteRequest(select=re.compile("good")))) == 1


def test_directories_of_the_command_line_replace_those_of_the_file(tmp_path: Path) -> None:
    files = {
        "suite.yaml": "apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\ntestDirs: [gone]\n",
        "mine/a/00-a.yaml": INSTALL,
    }
    request = SuiteRequest(test_dirs=(str(tmp_path / "mine"),))
    assert [case.name for case in cases(tmp_path, files, request)] == ["a"]


def test_archives_of_cases_are_left_for_the_run(tmp_path: Path) -> None:
    request = SuiteRequest(test_dirs=("https://example.org/cases.tgz",))
    suite = load(tmp_path, {}, request)
    assert [text.value for text in suite.downloads] == ["https://example.org/cases.tgz"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"00-a.yaml": INSTALL, "values.yaml": "x: 1"},
            "e2e/a/values.yaml: belongs to no step and nothing names it",
        ),
        (
            {"00-a.yaml": INSTALL + "data:\n  x: one\n  x: two\n"},
            "e2e/a/00-a.yaml:7: x is given twice, first in line 6; only the second one counts",
        ),
        ({"00-a.yaml": INSTALL, "01-assert.yaml": ""}, "e2e/a/01-assert.yaml: the file is empty"),
        (
            {
                "00-assert-1.yaml": "apiVersion: kuttl.dev/v1beta1\nkind: TestAssert\n",
                "00-assert-2.yaml": "apiVersion: kuttl.dev/v1beta1\nkind: TestAssert\n",
            },
            "e2e/a/00-assert-2.yaml:2: replaces the TestAssert in",
        ),
        (
            {
                "00-a.yaml": """
                    apiVersion: kuttl.dev/v1beta1
                    kind: TestStep
                    commands:
                    - command: sleep 5
                      background: true
                """
            },
            "e2e/a/00-a.yaml:5: background works only for commands of a TestSuite",
        ),
        ({"notes.txt": "x"}, "e2e/a: no step: the files of a case have names such as"),
    ],
)
def test_what_kuttl_accepts_and_is_odd_is_a_warning(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    named = {f"e2e/a/{name}": text for name, text in files.items()}
    (warning,) = warnings(tmp_path, named)
    assert warning.startswith(expected)


@pytest.mark.parametrize(
    "files",
    [
        {"00-a.yaml": INSTALL, "setup.sh": "true", "config.json": "{}", "README.yaml": "x"},
        {"00-a.yaml": INSTALL, ".hidden.yaml": "x: 1"},
        {"00-a.yaml": INSTALL, "01-b.gotmpl.yaml": "{{ if false }}a: 1{{ end }}"},
        {
            "00-a.yaml": """
                apiVersion: kuttl.dev/v1beta1
                kind: TestStep
                commands: [{command: kubectl kudo update --instance a -P values.yaml}]
            """,
            "values.yaml": "x: 1",
        },
        {
            "00-assert.yaml": """
                apiVersion: kuttl.dev/v1beta1
                kind: TestAssert
                commands: [{script: kubectl apply -f 01-late.yml}]
            """,
            "01-late.yml": "x: 1",
        },
    ],
)
def test_files_that_a_case_uses_need_no_number(tmp_path: Path, files: dict[str, str]) -> None:
    assert warnings(tmp_path, {f"e2e/a/{name}": text for name, text in files.items()}) == []
