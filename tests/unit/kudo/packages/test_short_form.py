"""The short form of operator.yaml: what it stands for, where its parts are, and what is refused."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from goyaml import load
from kudo.api import CheckSpec, Task, TaskSpec
from kudo.api.problems import InvalidInput, path_text
from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package, read_package
from kudo.packages.short_form import INLINE, expand
from kudo.packages.source import Named
from kudo.verification import verify

ROOT = Path(__file__).parents[4]
HEAD = "name: a\noperatorVersion: 1.0.0\nkubernetesVersion: 1.30.0\n"
SHORT = """\
plans:
  deploy:
    steps:
    - include: ready
    - name: app
      apply: [app.yaml]
      timeout: 5m
  backup:
    strategy: parallel
    timeout: 1h
    steps:
    - include: ready
    - include: deploy
    - name: stop
      toggle: {resources: [app.yaml], parameter: go}
fragments:
  ready:
  - name: probe
    apply: {resources: [probe.yaml]}
"""
LONG = """\
plans:
  deploy:
    strategy: serial
    phases:
    - name: main
      strategy: serial
      steps:
      - {name: probe, tasks: [probe]}
      - {name: app, timeout: 5m, tasks: [app]}
  backup:
    strategy: serial
    timeout: 1h
    phases:
    - name: main
      strategy: parallel
      steps:
      - {name: probe, tasks: [probe]}
      - {name: probe, tasks: [probe]}
      - {name: app, timeout: 5m, tasks: [app]}
      - {name: stop, tasks: [stop]}
