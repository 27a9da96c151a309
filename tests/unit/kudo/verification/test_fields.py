"""What `package verify` finds in the text of `operator.yaml` and `params.yaml`."""

from collections.abc import Mapping

import pytest

from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package
from kudo.verification import Finding, Severity, verify
from kudo.verification.finding import apply, edits_of
from tests.unit.kudo.verification.test_verification import OBJECT

OPERATOR = """\
name: first
operatorVersion: 0.1.0
kubernetesVersion: 1.25.0
tasks:
  - name: app
    kind: Apply
    spec:
      resources: [a.yaml]
plans:
  deploy:
    phases:
      - name: main
        steps:
          - name: all
            tasks: [app]
"""
PARAMETERS = """\
parameters:
  - name: SIZE  # of the disk
    default: "1"
"""
TEMPLATE = OBJECT + "data: {size: '{{ .Params.SIZE }}'}\n"


def package(operator: str = OPERATOR, parameters: str = PARAMETERS, **templates: str) -> Package:
    files = {
        "operator.yaml": operator,
        "params.yaml": parameters,
        "templates/a.yaml": TEMPLATE,
        **{f"templates/{name}.yaml": text for name, text in templates.items()},
    }
    return parse_package(PackageFiles("p", {path: text.encode() for path, text in files.items()}))


def edited(old: str, new: str) -> Package:
    """Return the package with a change in one of its two files."""
    assert (old in OPERATOR) != (old in PARAMETERS)
    return package(OPERATOR.replace(old, new), PARAMETERS.replace(old, new))


def of_code(code: str, of: Package) -> list[Finding]:
    return [finding for finding in verify(of) if finding.code == code]


def fixed(of: Package) -> Mapping[str, str]:
    return apply(of.files, edits_of(verify(of)))


def test_the_package_has_no_faults() -> None:
    assert verify(package()) == ()


def test_keys_that_come_twice_are_told(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str, str, str, str]] = [
        # The second one, without phases, would be installed and be COMPLETE at once.
        (
            "plans:\n",
            "plans:\n  deploy: {phases: [{name: x, steps: [{name: y, tasks: [app]}]}]}\n",
            "plans.deploy",
            "operator.yaml:11:3",
            Severity.ERROR,
        ),
        ("name: first\n", "name: first\nname: second\n", "name", "operator.yaml:2:1", "error"),
        ("name: first\n", "Name: first\nname: second\n", "name", "operator.yaml:2:1", "error"),
        ("name: first\n", "name: first\nname: first\n", "name", "operator.yaml:2:1", "warning"),
        (
            'default: "1"\n',
            'default: "1"\n    default: "2"\n',
            "parameters[0].default",
            "params.yaml:4:5",
            "error",
        ),
        (
            'default: "1"\n',
            'default: "1"\n    hint: a\n    hint: b\n',
            "parameters[0].hint",
            "params.yaml:5:5",
            "warning",
        ),
    ]
    for old, new, name, place, severity in table:
        with subtests.test(old=old, new=new, name=name, place=place, severity=severity):
            [finding] = of_code("KeyDuplicate", edited(old, new))
            assert finding.problem.message.startswith(
                f'key "{name}" is given twice, first in line '
            )
            assert (finding.place.position, finding.severity) == (place, severity)


def test_a_merged_key_is_not_given_twice() -> None:
    base = "x-base: &base {kind: Apply}\n"
    merged = OPERATOR.replace("    kind: Apply\n", "    <<: *base\n    kind: Apply\n")
    assert verify(package(base + merged)) == ()


