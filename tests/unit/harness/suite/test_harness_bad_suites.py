"""What is wrong with a suite is told with file and line, all of it, before anything runs."""

import os
from pathlib import Path

import pytest

import goyaml
from kudo_harness.findings import MOST_FINDINGS, SuiteInvalid
from kudo_harness.suite import SuiteLimits, SuiteRequest, load_suite
from tests.unit.harness.suite.writing import COMPLETE, INSTALL, errors, load, warnings, write

STEP = "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\n"
ASSERT = "apiVersion: kuttl.dev/v1beta1\nkind: TestAssert\n"
FILE = "apiVersion: kuttl.dev/v1beta1\nkind: TestFile\n"
SUITE = "apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        # Kinds and versions.
        (
            "00-a.yaml",
            "apiVersion: kuttl.dev/v1beta1\nkind: TestSteps\n",
            ":2: unknown kind TestSteps of kuttl.dev/v1beta1; did you mean TestStep?",
        ),
        (
            "00-a.yaml",
            "apiVersion: kudo.dev/v1beta1\nkind: Instanze\nmetadata: {name: a}\n",
            ":2: unknown kind Instanze of kudo.dev/v1beta1; did you mean Instance?",
        ),
        (
            "00-a.yaml",
            "apiVersion: kuttl.dev/v1beta1\nkind: Instance\n",
            ":2: unknown kind Instance of kuttl.dev/v1beta1; there are TestSuite, TestStep",
        ),
        (
            "00-a.yaml",
            "apiVersion: kuttl.dev/v1\nkind: TestStep\n",
            ":1: no such version: kuttl.dev/v1; write kuttl.dev/v1beta1",
        ),
        ("00-a.yaml", SUITE, ":2: a TestSuite belongs into a file of its own"),
        ("00-assert.yaml", STEP, ":2: a TestStep belongs into a file that is applied"),
        ("00-a.yaml", ASSERT, ":2: a TestAssert belongs into a file NN-assert.yaml"),
        ("00-errors.yaml", ASSERT, ":2: a TestAssert belongs into a file NN-assert.yaml"),
        ("00-a.yaml", f"{FILE}---\n{FILE}", ":4: a file has one TestFile, and there is one in"),
        ("00-a.yaml", f"{STEP}---\n{STEP}", ":5: a step has one TestStep, and there is one in"),
        # Unknown fields.
        # Types.
        (
            "00-assert.yaml",
            ASSERT + "timeout: 5s\n",
            ":3: timeout must be a whole number, not text",
        ),
        ("00-assert.yaml", ASSERT + "timeout: 1.5\n", ":3: timeout must be a whole number"),
        ("00-assert.yaml", ASSERT + "timeout: -1\n", ":3: timeout must be 0 or more seconds"),
        ("00-assert.yaml", ASSERT + "timeout: true\n", ":3: timeout must be a whole number"),
        ("00-a.yaml", STEP + "apply: x.yaml\n", ":3: apply must be a list, not text"),
        ("00-a.yaml", STEP + "apply: [1]\n", ":3: apply[0] must be text, not a number; write it"),
        ("00-a.yaml", STEP + "unitTest: 'yes'\n", ":3: unitTest must be true or false, not text"),
        ("00-a.yaml", STEP + "commands: [ls]\n", ":3: commands[0] must be a mapping, not text"),
        (
            "00-a.yaml",
            STEP + "delete:\n- apiVersion: v1\n  kind: Pod\n  labels:\n    a: 1\n",
            ":7: delete[0].labels.a must be text, not a number; write it in quotes",
        ),
        (
            "00-a.yaml",
            STEP + "delete:\n- {apiVersion: v1, kind: Pod, labels: [a]}\n",
            ":4: delete[0].labels must be a mapping, not a list",
        ),
        ("00-a.yaml", STEP + "metadata: {name: 1}\n", ":3: metadata.name must be text"),
        (
            "00-a.yaml",
            STEP + "kubeconfig: x\nkubeconfigLoading: Never\n",
            ":4: kubeconfigLoading must be one of Eager, Lazy, not Never",
        ),
        ("00-a.yaml", STEP + "context: x\n", ":3: context needs a kubeconfig beside it"),
        # Commands.
        (
            "00-a.yaml",
            STEP + "commands:\n- command: ls\n  script: ls\n",
            ":5: command and script cannot both be set",
        ),
        ("00-a.yaml", STEP + "commands:\n- timeout: 5\n", ":4: command or script must be set"),
        ("00-a.yaml", STEP + "commands:\n- command: ' '\n", ":4: command or script must be set"),
        (
            "00-a.yaml",
            STEP + "commands:\n- script: ls\n  namespaced: true\n",
            ":5: namespaced does not work with script; use $NAMESPACE",
        ),
        (
            "00-a.yaml",
            STEP + "commands:\n- command: echo 'a\n",
            ":4: the quote ' is not closed; use script for a shell",
        ),
        # Collectors.
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {}\n",
            ":4: a collector of type pod needs a pod",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {pod: a, selector: b}\n",
            ":4: a collector has a pod or a selector, not both",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {type: pod, pod: a, command: ls}\n",
            ":4: a collector of type pod has no command",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {type: command}\n",
            ":4: a collector of type command needs a command",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {command: ls, pod: a}\n",
            ":4: a collector of type command has no pod",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {type: events, selector: a}\n",
            ":4: a collector of type events has only a pod and a namespace",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- {type: logs, pod: a}\n",
            ":4: type must be one of pod, command, events, not logs",
        ),
        # References of expressions.
        (
            "00-assert.yaml",
            ASSERT + "resourceRefs:\n- {kind: Pod, apiVersion: v1, name: a}\n",
            ":4: ref must be set",
        ),
        (
            "00-assert.yaml",
            ASSERT + "resourceRefs:\n- {kind: Pod, apiVersion: v1, name: a, ref: my-pod}\n",
            ":4: ref must be a name that CEL can use, such as pod, not my-pod",
        ),
        *(
            (
                "00-assert.yaml",
                ASSERT + f"resourceRefs:\n- {{kind: Pod, apiVersion: v1, name: a, ref: {word}}}\n",
                f":4: no expression can use '{word}' as a name; write letters, ",
            )
            for word in ("int", "namespace")
        ),
        (
            "00-assert.yaml",
            ASSERT
            + "assertAll: [{celExpr: a == a}]\nresourceRefs:\n"
            + "- {kind: Pod, apiVersion: v1, name: a, ref: a}\n" * 2,
            ":6: ref a is given twice, first in",
        ),
        ("00-assert.yaml", ASSERT + "assertAll: [{}]\n", ":3: celExpr must be set"),
        ("00-assert.yaml", ASSERT + "assertAny: ['true']\n", ":3: assertAny[0] must be a mapping"),
        (
            "00-assert.yaml",
            ASSERT + "listMatching: order\n",
            ":3: listMatching must be one of position, name, not order",
        ),
        # Selectors.
        (
            "00-a.yaml",
            FILE + "testRunSelector:\n  matchExpressions:\n  - {key: a}\n",
            ":5: key and operator must be set",
        ),
        (
            "00-a.yaml",
            FILE + "testRunSelector:\n  matchExpressions:\n  - {key: a, operator: In}\n",
            ":5: the operator In needs at least one value",
        ),
        (
            "00-a.yaml",
            FILE + "testRunSelector:\n  matchExpressions:\n"
            "  - {key: a, operator: Exists, values: [x]}\n",
            ":5: the operator Exists needs no values",
        ),
        # Objects.
        ("00-a.yaml", "kind: Pod\nmetadata: {name: a}\n", ":1: the object has no apiVersion"),
        ("00-a.yaml", "apiVersion: v1\nmetadata: {name: a}\n", ":1: the object has no kind"),
        ("00-assert.yaml", "apiVersion: 1\nkind: Pod\n", ":1: the object has no apiVersion"),
        ("00-a.yaml", "apiVersion: v1\nkind: Pod\n", ":1: an object that is applied needs a"),
        ("00-a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: x\n", ":3: metadata must be a mapping"),
        ("00-a.yaml", "- a\n", ":1: the document is no Kubernetes object"),
        ("00-a.yaml", "x: 1\n---\nhello\n", ":3: the document is no Kubernetes object"),
        # YAML and templates.
        ("00-a.yaml", "a: 1\nb: [\n", ":3: not valid YAML: while parsing a flow node"),
        ("00-a.yaml", "a: {{ .x }}\n", ":1: not valid YAML"),
        ("00-a.gotmpl.yaml", "a: 1\nb: {{ env }}\n", ":2: template: "),
        ("00-a.gotmpl.yaml", "{{- if true }}\n{{- end }}\na: ]\n", ":3: not valid YAML"),
        # References of steps.
        ("00-a.yaml", STEP + "apply:\n- gone.yaml\n", ":4: no such file or folder: "),
        # Names.
        ("00-a.yml", INSTALL, ": belongs to no step, although its name looks like it; rename it"),
        ("00_a.yaml", INSTALL, ": belongs to no step, although its name looks like it; a name is"),
        ("assert.yaml", COMPLETE, ": belongs to no step, although its name looks like it; begin"),
        ("00-a.b.gotmpl.yaml", INSTALL, ": belongs to no step, although its name looks like it;"),
        ("00-a/notes.txt", "", ": a file that belongs to no step; in the folder of a step"),
        ("00-a/deep/x.yaml", INSTALL, ": a folder that belongs to no step; in the folder of a"),
    ],
)
def test_a_mistake_in_a_case_is_told_with_its_line(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    found = errors(tmp_path, {f"e2e/a/{name}": text, "e2e/b/00-good.yaml": INSTALL})
    path = f"e2e/a/{'00-a/deep' if 'deep' in name else name}"
    assert [one for one in found if one.startswith(path + expected)], found


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "00-a.yaml",
            STEP + "command: []\n",
            ":3: unknown field command; did you mean commands?",
        ),
        (
            "00-a.yaml",
            STEP + "kubectl: [get pods]\n",
            ':3: unknown field kubectl; write each line as a command: "commands:',
        ),
        (
            "00-a.yaml",
            STEP + "commands:\n- command: ls\n  namespace: x\n",
            ":5: unknown field commands[0].namespace; did you mean namespaced?",
        ),
        (
            "00-a.yaml",
            STEP + "delete:\n- apiVersion: v1\n  kind: Pod\n  uid: x\n",
            ":6: unknown field delete[0].uid; there are apiVersion, kind, labels, name, namespace",
        ),
        (
            "00-assert.yaml",
            ASSERT + "timeOut: 5\n",
            ":3: unknown field timeOut; did you mean timeout?",
        ),
        (
            "00-assert.yaml",
            ASSERT + "collectors:\n- pods: a\n  pod: a\n",
            ":4: unknown field collectors[0].pods; did you mean pod?",
        ),
        (
            "00-a.yaml",
            FILE + "testRunSelector: {labels: {}}\n",
            ":3: unknown field testRunSelector.labels; did you mean matchLabels?",
        ),
        (
            "00-a.gotmpl.yaml",
            INSTALL + "data: {b: '{{ .Vars.x }}'}\n",
            ":5: template: ",
        ),
    ],
)
def test_what_kuttl_ignores_is_a_warning(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    [found] = warnings(tmp_path, {f"e2e/a/{name}": text, "e2e/b/00-good.yaml": INSTALL})
    assert found.startswith(f"e2e/a/{name}{expected}")


def test_a_variable_that_nobody_gave_has_no_value(tmp_path: Path) -> None:
    text = INSTALL + "data: {b: '{{ .Vars.x }}'}\n"
    suite = load(tmp_path, {"e2e/a/00-a.gotmpl.yaml": text})
    [warning] = suite.warnings
    assert warning.reason == "VariableUnknown"
    assert warning.message.endswith(
        'has no entry for key "x"; "<no value>" is written, as kuttl does'
    )


def test_unknown_fields_of_parts_that_only_this_harness_has_are_errors(tmp_path: Path) -> None:
    text = STEP + "faults:\n- {kil: reconciler}\n"
    found = errors(tmp_path, {"e2e/a/00-a.yaml": text})
    assert any("unknown field faults[0].kil" in one for one in found), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "startKIND: true\nstartControlPlane: true\n",
            ":3: only one of --start-control-plane and --start-kind can be set: remove ",
        ),
        ("suppress: [logs]\n", ":3: only events can be suppressed, not logs"),
        ("parallel: -1\n", ":3: parallel must be 1 to 64"),
        ("reportFormat: html\n", ":3: reportFormat must be one of json, xml, not html"),
        ("reportGranularity: case\n", ":3: reportGranularity must be one of step, test, not case"),
        ("timeout: -5\n", ":3: timeout must be 0 or more seconds, not -5"),
        ("a: [\n", ":4: not valid YAML: while parsing a flow node"),
        ("testDirs: [gone]\n", ":3: gone cannot be read: No such file or directory"),
        ("---\n" + SUITE, ":5: a suite file has one TestSuite; make two files of it"),
        ("---\n" + INSTALL, ":6: a suite file has only a TestSuite; objects belong into folders"),
    ],
)
def test_a_mistake_in_a_suite_file_is_told_with_its_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    found = errors(tmp_path, {"suite.yaml": SUITE + text})
    assert [one for one in found if one.startswith("suite.yaml" + expected)], found


