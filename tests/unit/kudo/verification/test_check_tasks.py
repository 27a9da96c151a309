"""What `package verify` says of Check tasks, and where."""

import re
from pathlib import Path

import pytest

from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package
from kudo.verification import verify

DOCS = Path(__file__).parents[4] / "docs"
HEAD = "name: op\noperatorVersion: 1.0.0\nkubernetesVersion: 1.30.0\nkudoVersion: 0.20.0\n"
PARAMETERS = "parameters: [{name: NODES, type: integer, default: 3}]"
NODES = "NODES: ' {{ .Params.NODES }}'"
STEPS = """\
plans:
  deploy:
    steps:
      - name: ring
        check:
          apiVersion: v1
          kind: ConfigMap
"""
"""The next field stands in line 12, and its value in column 17 or 18."""


def package(check: str, params: str = PARAMETERS, head: str = HEAD) -> Package:
    """Return a package whose only task has these fields, of ten spaces each."""
    text = head + STEPS + "".join(f"          {line}\n" for line in check.splitlines())
    return parse_package(
        PackageFiles("p", {"operator.yaml": text.encode(), "params.yaml": params.encode()})
    )


def found(check: str, params: str = PARAMETERS, head: str = HEAD) -> list[tuple[str, int, str]]:
    """Return code, line and message of each finding."""
    findings = verify(package(check, params, head))
    return [(one.code, one.place.line, one.problem.message) for one in findings]


GOOD = "name: '{{ .Name }}-{{ .Params.NODES }}'\nuntil: self.data.ready == 'yes'\n"


def test_a_check_is_right_and_what_it_uses_is_used() -> None:
    assert found(GOOD) == []
    assert found("name: a\nuntil: 'objects.size() == params.NODES'\n") == []
    assert found("selector: {app: a}\nuntil: 'objects.size() == params.NODES'\n") == []
    assert found("name: a\nuntil: 'true'\n")[0][0] == "ParameterUnused"


@pytest.mark.parametrize(
    ("check", "code", "line", "message"),
    [
        ("until: self.\n", "CheckInvalid", 13, "check.until: not valid CEL (column 6)"),
        ("until: a\n", "CheckInvalid", 13, "check.until: unknown name a; a check can use self"),
        ("until: 1 + 1\n", "CheckInvalid", 13, "check.until: the expression is of type int"),
        ("until: output.a.b\n", "CheckInvalid", 13, "check.until: unknown name output; did you"),
        (
            "until: 'true'\nfailure: '[1]'\n",
            "CheckInvalid",
            14,
            "check.failure: the expression is of type list, and must be true or false",
        ),
        (
            "until: 'true'\nmessage: 'true'\n",
            "CheckInvalid",
            14,
            "check.message: the expression is of type bool, and must be a text",
        ),
        (
            "until: 'true'\nmessage: string(params.NODE)\n",
            "ParameterUnknown",
            14,
            'parameter "NODE" in check.message is not defined',
        ),
    ],
)
def test_expressions_are_checked_where_they_are_written(
    check: str, code: str, line: int, message: str
) -> None:
    (finding,) = found("name: 'a{{ .Params.NODES }}'\n" + check)
    assert finding[:2] == (code, line)
    assert finding[2].startswith(message)


def test_with_a_selector_there_is_no_self() -> None:
    ((code, line, message),) = found(
        "selector: {a: '{{ .Params.NODES }}'}\nuntil: has(self.data)\n"
    )
    assert (code, line) == ("CheckInvalid", 13)
    assert message.startswith("check.until: unknown name self; a check with a selector can use")


@pytest.mark.parametrize(
    ("check", "code", "line", "message"),
    [
        ("name: '{{ .Name'\n", "TemplateInvalid", 12, "check.name of task ring reports the"),
        (
            "name: '{{ .Params.NODE }}'\n",
            "ParameterUnknown",
            12,
            'parameter "NODE" in check.name of task ring is not defined',
        ),
        (
            "name: '{{ .Nam }}'\n",
            "VariableUnknown",
            12,
            'check.name of task ring defines an invalid implicit parameter "Nam"',
        ),
        (
            "selector:\n  app: '{{ .Params.NODE }}'\n",
            "ParameterUnknown",
            13,
            'parameter "NODE" in check.selector.app of task ring is not defined',
        ),
        ("name: 'a/{{ .Name }}'\n", "CheckInvalid", 12, "check.name: 'a/instance' cannot be"),
        (
            "name: '{{ index .Params.NODES 5 }}'\n",
            "TaskRenderingError",
            12,
            "check.name: error rendering",
        ),
        (
            "selector:\n  app.kubernetes.io/name: 'a b'\n",
            "CheckInvalid",
            13,
            "check.selector.app.kubernetes.io/name: 'a b' is no value of a label",
        ),
        ("selector:\n  a b: a\n", "CheckInvalid", 12, "check.selector: 'a b' is no name of a"),
        (
            f"selector:\n  app: '{{{{ .Name }}}}-{'a' * 55}'\n",
            "CheckInvalid",
            13,
            f"check.selector.app: 'instance-{'a' * 31}…' is no value of a label: use at most 63",
        ),
    ],
)
def test_texts_are_templates_that_are_checked(
    check: str, code: str, line: int, message: str
) -> None:
    findings = found(f"{check}until: objects.size() == params.NODES\n")
    assert findings[0][:2] == (code, line), findings
    assert findings[0][2].startswith(message)


@pytest.mark.parametrize(
    ("check", "line", "message"),
    [
        ("until: 'true'\n", 9, "check: needs a name or a selector"),
        ("name: a\nselector: {a: b}\nuntil: 'true'\n", 13, "check.selector: there is a name"),
        ("name: a\n", 9, "check.until: is needed"),
    ],
)
def test_what_a_check_lacks_is_said(check: str, line: int, message: str) -> None:
    ((code, at, text),) = found(check, params="")
    assert (code, at) == ("TaskBuildError", line)
    assert text.startswith(f"task ring: {message}")


def test_too_much_of_it_is_refused() -> None:
    labels = ", ".join(f"a{number}: b" for number in range(21))
    long = "a == " * 900
    codes = [
        (code, message)
        for code, _, message in found(f"selector: {{{labels}}}\nuntil: '{long}a'\n", params="")
        if code == "PackageTooLarge"
    ]
    assert [message.partition(" is ")[0] for _, message in codes] == [
        "the number of selector of check of spec of the task",
        "the number of characters of until of check of spec of the task",
    ]


def test_an_optional_parameter_may_give_the_name() -> None:
    optional = "parameters: [{name: NODES, required: false}]"
    assert found("name: '{{ .Params.NODES }}'\nuntil: 'true'\n", optional) == []


def test_kudo_0_19_cannot_run_it() -> None:
    ((code, line, message),) = found(GOOD, head=HEAD.replace("0.20.0", "0.19.0"))
    assert (code, line) == ("KudoVersionTooLow", 4)
    assert message.endswith("does not know the short form of plans and tasks of kind Check")


def test_the_example_of_the_documentation_is_right() -> None:
    text = (DOCS / "plans.md").read_text(encoding="utf-8")
    section = text[text.index("\n## Check\n") :]
    example = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert example is not None
    operator = example[1]
    assert len(operator.splitlines()) <= 20
    files = {
        "operator.yaml": operator.encode(),
        "params.yaml": PARAMETERS.encode(),
        "templates/nodes.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    }
    assert verify(parse_package(PackageFiles("p", files))) == ()
