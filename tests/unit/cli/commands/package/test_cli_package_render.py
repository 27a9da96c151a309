"""`package render`: what would be applied, by plan, step and values; and where an error is."""

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Cli

OPERATOR = """\
name: teapot
operatorVersion: 0.3.0
kubernetesVersion: 1.22.0
tasks:
  - {name: pot, kind: Apply, spec: {resources: [pot.yaml, lid.yaml]}}
  - {name: milk, kind: Toggle, spec: {parameter: MILK, resources: [milk.yaml]}}
  - {name: leaves, kind: Pipe, spec: {pod: leaves.yaml, pipe: [{file: /t, kind: Secret, key: t}]}}
  - {name: cup, kind: KudoOperator, spec: {package: cup, parameterFile: cup.yaml}}
  - {name: wash, kind: Delete, spec: {resources: [pot.yaml]}}
  - {name: rest, kind: Dummy, spec: {done: true}}
plans:
  deploy:
    phases:
      - name: main
        steps:
          - {name: brew, tasks: [pot, leaves]}
          - {name: serve, tasks: [milk, cup]}
  cleanup:
    phases: [{name: sink, steps: [{name: wash, tasks: [wash, rest]}]}]
"""
PARAMETERS = """\
parameters:
  - {name: TEA, default: mint}
  - {name: MILK, type: boolean, default: false}
  - {name: EXTRAS, type: array, default: [lemon, honey]}
  - {name: CUPS, type: integer, required: true}
"""
TEMPLATES = {
    "pot": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-pot
  namespace: {{ .Namespace }}
data:
  tea: {{ .Params.TEA }}
  where: {{ .PlanName }}/{{ .PhaseName }}/{{ .StepName }}
  note: |
    two
    lines
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Name }}-secret"}
""",
    "lid": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: lid}
data:
{{- range .Params.EXTRAS }}
  {{ . }}: {{ $.Params.CUPS | quote }}
{{- end }}
""",
    "milk": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: milk}\n",
    "leaves": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n",
    "cup": "SIZE: {{ .Params.CUPS }}\n",
}


@pytest.fixture
def teapot(package: Path) -> Path:
    """Return a package with tasks of every kind."""
    (package / "operator.yaml").write_text(OPERATOR)
    (package / "params.yaml").write_text(PARAMETERS)
    for name, text in TEMPLATES.items():
        (package / "templates" / f"{name}.yaml").write_text(text)
    return package


def objects(text: str) -> list[tuple[str, str]]:
    found = [item for item in yaml.safe_load_all(text) if item is not None]
    return [(item["kind"], item["metadata"].get("name")) for item in found]


def test_the_objects_of_the_deploy_plan_are_printed_in_its_order(run: Cli, teapot: Path) -> None:
    ran = run("package", "render", str(teapot), "-p", "CUPS=2", "-p", "MILK=true")
    assert (ran.code, ran.err) == (0, "")
    assert objects(ran.out) == [
        ("ConfigMap", "teapot-instance-pot"),
        ("Secret", "teapot-instance-secret"),
        ("ConfigMap", "lid"),
        ("Pod", "x"),
        ("ConfigMap", "milk"),
        ("Instance", "teapot-instance-cup"),
    ]
    assert ran.out.startswith(
        "---\n# plan deploy, phase main, step brew, task pot, template pot.yaml\napiVersion: v1\n"
    )