def test_a_file_without_a_suite_is_an_error(tmp_path: Path) -> None:
    assert errors(tmp_path, {"suite.yaml": ""})[0] == (
        "suite.yaml: no TestSuite in the file; begin it with apiVersion: kuttl.dev/v1beta1"
    )
    with pytest.raises(SuiteInvalid, match=r"none\.yaml cannot be read: No such file"):
        load_suite(SuiteRequest(config=tmp_path / "none.yaml"))


def test_a_run_without_cases_is_an_error(tmp_path: Path) -> None:
    # BTO-64: it says what to do, whether there is a suite file or not.
    with pytest.raises(SuiteInvalid, match=r"command line: no test directories provided, name"):
        load_suite(SuiteRequest())
    (tmp_path / "e2e").mkdir()
    assert errors(tmp_path, {}) == [
        "command line: no case in e2e; a case is a folder of files such as 00-install.yaml"
    ]


def test_a_case_given_as_a_directory_of_cases_is_an_error(tmp_path: Path) -> None:
    (found,) = errors(tmp_path, {"e2e/00-install.yaml": INSTALL})
    assert found.endswith("e2e is a case itself, since it holds steps; name the folder above it")


def test_a_file_that_is_no_yaml_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(SuiteInvalid) as caught:
        load(tmp_path, {"e2e/a/00-a.yaml": "a: ["})
    assert len(caught.value.findings) == 1