def test_unknown_fields_are_told(subtests: pytest.Subtests) -> None:
    table = [
        ("    default:", "    triger: deploy\n    default:", "trigger", "params.yaml:3:5", "error"),
        ("            tasks:", "            task:", "tasks", "operator.yaml:15:13", "error"),
        ("operatorVersion", "operatorVersoin", "operatorVersion", "operator.yaml:2:1", "error"),
        # As in a published package, where it does no harm.
        (
            "    default:",
            "    desription: It\n    default:",
            "description",
            "params.yaml:3:5",
            "warning",
        ),
        ("    default:", "    colour: red\n    default:", "", "params.yaml:3:5", "warning"),
    ]
    for old, new, meant, place, severity in table:
        with subtests.test(old=old, new=new, meant=meant, place=place, severity=severity):
            [finding] = of_code("FieldUnknown", edited(old, new))
            assert (finding.place.position, finding.severity) == (place, severity)
            assert finding.problem.message.endswith("is unknown and is ignored")
            known = "known fields are name, displayName, description, required, default, "
            assert finding.suggestion.startswith(f'did you mean "{meant}"?' if meant else known)
            assert (finding.edit is not None) == bool(meant)


def test_fields_of_other_programs_begin_with_x() -> None:
    assert verify(package("x-owner: us\n" + OPERATOR)) == ()


def test_texts_that_are_read_as_something_else_are_told(subtests: pytest.Subtests) -> None:
    table = [
        # BTO-11: the version became 0.1 without a word.
        ("operatorVersion: 0.1.0", "operatorVersion: 0.10", "0.10 is read as 0.1"),
        ("name: first", "name: on", "on is read as true"),
        ("name: first", "name: 0x10", "0x10 is read as 16"),
        ("  - name: SIZE", "  - name: Y", "Y is read as true"),
        ("[app]", "[1_000]", "1_000 is read as 1000"),
    ]
    for old, new, read in table:
        with subtests.test(old=old, new=new, read=read):
            [finding] = of_code("TextUnquoted", edited(old, new))
            written = read.partition(" ")[0]
            assert (finding.problem.message, finding.is_error) == (read, True)
            assert finding.suggestion == f'put quotes around it: "{written}"'
            assert f'"{written}"' in "".join(fixed(edited(old, new)).values())


def test_texts_that_stay_as_they_are_written_are_fine(subtests: pytest.Subtests) -> None:
    for version in ["1.5", "'0.10'", '"0.10"', "!!str 0.10", "1.10.0", "3"]:
        with subtests.test(version=version):
            of = edited("operatorVersion: 0.1.0", f"operatorVersion: {version}")
            assert of_code("TextUnquoted", of) == []


def test_a_default_that_is_read_as_another_text_is_warned_of(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        *(("0.10", "read as 0.1"), ("0644", "read as 420"), ("yes", "read as true")),
        *(("1.5", ""), ("true", ""), ("1000", ""), ("'0.10'", ""), ("[a]", ""), ("2020-01-01", "")),
    ]
    for default, told in table:
        with subtests.test(default=default, told=told):
            found = of_code("DefaultUnquoted", edited('"1"', default))
            assert [finding.severity for finding in found] == ["warning"] * bool(told)
            assert all(told in finding.problem.message for finding in found)
            typed = edited('"1"', f"{default}\n    type: number")
            assert of_code("DefaultUnquoted", typed) == []


def test_an_unknown_type_is_an_error(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str, bool]] = [
        *(("int", 'did you mean "integer"?', True), ("bool", 'did you mean "boolean"?', True)),
        *(("String", 'did you mean "string"?', True), ("list", 'did you mean "array"?', True)),
        ("integr", 'did you mean "integer"?', False),
        ("colour", "types are string, integer, number, boolean, array, map", False),
    ]
    for type_, suggestion, fixable in table:
        with subtests.test(type_=type_, suggestion=suggestion, fixable=fixable):
            of = edited('default: "1"', f'default: "1"\n    type: {type_}')
            [finding] = of_code("ParameterTypeUnknown", of)
            assert (finding.is_error, finding.suggestion) == (True, suggestion)
            assert finding.place.position == "params.yaml:4:5"
            assert (finding.edit is not None) == fixable