def test_values_come_from_flags_files_and_defaults(run: Cli, teapot: Path, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("CUPS: 4\nTEA: green\nEXTRAS: [ice]\n")
    file = str(tmp_path / "values.yaml")
    argv = ("-P", file, "-p", "TEA=black", "--instance", "mine", "-n", "kitchen")
    ran = run("package", "render", str(teapot), *argv)
    pot, _, lid, _, cup = [item for item in yaml.safe_load_all(ran.out) if item is not None]
    assert pot["metadata"] == {"name": "mine-pot", "namespace": "kitchen"}
    assert pot["data"] == {"tea": "black", "where": "deploy/main/brew", "note": "two\nlines"}
    assert lid["data"] == {"ice": "4"}
    assert cup["metadata"]["name"] == "mine-cup"
    assert cup["spec"] == {"parameters": {"SIZE": "4"}}


def test_what_a_task_deletes_or_does_not_do_is_a_comment(run: Cli, teapot: Path) -> None:
    ran = run("package", "render", str(teapot), "--plan", "cleanup", "-p", "CUPS=2")
    assert objects(ran.out) == []
    assert "\n# deletes ConfigMap teapot-instance-pot\n" in ran.out
    assert "\n# nothing: a Dummy task has no objects\n" in ran.out
    off = run("package", "render", str(teapot), "--step", "serve", "-p", "CUPS=2").out
    assert "\n# deletes ConfigMap milk\n" in off
    assert objects(off) == [("Instance", "teapot-instance-cup")]


def test_data_names_task_template_and_action(run: Cli, teapot: Path) -> None:
    argv = ("package", "render", str(teapot), "--step", "serve", "-p", "CUPS=2")
    milk, cup = json.loads(run(*argv, "-o", "json").out)
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "milk"}}
    assert milk == {
        "plan": "deploy",
        "phase": "main",
        "step": "serve",
        "task": "milk",
        "kind": "Toggle",
        "action": "delete",
        "template": "milk.yaml",
        "object": obj,
    }
    assert (cup["action"], cup["template"]) == ("apply", "cup.yaml")
    assert [*yaml.safe_load_all(run(*argv, "-o", "yaml").out)] == [milk, cup]


def test_an_unreadable_object_has_the_line_of_the_template_beside_the_rendered_one(
    run: Cli, teapot: Path
) -> None:
    ran = run("package", "render", str(teapot), "-p", "CUPS=2", "-p", "EXTRAS=[a, b, 'c: d']")
    assert (ran.code, ran.out) == (255, "")
    assert ran.err.splitlines()[1:] == [
        "  template line 6: {{ . }}: {{ $.Params.CUPS | quote }}",
        '  rendered line 7: c: d: "2"',
        "  in plan deploy, phase main, step brew, task pot",
    ]
    start = "Error: templates/lid.yaml:6: parsing YAML from lid.yaml: decoding chunk 1 failed: "
    assert ran.err.startswith(f"{start}line 7, column 7: mapping values are not allowed")


def test_an_object_of_a_later_document_is_found_as_well(run: Cli, teapot: Path) -> None:
    text = TEMPLATES["pot"].replace("kind: Secret\n", "")
    (teapot / "templates" / "pot.yaml").write_text(text)
    ran = run("package", "render", str(teapot), "-p", "CUPS=2")
    assert ran.err.startswith("Error: templates/pot.yaml:13: parsing YAML from pot.yaml: ")
    assert "template line 13: apiVersion: v1\n  rendered line 13: apiVersion: v1\n" in ran.err


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_document_that_ends_too_early_is_an_error_of_its_last_line(
    run: Cli, teapot: Path, end: str
) -> None:
    (teapot / "templates" / "pot.yaml").write_text(f"a: 1\nb: [{end}")
    ran = run("package", "render", str(teapot), "-p", "CUPS=2")
    assert ran.err.startswith("Error: templates/pot.yaml:2: parsing YAML from pot.yaml: ")
    assert "\n  rendered line 2: b: [\n" in ran.err


def test_an_error_of_the_template_quotes_its_line(run: Cli, teapot: Path) -> None:
    (teapot / "templates" / "milk.yaml").write_text("a: 1\nb: {{ .Params.SUGAR }}\n")
    ran = run("package", "render", str(teapot), "-p", "CUPS=2", "-p", "MILK=true")
    assert (ran.code, ran.out) == (255, "")
    assert ran.err.startswith("Error: templates/milk.yaml:2: error expanding template milk.yaml: ")
    assert "\n  template line 2: b: {{ .Params.SUGAR }}\n" in ran.err
    # A step that does not use the template can still be rendered.
    brew = run("package", "render", str(teapot), "-p", "CUPS=2", "--step", "brew")
    assert brew.code == 0