def test_everything_is_told_at_once_by_file_and_line(tmp_path: Path) -> None:
    found = errors(
        tmp_path,
        {
            "suite.yaml": f"{SUITE}testDirs: ['{tmp_path}/e2e']\ntimeout: -1\n",
            "e2e/b/00-b.yaml": STEP + "unitTest: 1\napply: [gone.yaml]\n",
            "e2e/b/01-assert.yaml": "a: [",
            "e2e/a/00-one.yaml": STEP,
            "e2e/a/00-two.yaml": STEP,
        },
    )
    places = [one.partition(": ")[0] for one in found]
    assert places == [
        "e2e/a/00-two.yaml:2",
        "e2e/b/00-b.yaml:3",
        "e2e/b/00-b.yaml:4",
        "e2e/b/01-assert.yaml:2",
        "suite.yaml:4",
    ]


def test_findings_are_counted_beyond_a_limit(tmp_path: Path) -> None:
    files = {f"e2e/a/{n:03}-a.yaml": "a: [" for n in range(MOST_FINDINGS + 5)}
    with pytest.raises(SuiteInvalid) as caught:
        load(tmp_path, files)
    assert (len(caught.value.findings), caught.value.dropped) == (MOST_FINDINGS, 5)
    assert str(caught.value).endswith("and 5 more problems like these")