def test_steps_phases_and_plans_that_do_nothing_are_warned_of() -> None:
    of = edited(
        "plans:\n",
        "plans:\n"
        "  none: {phases: []}\n"
        "  one: {phases: [{name: a, steps: []}, {name: b, steps: [{name: s, tasks: []}]}]}\n",
    )
    found = [finding for finding in verify(of) if finding.code.endswith("Empty")]
    assert [(finding.problem.message, finding.place.position) for finding in found] == [
        ('plan "none" has no phases', "operator.yaml:10:3"),
        ('phase "a" of plan "one" has no steps', "operator.yaml:11:18"),
        ('step "s" of phase "b" of plan "one" has no tasks', "operator.yaml:11:58"),
    ]
    assert not any(finding.is_error for finding in found)


# Edits


def test_edits_keep_comments_and_all_else() -> None:
    parameters = PARAMETERS + "  - {name: LID, type: bool, triger: deploy}  # why\n"
    of = package(OPERATOR.replace("operatorVersion: 0.1.0", "operatorVersion: 0.10"), parameters)
    assert fixed(of) == {
        "operator.yaml": OPERATOR.replace("operatorVersion: 0.1.0", 'operatorVersion: "0.10"'),
        "params.yaml": PARAMETERS + "  - {name: LID, type: boolean, trigger: deploy}  # why\n",
    }


def test_the_parameter_of_a_toggle_becomes_a_boolean(subtests: pytest.Subtests) -> None:
    table = [
        (
            '  - name: LID  # or off\n    default: "true"\n',
            '  - name: LID  # or off\n    type: boolean\n    default: "true"\n',
        ),
        ("  - {name: LID, default: true}\n", "  - {name: LID, type: boolean, default: true}\n"),
        ("  - default: true\n    name: LID", "  - default: true\n    name: LID\n    type: boolean"),
    ]
    for before, after in table:
        with subtests.test(before=before, after=after):
            operator = OPERATOR.replace("kind: Apply", "kind: Toggle").replace(
                "[a.yaml]", "[a.yaml]\n      parameter: LID"
            )
            of = package(operator, PARAMETERS + before)
            [finding] = of_code("ToggleNotBoolean", of)
            assert finding.severity == "warning"
            assert fixed(of)["params.yaml"] == PARAMETERS + after
            assert of_code("ToggleNotBoolean", package(operator, PARAMETERS + after)) == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ("{name: LID, default: 2}", "default"),
        ("{name: LID, default: 'yes'}", "default"),
        ("{name: LID, type: array, default: []}", "type"),
        ("{name: LID, type: integer, default: 2}", "default"),
    ],
)
def test_a_toggle_that_can_never_run_is_an_error(fields: str, field: str) -> None:
    operator = OPERATOR.replace("kind: Apply", "kind: Toggle").replace(
        "[a.yaml]", "[a.yaml]\n      parameter: LID"
    )
    [finding] = of_code("ToggleNotBoolean", package(operator, f"{PARAMETERS}  - {fields}\n"))
    assert (finding.is_error, finding.edit) == (True, None)
    assert finding.place.field == f"parameters[LID].{field}"


def test_a_second_document_is_warned_of(subtests: pytest.Subtests) -> None:
    for end, line in [("---\nname: b\n", 16), ("...\nname: b\n", 17)]:
        with subtests.test(end=end, line=line):
            [finding] = of_code("DocumentIgnored", package(OPERATOR + end))
            assert finding.severity is Severity.WARNING
            assert finding.place.position == f"operator.yaml:{line}"
            [finding] = of_code("DocumentIgnored", package(parameters=PARAMETERS + end))
            assert finding.place.file == "params.yaml"


def test_an_empty_document_at_the_end_is_fine() -> None:
    assert not of_code("DocumentIgnored", package(OPERATOR + "---\n", PARAMETERS + "...\n"))


def test_a_second_document_of_the_parameters_of_a_child_is_warned_of() -> None:
    child = "  - {name: c, kind: KudoOperator, spec: {package: ./c, parameterFile: b.yaml}}\nplans:"
    of = package(OPERATOR.replace("plans:", child), b="A: 1\n---\nB: {{ .Params.SIZE }}\n")
    [finding] = of_code("DocumentIgnored", of)
    assert finding.place.position == "templates/b.yaml"