tasks:
- {name: probe, kind: Apply, spec: {resources: [probe.yaml]}}
- {name: app, kind: Apply, spec: {resources: [app.yaml]}}
- {name: stop, kind: Toggle, spec: {resources: [app.yaml], parameter: go}}
"""


def package(text: str, *, params: str = "", **templates: str) -> Package:
    files = {"operator.yaml": (HEAD + text).encode(), "params.yaml": params.encode()}
    files |= {f"templates/{name}.yaml": text.encode() for name, text in templates.items()}
    return parse_package(PackageFiles("p", files))


def refused(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        package(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_long_form_is_what_is_read() -> None:
    assert expand(load(SHORT)).document == load(LONG)
    short, long = package(SHORT), package(LONG)
    assert short.operator == long.operator
    assert short.expansion.is_short
    assert not long.expansion.is_short


def test_steps_of_phases_have_tasks_in_them_and_include_steps_too() -> None:
    read = package(
        "tasks: [{name: t, kind: Dummy}]\n"
        "plans: {deploy: {phases: [{name: p, steps: [{include: f}, {name: s, tasks: [t]}]}]}}\n"
        "fragments: {f: [{name: g, delete: [a.yaml]}]}\n"
    )
    [phase] = (read.operator.plans or {})["deploy"].phases or ()
    assert [(step.name, step.tasks) for step in phase.steps] == [("g", ("g",)), ("s", ("t",))]
    delete = Task(name="g", kind="Delete", spec=TaskSpec(resources=("a.yaml",)))
    assert [task.name for task in read.operator.tasks] == ["t", "g"]
    assert read.operator.tasks[1] == delete


@pytest.mark.parametrize("kind", INLINE)
def test_a_task_of_every_kind_can_stand_in_a_step(kind: str) -> None:
    read = package(f"plans: {{deploy: {{steps: [{{name: s, {kind}: {{}}}}]}}}}")
    assert [task.kind for task in read.operator.tasks] == [INLINE[kind]]


def test_a_kind_with_a_single_field_gives_that_alone() -> None:
    check = "{apiVersion: v1, kind: Pod, name: p, until: 'true'}"
    short = package(f"plans: {{deploy: {{steps: [{{name: s, check: {check}}}]}}}}")
    (task,) = short.operator.tasks
    assert task.spec.check == CheckSpec(api_version="v1", kind="Pod", name="p", until="true")
    (fault,) = verify(
        package(f"plans: {{deploy: {{steps: [{{name: s, check: {check[:-7]}a}}}}]}}}}")
    )
    assert fault.place.field == "plans.deploy.steps[s].check.until"


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/**/operator.yaml")), ids=str)
def test_the_long_form_stands_for_itself(path: Path) -> None:
    read = read_package(path.parent)
    again = expand(read.expansion.document)
    assert again.document is read.expansion.document


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "plans: {deploy: {steps: [], phases: []}}",
            "operator.yaml:4: plans.deploy.steps: a plan has either steps or phases",
        ),
        (
            "plans: {deploy: {steps: 5}}",
            "operator.yaml:4: plans.deploy.steps: must be a list, not a number",
        ),
        (
            "plans: {deploy: {steps: [{name: s, apply: [], delete: []}]}}",
            (
                "operator.yaml:4: plans.deploy.steps[s]: a step has one task in it, or names its "
                "tasks: it has apply and delete"
            ),
        ),
        (
            "plans: {deploy: {steps: [{name: s, apply: [], tasks: [a]}]}}",
            (
                "operator.yaml:4: plans.deploy.steps[s]: a step has one task in it, or names its "
                "tasks: it has apply and tasks"
            ),
        ),
        (
            "plans: {deploy: {steps: [{dummy: {}}]}}",
            (
                "operator.yaml:4: plans.deploy.steps[0]: a step with dummy in it needs a name, "
                "which its task has too"
            ),
        ),
        (
            (
                "plans:\n  deploy: {steps: [{name: s, dummy: {}}]}\n"
                "  backup: {steps: [{name: s, dummy: {done: true}}]}"
            ),
            (
                'operator.yaml:6: plans.backup.steps[s].dummy: there is another task "s", in '
                "plans.deploy.steps[s].dummy: the task of a step has the name of the step; rename "
                "one of them"
            ),
        ),
        (
            "tasks: [{name: s, kind: Dummy}]\nplans: {deploy: {steps: [{name: s, dummy: {}}]}}",
            (
                'operator.yaml:5: plans.deploy.steps[s].dummy: there is another task "s", in '
                "tasks: the task of a step has the name of the step; rename one of them"
            ),
        ),
        (
            "plans: {deploy: {steps: [{include: gone}]}}\nfragments: {here: []}",
            (
                "operator.yaml:4: plans.deploy.steps[0].include: there is no fragment or plan "
                '"gone"; there are here, deploy'
            ),
        ),
        (
            "plans: {deploy: {steps: [{include: f, name: x}]}}\nfragments: {f: []}",
            (
                "operator.yaml:4: plans.deploy.steps[x]: includes steps and can have nothing else; "
                "remove name"
            ),
        ),
        (
            "plans: {deploy: {steps: [{include: f}]}}\nfragments: {f: {name: a}}",
            "operator.yaml:5: fragments.f: must be a list of steps, not a mapping",
        ),
        (
            "plans: {deploy: {steps: [{include: f}]}, f: {steps: []}}\nfragments: {f: []}",
            (
                'operator.yaml:4: plans.deploy.steps[0].include: "f" is the name of a fragment and '
                "of a plan; rename one"
            ),
        ),
        (
            "plans: {deploy: {steps: [{include: deploy}]}}",
            "operator.yaml:4: plans.deploy.steps[0].include: includes itself: deploy → deploy",
        ),
        (
            (
                "plans: {deploy: {steps: [{include: f}]}}\n"
                "fragments:\n  f: [{include: g}]\n  g: [{include: f}]"
            ),
            "operator.yaml:7: fragments.g[0].include: includes itself: f → g → f",
        ),
        (
            (
                "plans: {deploy: {steps: [{include: b}]}, "
                "b: {phases: [{name: p, steps: []}, {name: q, steps: []}]}}"
            ),
            (
                "operator.yaml:4: plans.deploy.steps[0].include: only a plan of one phase can be "
                'included, and "b" is none; move the steps to fragments'
            ),
        ),
        (
            "plans: {deploy: {steps: [{name: s, apply: {resources: 5}}]}}",
            "operator.yaml: plans.deploy.steps[0].apply.resources must be a list, not a number",
        ),
    ],
)
def test_what_cannot_be_expanded_is_named_where_it_is_written(text: str, fault: str) -> None:
    assert refused(text) == [fault]


def test_fragments_that_include_each_other_often_are_counted() -> None:
    doubled = "".join(
        f"  f{n}: [{{include: f{n + 1}}}, {{include: f{n + 1}}}]\n" for n in range(60)
    )
    text = f"plans: {{deploy: {{steps: [{{include: f0}}]}}}}\nfragments:\n{doubled}  f60: []\n"
    assert refused(text) == ["operator.yaml:4: plans: include more than 1000 steps"]


def test_places_of_the_long_form_are_those_of_the_file() -> None:
    expansion = expand(load(SHORT))
    rows: list[tuple[tuple[Any, ...], str]] = [
        (("plans", "deploy", "phases", 0, "steps", 0), "fragments.ready[probe]"),
        (
            ("plans", "deploy", "phases", Named("main"), "steps", Named("app")),
            "plans.deploy.steps[app]",
        ),
        (("plans", "backup", "phases", 0, "strategy"), "plans.backup.strategy"),
        (
            ("tasks", Named("probe"), "spec", "resources", 0),
            "fragments.ready[probe].apply.resources[0]",
        ),
        (("tasks", Named("app"), "spec", "resources", 0), "plans.deploy.steps[app].apply[0]"),
        (("name",), "name"),
    ]
    assert [path_text(expansion.written(path)) for path, _ in rows] == [text for _, text in rows]


def test_findings_have_the_lines_of_the_short_form() -> None:
    [finding] = (one for one in verify(package(SHORT, app="a: b")) if one.code == "TemplateUnknown")
    assert (finding.place.field, finding.place.line) == (
        "fragments.ready[probe].apply.resources[0]",
        22,
    )


def test_what_nobody_includes_and_what_older_kudo_cannot_read_is_warned_of() -> None:
    found = verify(package("kudoVersion: 0.19.0\n" + SHORT.replace("- include: ready", "")))
    warned = {one.code: one.place.line for one in found if not one.is_error}
    assert warned["FragmentUnused"] == 21
    assert warned["KudoVersionTooLow"] == 4
    assert "KudoVersionTooLow" not in {
        one.code for one in verify(package("kudoVersion: 0.20.0\n" + SHORT))
    }
    assert "KudoVersionTooLow" not in {
        one.code for one in verify(package("kudoVersion: 0.19.0\n" + LONG))
    }


def test_conditions_are_checked_where_they_are_written() -> None:
    text = """\