def test_many_unknown_fields_of_a_mapping_are_counted(tmp_path: Path) -> None:
    fields = "".join(f"x{n}: 1\n" for n in range(5_000))
    found = warnings(tmp_path, {"e2e/a/00-a.yaml": STEP + fields})
    assert len(found) == 21
    assert "e2e/a/00-a.yaml:1: and 4980 more unknown fields" in found


@pytest.mark.parametrize(
    ("limits", "files", "expected"),
    [
        (SuiteLimits(cases=1), {"e2e/a/x.txt": "", "e2e/b/x.txt": ""}, "more than 1 cases"),
        (
            SuiteLimits(entries=1),
            {"e2e/a/00-a.yaml": INSTALL, "e2e/a/01-a.yaml": INSTALL},
            "e2e/a has more than 1 entries",
        ),
        (
            SuiteLimits(file_size=10),
            {"e2e/a/00-a.yaml": INSTALL},
            "00-a.yaml is larger than 10 bytes",
        ),
        (
            SuiteLimits(total_size=80),
            {"e2e/a/00-a.yaml": INSTALL, "e2e/a/01-a.yaml": INSTALL, "e2e/a/02-a.yaml": INSTALL},
            "the suite is larger than 80 bytes",
        ),
        (
            SuiteLimits(documents=2),
            {"e2e/a/00-a.yaml": "---\n".join([INSTALL] * 3)},
            "more than 2 documents in one file; split it",
        ),
        (
            SuiteLimits(items=2),
            {"e2e/a/00-a.yaml": STEP + "apply: [a, b, c]\n"},
            "apply has more than 2 items",
        ),
        (
            SuiteLimits(text=5),
            {"e2e/a/00-a.yaml": STEP + "kubeconfig: /a/long/path\n"},
            "kubeconfig is longer than 5 characters",
        ),
        (
            SuiteLimits(yaml=goyaml.Limits(depth=3)),
            {"e2e/a/00-a.yaml": INSTALL + "a: {b: {c: {d: 1}}}\n"},
            "nested deeper than 3 levels; split the file",
        ),
    ],
)
def test_limits_are_told_and_keep_the_rest_from_being_read(
    tmp_path: Path, limits: SuiteLimits, files: dict[str, str], expected: str
) -> None:
    (found,) = errors(tmp_path, files, SuiteRequest(limits=limits))
    assert expected in found