def test_unknown_plans_steps_and_values_are_refused(run: Cli, teapot: Path) -> None:
    render = ("package", "render", str(teapot))
    assert (
        'plan "deploi" is not defined; did you mean deploy?' in run(*render, "--plan", "deploi").err
    )
    none = run(*render, "--step", "x", "-p", "CUPS=1").err
    assert 'plan "deploy" has no step "x"; it can be brew, serve' in none
    assert "missing required parameters during installation: CUPS" in run(*render).err
    assert 'type is "integer"' in run(*render, "-p", "CUPS=two").err
    assert "did you mean CUPS?" in run(*render, "-p", "CUPS=2", "-p", "CUP=2").err
    assert "at most one argument" in run(*render, "b").err
    assert "only support 'yaml' or 'json'" in run(*render, "-o", "xml").err


def test_the_folder_is_found_and_archives_are_rendered_alike(
    run: Cli, teapot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run("package", "render", str(teapot), "-p", "CUPS=2")
    assert run("package", "create", str(teapot), "-d", str(tmp_path), "--skip-verify").code == 0
    archive = str(tmp_path / "teapot-0.3.0.tgz")
    assert run("package", "render", archive, "-p", "CUPS=2") == expected
    monkeypatch.chdir(teapot)
    assert run("package", "render", "-p", "CUPS=2") == expected


def test_booleans_are_given_as_to_install(run: Cli, teapot: Path) -> None:
    render = ("package", "render", str(teapot), "-p", "CUPS=2", "--step", "serve")
    shown = [run(*render, "-p", f"MILK={text}") for text in ("true", "Yes", "on")]
    assert [one.code for one in shown] == [0, 0, 0]
    assert len({one.out for one in shown}) == 1
    assert run(*render, "-p", "MILK=no").out != shown[0].out


JOB_OPERATOR = """\
name: teapot
operatorVersion: 0.3.0
kubernetesVersion: 1.22.0
plans:
  deploy:
    steps:
      - name: brew
        job:
          script: scripts/brew.sh
          image: "{{ .Params.TEA }}:1"
          args: ["{{ .PlanName }}"]
"""


@pytest.fixture
def brewing(package: Path) -> Path:
    """Return a package with a Job task."""
    (package / "operator.yaml").write_text(JOB_OPERATOR)
    (package / "params.yaml").write_text("parameters: [{name: TEA, default: mint}]\n")
    (package / "scripts").mkdir()
    (package / "scripts" / "brew.sh").write_text("set -eu\necho {{ .Params.TEA }} $(date)\n")
    return package


def test_a_job_is_shown_as_it_would_be_made(run: Cli, brewing: Path) -> None:
    ran = run("package", "render", str(brewing), "-p", "TEA=sage")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "---\n# plan deploy, phase main, step brew, task brew, template scripts/brew.sh\n"
        "# the Job of a run; in another run the end of its name is another one\n"
    )
    job = yaml.safe_load(ran.out)
    assert job["metadata"]["name"].startswith("teapot-instance-brew-")
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "sage:1"
    script = "set -eu\necho sage $$(date)\n"
    assert container["command"] == ["/bin/sh", "-c", script, "scripts/brew.sh", "deploy"]
    assert run("package", "render", str(brewing), "-p", "TEA=sage").out == ran.out


def test_an_error_of_a_job_names_its_field_or_the_line_of_its_script(
    run: Cli, brewing: Path
) -> None:
    (brewing / "scripts" / "brew.sh").write_text("set -eu\necho {{ .Params.GONE }}\n")
    ran = run("package", "render", str(brewing))
    assert "scripts/brew.sh:2: error expanding template scripts/brew.sh: " in ran.err
    assert "template line 2: echo {{ .Params.GONE }}" in ran.err
    assert "in plan deploy, phase main, step brew, task brew" in ran.err
    operator = JOB_OPERATOR.replace("{{ .PlanName }}", "{{ .Params.GONE }}")
    (brewing / "operator.yaml").write_text(operator)
    assert "error expanding task brew: job.args[0]: " in run("package", "render", str(brewing)).err


