"""`package add`: what is added, what stays as it is, and what is refused."""

from pathlib import Path

import pytest

from kudo.api.task_kinds import DEFAULT_KIND, KINDS
from kudo.packages.model import Package
from kudo.packages.reader import read_package
from tests.unit.cli.conftest import Cli
from tests.unit.cli.dialogs import answered

OPERATOR = """\
# The teapot.
name: teapot   # short and stout
operatorVersion: "0.10.0"
kubernetesVersion: 1.22.0
x-own: kept
tasks:
- name: pot
  kind: Apply
  spec: {resources: [pot.yaml]}   # one

# What runs.
plans:
    deploy: # first
        phases:
            - name: main
              steps:
                  - {name: app, tasks: [pot]}
"""
PARAMETERS = """\
parameters:
    # How many.
    - name: CUPS
      default: "2"
"""
POT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pot}\ndata: {c: '{{ .Params.CUPS }}'}\n"
KIND = f"({', '.join(KINDS)}) [{DEFAULT_KIND}]: "


@pytest.fixture(autouse=True)
def teapot(package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package that is written unusually, as the working directory."""
    (package / "operator.yaml").write_text(OPERATOR)
    (package / "params.yaml").write_text(PARAMETERS)
    (package / "templates" / "pot.yaml").write_text(POT)
    monkeypatch.chdir(package)
    return package


def contents(folder: Path) -> dict[str, str]:
    return {str(p): p.read_text() for p in folder.rglob("*") if p.is_file()}


def inserted(old: str, new: str) -> list[str]:
    """Return the lines that are new, after checking that all others are as they were."""
    before, after = old.splitlines(), new.splitlines()
    start = next(n for n in range(len(after)) if n >= len(before) or before[n] != after[n])
    more = len(after) - len(before)
    assert after[:start] + after[start + more :] == before
    return after[start : start + more]


def read(folder: Path) -> Package:
    return read_package(folder)


def test_a_parameter_is_added_and_comments_stay(run: Cli, teapot: Path) -> None:
    # BTO-53: files were written anew, without comments and unknown fields.
    argv = ("--type", "integer", "--default", "80", "--display-name", "Heat", "--trigger", "deploy")
    ran = run("package", "add", "parameter", "HEAT", *argv, "--description", "How hot.")
    assert (ran.code, ran.out, ran.err) == (0, "", "added parameter HEAT: params.yaml\n")
    assert inserted(PARAMETERS, (teapot / "params.yaml").read_text()) == [
        "    - name: HEAT",
        "      displayName: Heat",
        "      description: How hot.",
        "      type: integer",
        "      default: '80'",
        "      trigger: deploy",
    ]


def test_an_optional_parameter_says_so(run: Cli, teapot: Path) -> None:
    # BTO-54: "required: false" was lost, and a missing field means true.
    assert run("package", "add", "parameter", "MILK", "--required=false").code == 0
    assert run("package", "add", "parameter", "TEA", "--default", "").code == 0
    assert run("package", "add", "parameter", "TAGS", "--type", "array").code == 0
    found = {one.name: one for one in read(teapot).parameters}
    assert not found["MILK"].required
    assert found["TEA"].has_default
    assert (found["TAGS"].required, found["TAGS"].has_default) == (True, False)


def test_all_fields_of_a_parameter_can_be_set(run: Cli, teapot: Path) -> None:
    flags = ("--immutable", "--advanced", "--hint", "Hot.", "--group", "taste")
    argv = ("--enum", "a", "--enum", "b", "--default", "a", *flags)
    assert run("package", "add", "parameter", "TEA", *argv).code == 0
    tea = read(teapot).parameters[1]
    assert (tea.enum, tea.immutable, tea.advanced) == (("a", "b"), True, True)
    assert (tea.hint, tea.group) == ("Hot.", "taste")
    assert [group.name for group in read(teapot).groups] == ["taste"]
    given = ("--type", "map", "--default", "{a: [1, x]}", "--group", "taste")
    assert run("package", "add", "parameter", "MAP", *given).code == 0
    assert read(teapot).parameters[2].default == {"a": [1, "x"]}
    assert len(read(teapot).groups) == 1
    assert run("package", "add", "parameter", "PASSWORD", "--secret").code == 0
    assert read(teapot).parameters[3].secret


def test_tasks_of_every_kind_are_added_with_their_templates(run: Cli, teapot: Path) -> None:
    # BTO-55: a Toggle was added without parameter and resources, and failures were swallowed.
    add = ("package", "add", "task")
    assert run(*add, "lid", "--resource", "lid", "--resource", "sub/top.yaml").code == 0
    assert inserted(OPERATOR, (teapot / "operator.yaml").read_text()) == [
        "- name: lid",
        "  kind: Apply",
        "  spec:",
        "    resources:",
        "      - lid.yaml",
        "      - sub/top.yaml",
    ]
    assert run(*add, "wash", "--kind", "Delete", "--resource", "pot").code == 0
    assert run(*add, "rest", "--kind", "Dummy").code == 0
    assert run("package", "add", "parameter", "MILK", "--default", "true").code == 0
    assert run(*add, "milk", "--kind", "Toggle", "--toggle", "MILK", "--resource", "m").code == 0
    pipes = (
        "--pipe",
        "file=/out/a,kind=Secret,key=a",
        "--pipe",
        "envFile=/out/sub/b,kind=ConfigMap,key=b",
    )
    assert run(*add, "leaves", "--kind", "Pipe", "--pod", "leaves", *pipes).code == 0
    child = ("--package", "cup", "--parameter-file", "cup", "--instance-name", "mine")
    assert run(*add, "cup", "--kind", "KudoOperator", *child).code == 0
    package = read(teapot)
    assert [task.kind for task in package.operator.tasks] == [
        *("Apply", "Apply", "Delete", "Dummy", "Toggle", "Pipe", "KudoOperator")
    ]
    assert sorted(package.templates) == [
        *("cup.yaml", "leaves.yaml", "lid.yaml", "m.yaml", "pot.yaml", "sub/top.yaml")
    ]
    assert (teapot / "templates" / "pot.yaml").read_text() == POT
    assert run("package", "verify", ".").code == 0
    names = "lid,wash,rest,milk,leaves,cup"
    assert run("package", "add", "plan", "all", "--step", f"one={names}").code == 0
    assert run("package", "render", "--plan", "all").code == 0


JOB = ("package", "add", "task", "dump", "--kind", "Job", "--image", "mariadb")


def test_a_job_is_added_with_its_script(run: Cli, teapot: Path) -> None:
    assert run(*JOB, "--script", "dump.sh").code == 0
    assert inserted(OPERATOR, (teapot / "operator.yaml").read_text()) == [
        "- name: dump",
        "  kind: Job",
        "  spec:",
        "    job:",
        "      script: scripts/dump.sh",
        "      image: mariadb",
    ]
    assert read(teapot).scripts == {"scripts/dump.sh": "set -eu\n"}
    assert "scripts/dump.sh" in run("package", "list", "tasks", ".").out


def test_a_script_that_is_there_stays(run: Cli, teapot: Path) -> None:
    script = teapot / "scripts" / "sub" / "dump.sh"
    script.parent.mkdir(parents=True)
    script.write_text("mine\n")
    assert run(*JOB, "--script", "scripts/sub/dump.sh").code == 0
    assert read(teapot).scripts == {"scripts/sub/dump.sh": "mine\n"}


def test_a_plan_is_added_behind_the_others(run: Cli, teapot: Path) -> None:
    argv = ("--step", "b=pot", "--step", "two/c=pot,pot", "--phase", "two=parallel")
    ran = run("package", "add", "plan", "brew", *argv, "--strategy", "parallel")
    assert (ran.code, ran.err) == (0, "added plan brew: operator.yaml\n")
    assert inserted(OPERATOR, (teapot / "operator.yaml").read_text())[:3] == [
        *("    brew:", "      strategy: parallel", "      phases:")
    ]
    plan = (read(teapot).operator.plans or {})["brew"]
    assert [(one.name, one.strategy) for one in plan.phases or ()] == [
        *(("main", "serial"), ("two", "parallel"))
    ]
    assert [step.tasks for one in plan.phases or () for step in one.steps] == [
        *(("pot",), ("pot", "pot"))
    ]


def test_a_maintainer_is_added(run: Cli, teapot: Path) -> None:
    assert run("package", "add", "maintainer", "Ada: A", "ada@example.com").code == 0
    assert run("package", "add", "maintainer", "Bo", "bo@example.com").code == 0
    text = (teapot / "operator.yaml").read_text()
    assert text.startswith(OPERATOR)
    assert [one.name for one in read(teapot).operator.maintainers] == ["Ada: A", "Bo"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "Service", "Deployment", "Job"])
def test_a_template_is_added_and_renders(run: Cli, teapot: Path, kind: str) -> None:
    ran = run("package", "add", "template", "new", "--kind", kind, "--task", "new")
    changed = "operator.yaml, templates/new.yaml"
    assert (ran.code, ran.err) == (0, f"added template new.yaml: {changed}\n")
    assert run("package", "add", "plan", "try", "--step", "a=new").code == 0
    assert f"kind: {kind}\n" in run("package", "render", "--plan", "try").out
    # The verification knows no faults but what the package had before: nothing at all.
    assert run("package", "verify", ".").out == "package is valid\n"
    assert len(read(teapot).templates) == 2


def test_a_template_is_added_to_a_task_that_exists(run: Cli, teapot: Path) -> None:
    ran = run("package", "add", "template", "lid", "--task", "pot")
    assert (ran.code, ran.err) == (
        0,
        "added template lid.yaml: operator.yaml, templates/lid.yaml\n",
    )
    changed = OPERATOR.replace("[pot.yaml]", "[pot.yaml, lid.yaml]")
    assert (teapot / "operator.yaml").read_text() == changed
    assert "name: teapot-instance-lid" in run("package", "render").out


def test_only_tasks_with_templates_take_one(run: Cli, teapot: Path) -> None:
    assert run("package", "add", "task", "rest", "--kind", "Dummy").code == 0
    before = contents(teapot)
    ran = run("package", "add", "template", "lid", "--task", "rest")
    assert (ran.code, ran.out) == (255, "")
    assert ran.err == "Error: task rest is of kind Dummy, which applies no templates\n"
    assert contents(teapot) == before


def test_objects_of_new_templates_are_named_after_them(run: Cli, teapot: Path) -> None:
    for name, kind in (("sub/My_Page", "ConfigMap"), ("b.yaml", "Job"), ("c", "Deployment")):
        assert run("package", "add", "template", name, "--kind", kind, "--task", "pot").code == 0
    shown = run("package", "render").out
    names = [line for line in shown.splitlines() if line.startswith("  name: ")]
    suffixes = ("", "-my-page", "-b", "-c")
    assert names == ["  name: pot", *(f"  name: teapot-instance{one}" for one in suffixes[1:])]


def test_the_package_is_found_from_the_folder_above_and_by_name(
    run: Cli, teapot: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # BTO-52: in the folder of the package the commands failed.
    assert run("package", "add", "maintainer", "Ada", "a@example.com").code == 0
    monkeypatch.chdir(teapot.parent)
    ran = run("package", "add", "maintainer", "Bo", "b@example.com")
    assert ran.err == "added maintainer Bo: teapot/operator.yaml\n"
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "operator.yaml").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "operator.yaml").write_text("")
    ran = run("package", "add", "maintainer", "Cy", "c@example.com")
    assert "multiple operator folders discovered: other, teapot" in ran.err
    folder = ("--folder", str(teapot))
    assert run("package", "add", "maintainer", "Cy", "c@example.com", *folder).code == 0
    assert len(read(teapot).operator.maintainers) == 3
    monkeypatch.chdir(teapot / "templates")
    ran = run("package", "add", "maintainer", "Cy", "c@example.com")
    assert "no operator folder discovered" in ran.err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["parameter", "cups"], 'parameter "cups" has a duplicate'),
        (["parameter", "A;B"], "contains invalid character ';'"),
        (
            ["parameter", "A", "--trigger", "brew"],
            'plan "brew" used in parameter "A" is not defined',
        ),
        (["parameter", "A", "--type", "int"], '"int" is not a type; it can be string, integer'),
        (["parameter", "A", "--type", "integer", "--default", "x"], "has an invalid default value"),
        (["parameter", "A", "--type", "array", "--default", "["], 'the default of "A" is not YAML'),
        (["parameter"], "expecting exactly one argument - name of the parameter. Or use -i"),
        (["parameter", "A", "B"], "expecting at most one argument - name of the parameter"),
        (["task", "pot", "--resource", "x"], 'task "pot" is defined more than once'),
        (["task", "a"], "a task of kind Apply needs --resource"),
        (["task", "a", "--kind", "Aply"], '"Aply" is not a kind of task; it can be Apply'),
        (["task", "a", "--resource", "../x"], '"../x" is not the name of a template'),
        (["task", "a", "--resource", "/x"], '"/x" is not the name of a template'),
        (["task", "a", "--resource", "x.txt"], "templates end with .yaml"),
        (["task", "a", "--kind", "Toggle", "--resource", "x"], "needs --toggle and --resource"),
        (["task", "a", "--kind", "Toggle", "--toggle", "X", "--resource", "x"], "is not defined"),
        (["task", "a", "--kind", "Pipe"], "a task of kind Pipe needs --pod and --pipe"),
        (["task", "a", "--kind", "Pipe", "--pod", "p"], "needs --pod and --pipe"),
        (["task", "a", "--kind", "Pipe", "--pod", "p", "--pipe", "x=1"], '"x" is not one of file'),
        (
            ["task", "a", "--kind", "Pipe", "--pod", "p", "--pipe", "file=a,key=b"],
            "invalid pipe kind",
        ),
        (["task", "a", "--kind", "KudoOperator"], "a task of kind KudoOperator needs --package"),
        (["task", "a", "--kind", "KudoOperator", "--package", "./no"], "no such file or directory"),
        ([*JOB[2:]], "a task of kind Job needs --script and --image"),
        ([*JOB[2:-2], "--script", "x"], "a task of kind Job needs --script and --image"),
        ([*JOB[2:], "--script", "../x"], "is no file of the folder scripts/"),
        (["plan", "deploy", "--step", "a=pot"], 'plans has "deploy" already'),
        (["plan", "a"], "a plan needs a step"),
        (["plan", "a", "--step", "a=tea"], 'task "tea" in plan "a" is not defined'),
        (["plan", "a", "--step", "a"], "--step a: write phase/step=task,task"),
        (["plan", "a", "--step", "a=pot", "--phase", "b=serial"], "no --step is in that phase"),
        (["plan", "a", "--step", "a=pot", "--phase", "b"], "--phase b: write name=parallel"),
        (["plan", "a", "--step", "a=pot", "--strategy", "x"], "neither serial nor parallel"),
        (["maintainer", "Ada", "me"], '"me" is not an address'),
        (["maintainer", "Ada"], "expecting two arguments - name and email address"),
        (["maintainer"], "expecting two arguments - name and email address"),
        (["template", "pot"], "templates/pot.yaml exists already"),
        (["template", "a", "--kind", "Pod"], '"Pod" is not a kind of template'),
        (["template", "a", "--folder", "none"], '"none" is not a folder'),
        (["tasks"], 'unknown command "tasks" for "kubectl-kudo package add"'),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_is_written(
    run: Cli, teapot: Path, argv: list[str], text: str
) -> None:
    before = contents(teapot)
    ran = run("package", "add", *argv)
    assert ran.code in {2, 255}
    assert ran.out == ""
    assert text in ran.err
    assert contents(teapot) == before


def test_faults_that_a_package_has_already_do_not_matter(run: Cli, teapot: Path) -> None:
    (teapot / "templates" / "pot.yaml").write_text(POT + "# {{ .Params.MILK }}\n")
    assert run("package", "verify", ".").code == 5
    assert run("package", "add", "parameter", "TEA", "--default", "mint").code == 0
    assert run("package", "add", "parameter", "MILK", "--default", "oat").code == 0
    assert run("package", "verify", ".").code == 0


def test_a_file_that_cannot_be_changed_is_left_with_a_hint(run: Cli, teapot: Path) -> None:
    (teapot / "params.yaml").write_text('{"parameters": []}\n')
    assert run("package", "add", "parameter", "TEA").code == 255
    ran = run("package", "add", "parameter", "TEA")
    assert "add this by hand:\n  parameters:\n    - name: TEA\n" in ran.err
    assert (teapot / "params.yaml").read_text() == '{"parameters": []}\n'


def test_a_parameter_is_asked_for_on_a_terminal(teapot: Path) -> None:
    answers = [
        *(("Parameter Name: ", "cups"), ("Parameter Name: ", "TEA")),
        *(("[string]: ", "text"), ("[string]: ", "")),
        ("Default Value (optional): ", ""),
        ("Display Name (optional): ", "Tea"),
        ("Description (optional): ", "What is brewed."),
        ("Required (false, true) [true]: ", "false"),
        ("Add Trigger Plan (y, n) [n]: ", "y"),
        ("Trigger Plan (deploy): ", "deploy"),
    ]
    code, shown = answered(teapot, ["package", "add", "parameter"], answers)
    assert code == 0
    assert 'there is a parameter "cups" already' in shown
    assert "one of string, integer, number, boolean, array, map" in shown
    tea = read(teapot).parameters[1]
    assert (tea.name, tea.display_name, tea.required) == ("TEA", "Tea", False)
    assert (tea.description, tea.trigger, tea.has_default) == ("What is brewed.", "deploy", False)


def test_a_toggle_is_asked_for_its_parameter_and_templates(teapot: Path) -> None:
    (teapot / "params.yaml").write_text(PARAMETERS.replace('"2"', '"true"\n      type: boolean'))
    answers = [
        *(("Task Name: ", "pot"), ("Task Name: ", "milk"), (KIND, "Toggle")),
        ("Parameter (CUPS): ", "CUPS"),
        ("Templates, separated by commas: ", "milk, sugar"),
    ]
    code, shown = answered(teapot, ["package", "add", "task"], answers)
    assert code == 0
    assert 'there is a task "pot" already' in shown
    task = read(teapot).operator.tasks[1]
    assert (task.kind, task.spec.parameter) == ("Toggle", "CUPS")
    assert task.spec.resources == ("milk.yaml", "sugar.yaml")
    assert (teapot / "templates" / "sugar.yaml").exists()


def test_a_pipe_is_asked_for_until_there_are_no_more(teapot: Path) -> None:
    pipe = [
        ("Pipe File Type (file, envFile) [file]: ", ""),
        ("Path in the Pod: ", "/out/a"),
        ("Pipe Kind (Secret, ConfigMap) [ConfigMap]: ", "Secret"),
    ]
    answers = [
        *(("Task Name: ", "leaves"), (KIND, "Pipe"), ("Pod Template: ", "leaves")),
        *(*pipe, ("Pipe Key: ", "a"), ("Add another Pipe (y, n) [n]: ", "y")),
        *(*pipe, ("Pipe Key: ", "b"), ("Add another Pipe (y, n) [n]: ", "")),
    ]
    code, _ = answered(teapot, ["package", "add", "task"], answers)
    assert code == 0
    assert [one.key for one in read(teapot).operator.tasks[1].spec.pipe or ()] == ["a", "b"]


def test_a_job_is_asked_for_its_script_and_image(teapot: Path) -> None:
    answers = [
        *(("Task Name: ", "dump"), (KIND, "Job")),
        *(("Script: ", "dump.sh"), ("Image: ", "mariadb")),
    ]
    code, _ = answered(teapot, ["package", "add", "task"], answers)
    assert code == 0
    job = read(teapot).operator.tasks[1].spec.job
    assert job is not None
    assert (job.script, job.image) == ("scripts/dump.sh", "mariadb")


def test_a_plan_is_asked_for_phase_by_phase(teapot: Path) -> None:
    answers = [
        *(
            ("Plan Name: ", "deploy"),
            ("Plan Name: ", "brew"),
            ("(serial, parallel) [serial]: ", ""),
        ),
        *(("Phase Name [main]: ", ""), ("Phase main (serial, parallel) [serial]: ", "parallel")),
        *(("Step Name: ", "one"), ("commas (pot): ", "tea"), ("commas (pot): ", "pot")),
        *(("Add another Step (y, n) [n]: ", "y"), ("Step Name: ", "two")),
        *(("commas (pot): ", "pot, pot"), ("Add another Step (y, n) [n]: ", "n")),
        ("Add another Phase (y, n) [n]: ", ""),
    ]
    code, shown = answered(teapot, ["package", "add", "plan"], answers)
    assert code == 0
    assert 'there is a plan "deploy" already' in shown
    assert 'there is no task "tea"' in shown
    phase = ((read(teapot).operator.plans or {})["brew"].phases or ())[0]
    assert (phase.name, phase.strategy) == ("main", "parallel")
    assert [step.tasks for step in phase.steps] == [("pot",), ("pot", "pot")]


def test_maintainers_and_templates_are_asked_for(teapot: Path) -> None:
    answers = [
        ("Maintainer Name: ", "Ada"),
        *(("Maintainer Email: ", "ada"), ("Maintainer Email: ", "ada@example.com")),
    ]
    assert answered(teapot, ["package", "add", "maintainer"], answers)[0] == 0
    answers = [
        *(("Template Name: ", "lid"), ("Job) [ConfigMap]: ", "Job")),
        ("Task that applies it (optional): ", "lid"),
    ]
    assert answered(teapot, ["package", "add", "template"], answers)[0] == 0
    operator = read(teapot).operator
    assert [one.email for one in operator.maintainers] == ["ada@example.com"]
    assert operator.tasks[1].spec.resources == ("lid.yaml",)


@pytest.mark.parametrize(("key", "code"), [("^C", 130), ("^D", 255)])
def test_a_dialogue_that_is_left_changes_nothing(teapot: Path, key: str, code: int) -> None:
    before = contents(teapot)
    argv = ["package", "add", "task", "-i"]
    ended, shown = answered(teapot, argv, [("Task Name: ", "a"), (KIND, key)])
    assert ended == code
    assert "Traceback" not in shown
    assert contents(teapot) == before