def test_aliases_cannot_make_a_small_file_large(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    (found,) = errors(tmp_path, {"e2e/a/00-a.yaml": "\n".join(lines)})
    assert "more than 400000 values; split the file" in found


def test_a_file_that_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"e2e/a/00-a.yaml": INSTALL})
    (tmp_path / "e2e/a/01-b.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    os.mkfifo(tmp_path / "e2e/a/02-c.yaml")
    (tmp_path / "e2e/a/03-d.yaml").symlink_to("nowhere")
    texts = errors(tmp_path, {})
    assert texts[0] == "e2e/a/01-b.yaml:2: not UTF-8 text at byte 8; save the file as UTF-8"
    assert texts[1].endswith("02-c.yaml is no regular file")
    assert texts[2].endswith("03-d.yaml cannot be read: No such file or directory")


def test_a_template_is_no_file_that_a_step_names(tmp_path: Path) -> None:
    (found,) = errors(
        tmp_path,
        {
            "e2e/a/00-a.yaml": STEP + "apply: [more/x.gotmpl.yaml]\n",
            "e2e/a/more/x.gotmpl.yaml": INSTALL,
        },
    )
    assert found.startswith("e2e/a/00-a.yaml:3: x.gotmpl.yaml is a template, and templates work")


def test_kinds_of_the_harness_work_only_in_files_of_a_step(tmp_path: Path) -> None:
    (found,) = errors(
        tmp_path,
        {"e2e/a/00-a.yaml": STEP + "apply: [more]\n", "e2e/a/more/x.yaml": STEP},
    )
    assert found == (
        "e2e/a/more/x.yaml:2: TestStep works only in files whose names begin with the number of "
        "a step"
    )