def test_the_script_of_a_job_is_in_the_archive(run: Cli, brewing: Path, tmp_path: Path) -> None:
    assert run("package", "create", str(brewing), "--destination", str(tmp_path)).code == 0
    folder = run("package", "render", str(brewing))
    assert run("package", "render", str(tmp_path / "teapot-0.3.0.tgz")).out == folder.out


CHECKS = """\
name: teapot
operatorVersion: 0.3.0
kubernetesVersion: 1.30.0
plans:
  deploy:
    steps:
      - name: one
        check:
          apiVersion: apps/v1
          kind: StatefulSet
          name: "{{ .Name }}-{{ .Params.TEA }}"
          until: |
            self.status.readyReplicas
              == params.CUPS
      - name: all
        check:
          apiVersion: v1
          kind: Pod
          selector: {app: "{{ .Name }}", tea: "{{ .Params.TEA }}"}
          until: objects.size() == 2
"""


def test_what_a_check_reads_is_a_comment_with_what_it_waits_for(run: Cli, teapot: Path) -> None:
    (teapot / "operator.yaml").write_text(CHECKS)
    render = ("package", "render", str(teapot), "-p", "CUPS=2")
    assert run(*render).out == (
        "---\n"
        "# plan deploy, phase main, step one, task one\n"
        "# reads StatefulSet teapot-instance-mint\n"
        "# until self.status.readyReplicas == params.CUPS\n"
        "---\n"
        "# plan deploy, phase main, step all, task all\n"
        "# reads Pod app=teapot-instance,tea=mint\n"
        "# until objects.size() == 2\n"
    )
    shown = json.loads(run(*render, "-o", "json").out)
    assert [(one["action"], one["object"]["metadata"]) for one in shown] == [
        ("read", {"name": "teapot-instance-mint"}),
        ("read", {"labels": {"app": "teapot-instance", "tea": "mint"}}),
    ]
    tasks = run("package", "list", "tasks", str(teapot)).out
    assert "StatefulSet {{ .Name }}-{{ .Params.TEA }}" in tasks
    assert "Pod app={{ .Name }},tea={{ .Params.TEA }}" in tasks


def test_an_error_of_a_text_of_a_task_names_its_field(run: Cli, teapot: Path) -> None:
    (teapot / "operator.yaml").write_text(CHECKS.replace(".Params.TEA", ".Params.COFFEE"))
    ran = run("package", "render", str(teapot), "-p", "CUPS=2")
    assert "step one, task one: error expanding task one: check.name: " in ran.err


OUTPUTS = """\
name: teapot
operatorVersion: 0.3.0
kubernetesVersion: 1.22.0
kudoVersion: 0.20.0
tasks:
  - {name: dump, kind: Job, spec: {job: {image: i, command: [x], outputs: [file]}}}
  - {name: last, kind: Job, spec: {job: {image: i, command: [x], outputs: [size]}}}
  - {name: note, kind: Apply, spec: {resources: [note.yaml]}}
plans:
  deploy:
    phases:
      - name: main
        steps:
          - {name: dump, tasks: [dump]}
          - {name: note, tasks: [note]}
          - {name: last, tasks: [last]}
"""


def test_outputs_are_placeholders_of_what_the_step_sees(run: Cli, package: Path) -> None:
    note = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
        'data: {file: "{{ .Outputs.dump.file }}", seen: "{{ keys .Outputs | first }}"}\n'
    )
    (package / "operator.yaml").write_text(OUTPUTS)
    (package / "params.yaml").write_text("parameters: []\n")
    (package / "templates" / "note.yaml").write_text(note)
    ran = run("package", "render", str(package), "--step", "note")
    assert ran.code == 0, ran.err
    [made] = [item for item in yaml.safe_load_all(ran.out) if item is not None]
    assert made["data"] == {"file": "<dump.file>", "seen": "dump"}
    (package / "templates" / "note.yaml").write_text(note.replace("dump.file", "last.size"))
    assert 'no entry for key "last"' in run("package", "render", str(package)).err
