"""What `package verify` finds in the objects that templates render to, and where."""

import pytest

from kudo.verification import Finding
from tests.unit.kudo.verification.test_fields import OPERATOR, PARAMETERS, of_code, package
from tests.unit.kudo.verification.test_fields import TEMPLATE as FIRST

ALL = "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n"


def told(code: str, template: str, parameters: str = PARAMETERS) -> list[Finding]:
    """Return the findings in a second template that the package applies."""
    operator = OPERATOR.replace("[a.yaml]", "[a.yaml, b.yaml]")
    return of_code(code, package(operator, parameters, b=template))


def positions(findings: list[Finding]) -> list[str]:
    return [finding.place.position for finding in findings]


def test_a_name_that_no_object_can_have_is_an_error(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        *(("ConfigMap", "Pot"), ("ConfigMap", "a_b"), ("ConfigMap", "-a"), ("Secret", "a" * 254)),
        *(("Service", "a.b"), ("Service", "1a"), ("Service", "a" * 64)),
        ("ConfigMap", "{{ .Name }}-{{ .Params.SIZE }}_"),
    ]
    for kind, name in table:
        with subtests.test(kind=kind, name=name):
            text = "# {{ if true }}\n\n# {{ end }}\n---\n" + ALL.format(kind=kind, name=f'"{name}"')
            [finding] = told("ObjectNameInvalid", text)
            assert finding.is_error
            assert positions([finding]) == ["templates/b.yaml:8"]
            assert "cannot have this name: use at most" in finding.problem.message


def test_a_name_that_objects_can_have_is_fine(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        *(("ConfigMap", "a.b-c"), ("ConfigMap", "1a"), ("Service", "a-1")),
        *(("ConfigMap", "{{ .Name }}-{{ .Params.WITHOUT_DEFAULT }}"), ("Cup", "{{ .Name }}")),
        ("ConfigMap", "{{ .OperatorName }}-{{ .Namespace }}-{{ .PlanName }}"),
    ]
    for kind, name in table:
        with subtests.test(kind=kind, name=name):
            parameters = PARAMETERS + "  - name: WITHOUT_DEFAULT\n"
            assert told("ObjectNameInvalid", ALL.format(kind=kind, name=name), parameters) == []


def test_names_of_roles_may_contain_nearly_anything() -> None:
    text = ALL.format(kind="ClusterRole", name="system:Pot_a")
    rbac = text.replace("v1", "rbac.authorization.k8s.io/v1")
    assert told("ObjectNameInvalid", rbac) == []


POLICY = ALL.format(kind="Secret", name="a") + "  annotations:\n    a: b\n"


@pytest.mark.parametrize("policy", ["keep", "'true'", "Retain"])
def test_a_deletion_policy_that_there_is_not_is_an_error(policy: str) -> None:
    [finding] = told("DeletionPolicyUnknown", f"{POLICY}    kudo.dev/deletion-policy: {policy}\n")
    assert finding.is_error
    assert positions([finding]) == ["templates/b.yaml:7"]
    assert finding.problem.message == (
        f"Secret \"a\": the annotation kudo.dev/deletion-policy is '{policy.strip(chr(39))}'; "
        "it can be delete or retain"
    )


def test_a_deletion_policy_may_depend_on_a_parameter(subtests: pytest.Subtests) -> None:
    for policy in ["retain", "delete", "'{{ .Params.POLICY }}'"]:
        with subtests.test(policy=policy):
            parameters = PARAMETERS + "  - {name: POLICY, default: retain}\n"
            text = f"{POLICY}    kudo.dev/deletion-policy: {policy}\n"
            assert told("DeletionPolicyUnknown", text, parameters) == []


def test_an_apply_policy_that_there_is_not_is_an_error(subtests: pytest.Subtests) -> None:
    for policy in ["once", "'true'", "Create"]:
        with subtests.test(policy=policy):
            [finding] = told("ApplyPolicyInvalid", f"{POLICY}    kudo.dev/apply-policy: {policy}\n")
            assert finding.is_error
            assert positions([finding]) == ["templates/b.yaml:7"]
            assert finding.problem.message == (
                f"Secret \"a\": the annotation kudo.dev/apply-policy is '{policy.strip(chr(39))}'; "
                "it can be apply or create"
            )