kudoVersion: 0.19.0
plans:
  deploy:
    steps:
    - {name: a, when: params.NONE == 1, dummy: {}}
    - name: b
      when: param.X
      dummy: {}
    - {name: c, when: instance.name == 'i', dummy: {}}
"""
    found = [one for one in verify(package(text)) if one.code != "TextUnquoted"]
    assert [(one.code, one.place.line) for one in found] == [
        ("KudoVersionTooLow", 4),
        ("ParameterUnknown", 8),
        ("ConditionInvalid", 10),
    ]
    assert found[0].problem.message.endswith("know the short form of plans and when")
    used = package(
        "plans: {deploy: {steps: [{name: a, when: 'params[\"a-b\"] == 1', dummy: {}}]}}",
        params="parameters: [{name: a-b, type: integer, default: 1}, {name: c, default: x}]",
    )
    unused = [one.place.field for one in verify(used) if one.code == "ParameterUnused"]
    assert unused == ["parameters[c]"]
    assert found[2].problem.message == "when: unknown name param; did you mean params?"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "f", "deploy", "steps"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["plans", "steps", "phases", "fragments", "tasks", "name", "include", "apply", "f"]
            ),
            below,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_VALUES)
def test_any_document_is_read_or_refused(document: object) -> None:
    text = yaml.safe_dump(document)
    files = {"operator.yaml": text.encode(), "params.yaml": b""}
    with suppress(InvalidInput):
        verify(parse_package(PackageFiles("p", files)))