def test_an_apply_policy_may_depend_on_a_parameter(subtests: pytest.Subtests) -> None:
    for policy in ["create", "apply", "'{{ .Params.POLICY }}'"]:
        with subtests.test(policy=policy):
            parameters = PARAMETERS + "  - {name: POLICY, default: create}\n"
            text = f"{POLICY}    kudo.dev/apply-policy: {policy}\n"
            assert told("ApplyPolicyInvalid", text, parameters) == []


def test_a_cluster_scoped_object_cannot_be_only_created(subtests: pytest.Subtests) -> None:
    for policy, number in [("create", 1), ("apply", 0)]:
        with subtests.test(policy=policy, number=number):
            text = (
                POLICY.replace("Secret", "ClusterRole") + f"    kudo.dev/apply-policy: {policy}\n"
            )
            found = told("ApplyPolicyInvalid", text)
            assert len(found) == number
            assert all("cluster-scoped ones are shared; remove it" in str(one) for one in found)


JOB = (
    ALL.format(kind="Job", name="a").replace("v1", "batch/v1")
    + "{annotations}spec:\n  template:\n    metadata:\n      annotations:\n        a: b\n"
)
SHOW = "kudo.dev/show-termination-message"


def test_a_termination_message_is_shown_by_the_right_word_alone(subtests: pytest.Subtests) -> None:
    table = [("yes-please", "'yes-please'"), ("'True'", "'True'"), ("true", "no text")]
    for value, shown in table:
        with subtests.test(value=value, shown=shown):
            text = f"{JOB.format(annotations='')}        {SHOW}: {value}\n"
            [finding] = told("TerminationMessageNotShown", text)
            assert (finding.severity, positions([finding])) == ("warning", ["templates/b.yaml:10"])
            assert finding.problem.message == (
                f'Job "a": the annotation {SHOW} is {shown}; it can be true or false'
            )


def test_a_termination_message_may_depend_on_a_parameter(subtests: pytest.Subtests) -> None:
    for value in ["'true'", "'false'", "'{{ .Params.TOLD }}'"]:
        with subtests.test(value=value):
            parameters = PARAMETERS + "  - {name: TOLD, default: 'true'}\n"
            text = f"{JOB.format(annotations='')}        {SHOW}: {value}\n"
            assert told("TerminationMessageNotShown", text, parameters) == []
            pod = ALL.format(kind="Pod", name="a") + f"  annotations: {{{SHOW}: {value}}}\n"
            assert told("TerminationMessageNotShown", pod, parameters) == []


def test_only_the_metadata_of_pods_has_a_termination_message_shown() -> None:
    text = JOB.format(annotations=f"  annotations:\n    {SHOW}: 'true'\n")
    [finding] = told("TerminationMessageNotShown", text)
    assert positions([finding]) == ["templates/b.yaml:6"]
    assert finding.problem.message == (
        f'Job "a": the annotation {SHOW} counts only for pods; set it in spec.template.metadata'
    )


def test_a_namespace_that_is_replaced_is_warned_of() -> None:
    service = ALL.format(kind="Service", name="a")
    [finding] = told("NamespaceOverridden", service + "  namespace: monitoring\n")
    assert (finding.severity, positions([finding])) == ("warning", ["templates/b.yaml:5"])
    assert told("NamespaceOverridden", service + "  namespace: {{ .Namespace }}\n") == []
    role = ALL.format(kind="ClusterRole", name="a") + "  namespace: monitoring\n"
    assert told("NamespaceOverridden", role) == []


def test_an_object_that_two_templates_define_is_warned_of() -> None:
    again = "{{ if eq .PlanName .PlanName }}\n" + ALL.format(kind="ConfigMap", name="a") + "{{end}}"
    [finding] = told("ObjectDuplicate", again)
    assert (finding.severity, positions([finding])) == ("warning", ["templates/b.yaml:5"])
    assert finding.problem.message == (
        'ConfigMap "a" is defined in template "a.yaml" as well, in plan "deploy"'
    )
    assert told("ObjectDuplicate", ALL.format(kind="Secret", name="a")) == []
    other = ALL.format(kind="ConfigMap", name="a").replace("v1", "example.com/v1")
    assert told("ObjectDuplicate", other) == []


def test_templates_of_different_plans_may_define_one_object() -> None:
    operator = OPERATOR.replace(
        "plans:\n",
        "  - {name: other, kind: Apply, spec: {resources: [b.yaml]}}\n"
        "plans:\n  other: {phases: [{name: p, steps: [{name: s, tasks: [other]}]}]}\n",
    )
    assert of_code("ObjectDuplicate", package(operator, b=FIRST)) == []


def test_a_key_that_comes_twice_in_an_object_is_warned_of() -> None:
    text = "{{ $x := 1 }}\n" + ALL.format(kind="ConfigMap", name="b") + "data:\n  k: 1\n  k: 2\n"
    [finding] = told("KeyDuplicate", "---\n" + text)
    assert (finding.severity, positions([finding])) == ("warning", ["templates/b.yaml:8"])
    assert finding.problem.message.startswith('key "data.k" of ConfigMap "b" is given twice')


def test_an_empty_template_is_warned_of() -> None:
    assert positions(told("TemplateEmpty", "\n")) == ["templates/b.yaml"]


def test_wrong_yaml_is_told_with_the_line_of_the_template(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, int]] = [
        ("a: [\n", 1),
        ("# {{ .Name }}\n\na: b: c\n", 3),
        (FIRST + "---\n# comment\na: b: c\n", 7),
        ("{{ if true }}\n{{ range until 3 }}\n{{ end }}\nkind: b: c\n{{ end }}\n", 4),
    ]
    for text, line in table:
        with subtests.test(text=text, line=line):
            [finding] = told("TaskRenderingError", text)
            assert positions([finding]) == [f"templates/b.yaml:{line}"]
            assert (
                "parsing rendered YAML from b.yaml failed: decoding chunk "
                in finding.problem.message
            )


def test_what_the_engine_cannot_render_has_line_and_column() -> None:
    [finding] = told("TaskRenderingError", FIRST + "# {{ .Params.SIZE.none }}")
    assert positions([finding]) == ["templates/b.yaml:5:13"]


def test_a_removed_version_is_corrected_where_nothing_else_changes() -> None:
    text = ALL.format(kind="PodDisruptionBudget", name="b").replace("v1", "policy/v1beta1")
    [finding] = told("RemovedAPIVersion", "# old\n" + text + "spec: {maxUnavailable: 1}\n")
    assert positions([finding]) == ["templates/b.yaml:2"]
    assert finding.edit is not None
    assert finding.edit.text == "policy/v1"
    indirect = text.replace("apiVersion: ", "apiVersion: {{ if true }}").replace(
        "v1beta1", "v1beta1{{ end }}"
    )
    [finding] = told("RemovedAPIVersion", indirect)
    assert finding.edit is None


# Conditions


def test_a_condition_that_is_text_is_warned_of(subtests: pytest.Subtests) -> None:
    table = [
        "if .Params.LID",
        "if not .Params.LID",
        "if and .Name .Params.LID",
        "if or (not .Params.LID) (eq .Name `a`)",
        "if $.Params.LID",
        "if (.Params.LID)",
        "with .Params.LID",
        "if eq .Name `a` }}{{ else if .Params.LID",
        "$x := .Params.LID }}{{ if $x",
        "if index .Params `LID`",
    ]
    for fields in ["type: boolean", "default: 'false'", "default: true"]:
        for condition in table:
            with subtests.test(condition=condition, fields=fields):
                parameters = PARAMETERS + f"  - {{name: LID, {fields}}}\n"
                [finding] = told(
                    "ConditionAlwaysTrue", f"#\n# {{{{ {condition} }}}}{{{{ end }}}}\n", parameters
                )
                assert (finding.severity, finding.place.line) == ("warning", 2)
                assert finding.suggestion == 'compare it: eq .Params.LID "true"'


def test_a_condition_that_asks_whether_there_is_a_value_is_fine(subtests: pytest.Subtests) -> None:
    table = [
        ('if eq .Params.LID "true"', "type: boolean"),
        ("if .Params.LID", "default: ''"),
        ("if .Params.LID", "type: array, default: []"),
        ("if .Params.LID", "default: iron"),
        ("range .Params.LID", "type: array, default: []"),
        ("if hasKey .Params `LID`", "type: boolean"),
    ]
    for condition, fields in table:
        with subtests.test(condition=condition, fields=fields):
            parameters = PARAMETERS + f"  - {{name: LID, {fields}}}\n"
            assert (
                told("ConditionAlwaysTrue", f"# {{{{ {condition} }}}}{{{{ end }}}}\n", parameters)
                == []
            )


CRD_OF_CUPS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cups.example.dev}
spec: {group: example.dev, names: {kind: Cup}}
"""
CUP = "apiVersion: example.dev/v1\nkind: Cup\nmetadata: {name: a}\n"


def test_a_crd_and_its_resource_in_one_task_are_told(subtests: pytest.Subtests) -> None:
    for text in [f"{CRD_OF_CUPS}---\n{CUP}", f"{CUP}---\n{CRD_OF_CUPS}"]:
        with subtests.test(text=text):
            [finding] = told("KindDefinedTooLate", text)
            assert not finding.is_error
            assert 'applied by one task, "app"' in finding.problem.message
            [position] = positions([finding])
            assert text.splitlines()[int(position.rpartition(":")[2]) - 1] == "kind: Cup"


def test_a_resource_of_another_group_or_task_is_fine() -> None:
    other = CUP.replace("example.dev", "example.com")
    assert told("KindDefinedTooLate", f"{CRD_OF_CUPS}---\n{other}") == []
    assert told("KindDefinedTooLate", CUP) == []


def test_a_label_or_annotation_that_is_no_text_is_an_error(subtests: pytest.Subtests) -> None:
    table = [
        ("labels: {v: 1.10}", "metadata.labels.v is a number and not text"),
        ("annotations:\n    port: 8080", "metadata.annotations.port is a number and not text"),
        ("labels: {on: y}", "metadata.labels.true is true and not text"),
        ("annotations: text", "metadata.annotations is text and not a mapping"),
        ("labels: {a: [b]}", "metadata.labels.a is a list and not text"),
    ]
    for metadata, problem in table:
        with subtests.test(metadata=metadata, problem=problem):
            text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  {metadata}\n  name: b\n"
            [finding] = told("TaskRenderingError", text)
            assert finding.ends
            assert finding.place.position.startswith("templates/b.yaml")
            assert problem in finding.problem.message


def test_labels_of_pods_are_checked_where_the_kind_has_pods() -> None:
    text = "metadata: {name: b}\nspec: {template: {metadata: {labels: {v: 1}}}}\n"
    [finding] = told("LabelNotText", f"apiVersion: apps/v1\nkind: Deployment\n{text}")
    assert "spec.template.metadata.labels.v of Deployment" in finding.problem.message
    assert not told("LabelNotText", f"apiVersion: example.org/v1\nkind: Deployment\n{text}")


def test_a_label_without_value_is_fine() -> None:
    text = "apiVersion: v1\nkind: A\nmetadata: {name: b, labels: {v: , w: '1'}, annotations: }\n"
    assert not told("LabelNotText", text)


def test_a_template_that_refuses_the_defaults_is_a_warning() -> None:
    guard = '# {{ if not .Params.NAME }}{{ fail "give NAME" }}{{ end }}\n'
    parameters = PARAMETERS + "  - {name: NAME, required: false}\n"
    [finding] = told("TaskRenderingError", guard + ALL.format(kind="A", name="b"), parameters)
    assert not finding.is_error
    assert finding.problem.message.endswith("error calling fail: give NAME")
    assert positions([finding]) == ["templates/b.yaml:1:31"]
