"""`update --edit`, with scripts as editors: what is sent, asked, refused and kept."""

import re
import shlex
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Cli, complete
from tests.unit.cli.dialogs import answered
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
EDIT = ("update", "--instance", "tea", "--edit")
YES = [("Change this? [y/N] ", "y")]
MORE = "s/^#CUPS.*/CUPS: 3/"
UNCHANGED = "nothing changed: instance kitchen/tea keeps its parameters\n"
KEPT = re.compile(r"Your file is kept, with all values in it: (\S+)")

Edit = Callable[..., tuple[int, str]]


@pytest.fixture
def edit(kudo: Cli, pot: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Return a function that edits instance `tea` with commands for sed, one a time it is opened.

    What was in the file each time is in `seen.1`, `seen.2` and so on.
    """
    (tmp_path / "files").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "files"))
    monkeypatch.delenv("KUBE_EDITOR", raising=False)

    def edit(
        *commands: str, argv: Sequence[str] = (), answers: Sequence[tuple[str, str]] = ()
    ) -> tuple[int, str]:
        script = f"cd {shlex.quote(str(tmp_path))}\nn=$(($(ls seen.* 2>/dev/null | wc -l) + 1))\n"
        script += 'cp "$1" seen.$n\ncase $n in\n'
        for number, command in enumerate(commands, 1):
            script += f'{number}) sed -i {shlex.quote(command)} "$1";;\n'
        (tmp_path / "editor").write_text(f"{script}*) exit 9;;\nesac\n")
        monkeypatch.setenv("EDITOR", f"sh {shlex.quote(str(tmp_path / 'editor'))}")
        return answered(tmp_path, [*EDIT, *argv], answers)

    return edit


def sent(api: FakeApi) -> list[object]:
    return [
        body["spec"]["parameters"] for method, _, body in api.requests if method == "PATCH" and body
    ]


def left(folder: Path) -> list[str]:
    """Return the files that were not removed."""
    return sorted(path.name for path in (folder / "files").rglob("*") if path.is_file())


def test_what_was_edited_is_shown_and_sent_once_it_is_agreed_to(
    edit: Edit, pot: FakeApi, tmp_path: Path
) -> None:
    pot.plan = "deploy"
    code, shown = edit(MORE, answers=YES)
    assert (code, sent(pot), left(tmp_path)) == (0, [{"CUPS": "3"}], [])
    assert shown == (
        "CUPS: 2 (default) → 3; plan deploy would run\n"
        "Change this? [y/N] "
        "Instance tea was updated.\n"
        "CUPS: 2 (default) → 3; plan deploy runs\n"
        "Follow it: kubectl kudo plan status --wait --instance tea -n kitchen\n"
    )
    file = (tmp_path / "seen.1").read_text()
    assert "\n# type integer\n#CUPS: 2\n" in file
    assert "\n# type string; required; runs plan brew\nTEA: mint\n" in file


def test_the_write_expects_the_instance_that_was_shown(edit: Edit, pot: FakeApi) -> None:
    before = pot.objects["instances", "tea"]["metadata"]
    expected = {"uid": before["uid"], "resourceVersion": before["resourceVersion"]}
    assert edit(MORE, argv=["--yes"])[0] == 0
    assert [body["metadata"] for method, _, body in pot.requests if method == "PATCH" and body] == [
        expected
    ]


def test_a_line_that_is_removed_or_a_comment_means_the_default_again(
    edit: Edit, pot: FakeApi
) -> None:
    pot.objects["instances", "tea"]["spec"]["parameters"] = {"TEA": "mint", "CUPS": "3"}
    code, shown = edit("s/^CUPS/#CUPS/", answers=YES)
    assert (code, sent(pot)) == (0, [{"CUPS": None}])
    assert shown.startswith("CUPS: 3 → 2 (default); ")
    assert pot.objects["instances", "tea"]["spec"]["parameters"] == {"TEA": "mint"}


@pytest.mark.parametrize("command", ["", "s/mint/'mint'/", "1d", "d"])
def test_a_file_that_says_the_same_or_is_empty_changes_nothing(
    edit: Edit, pot: FakeApi, tmp_path: Path, command: str
) -> None:
    assert edit(command) == (0, UNCHANGED)
    assert (pot.writes(), left(tmp_path)) == ([], [])


@pytest.mark.parametrize("answer", ["n", "", "what"])
def test_without_a_yes_nothing_is_sent(
    edit: Edit, pot: FakeApi, tmp_path: Path, answer: str
) -> None:
    code, shown = edit(MORE, answers=[("[y/N] ", answer)])
    assert (code, pot.writes(), left(tmp_path)) == (255, [], [])
    assert shown.endswith("Error: nothing was changed\n")


def test_ctrl_c_at_the_question_sends_nothing(edit: Edit, pot: FakeApi, tmp_path: Path) -> None:
    code, _ = edit(MORE, answers=[("[y/N] ", "^C")])
    assert (code, pot.writes(), left(tmp_path)) == (130, [], [])


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("s/^#CUPS.*/CUPS: two/", 'parameter "CUPS" has an invalid value "two"'),
        ("s/^#CUPS.*/CUPPS: 3/", 'CUPPS" in the OperatorVersion'),
        ("s/^TEA.*/TEA:/", "TEA has a null value"),
        ("s/^TEA.*/TEA: [/", "yaml: line "),
        ("s/^TEA: mint/mint/", "a mapping"),
    ],
)
def test_what_is_wrong_is_opened_again_with_the_reason_on_top(
    edit: Edit, pot: FakeApi, tmp_path: Path, command: str, fault: str
) -> None:
    back = r"s/^CUPP\?S: .*/CUPS: 3/; s/^mint\|^TEA:.*/TEA: mint/; s/^#CUPS.*/CUPS: 3/"
    assert edit(command, back, answers=YES)[0] == 0
    assert sent(pot) == [{"CUPS": "3"}]
    second = (tmp_path / "seen.2").read_text().splitlines()
    assert second[0] == "#! Nothing was sent. Correct this, or save no change to give up:"
    faults = [line for line in second if line.startswith("#! ")]
    assert fault in "\n".join(faults)
    # The rest is what the user left.
    first = (tmp_path / "seen.1").read_text().splitlines()
    assert len(second) == len(faults) + len(first)


def test_lines_in_a_reason_are_those_of_the_file_that_is_opened_again(
    edit: Edit, tmp_path: Path
) -> None:
    edit("s/^TEA.*/TEA: a: b/", "")
    lines = (tmp_path / "seen.2").read_text().splitlines()
    match = re.search(r"line (\d+)", lines[1])
    assert match is not None, lines
    assert lines[int(match[1]) - 1] == "TEA: a: b"


@pytest.mark.parametrize(
    ("command", "code"), [("s/^#CUPS.*/CUPS: two/", 4), ("s/^TEA.*/TEA: [/", 2)]
)
def test_the_exit_code_is_that_of_the_refusal(edit: Edit, command: str, code: int) -> None:
    assert edit(command, "")[0] == code


def test_who_saves_what_was_refused_gives_up_and_keeps_the_file(
    edit: Edit, pot: FakeApi, tmp_path: Path
) -> None:
    code, shown = edit("s/^#CUPS.*/CUPS: two/", "")
    assert (code, pot.writes()) == (4, [])
    assert 'parameter "CUPS" has an invalid value "two"' in shown
    match = KEPT.search(shown)
    assert match is not None, shown
    path = Path(match[1])
    assert "\nCUPS: two\n" in path.read_text()
    assert shown.endswith(f"send it: kubectl kudo update --instance tea -n kitchen -P {path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text(path.read_text().replace("two", "3"))
    assert answered(tmp_path, ["update", "--instance", "tea", "-P", str(path)], ())[0] == 0


def test_after_a_refusal_an_empty_file_gives_up_as_well(
    edit: Edit, pot: FakeApi, tmp_path: Path
) -> None:
    assert edit("s/^#CUPS.*/CUPS: two/", "d") == (0, UNCHANGED)
    assert (pot.writes(), left(tmp_path)) == ([], [])


def test_a_denial_of_the_server_is_opened_again(edit: Edit, pot: FakeApi, tmp_path: Path) -> None:
    text = 'admission webhook "policy.example" denied the request: too many cups'
    pot.refusals["PATCH", "instances"] = (403, text)
    code, shown = edit(MORE, "", argv=["--yes"])
    assert (code, "too many cups" in shown, len(left(tmp_path))) == (4, True, 1)
    assert "too many cups" in (tmp_path / "seen.2").read_text()


@pytest.mark.parametrize(("status", "code"), [(403, 4), (500, 255)])
def test_what_no_other_value_would_help_is_an_error_and_keeps_the_file(
    edit: Edit, pot: FakeApi, tmp_path: Path, status: int, code: int
) -> None:
    pot.refusals["PATCH", "instances"] = (status, "not you")
    ended, shown = edit(MORE, argv=["--yes"])
    assert (ended, len(left(tmp_path)), "Error: not you" in shown) == (code, 1, True)


def test_a_change_of_the_status_meanwhile_is_no_obstacle(edit: Edit, pot: FakeApi) -> None:
    writes: list[int] = []

    def touch(_: str) -> None:
        if not writes:
            instance = pot.objects["instances", "tea"]
            instance["metadata"]["resourceVersion"] = "99999"
        writes.append(1)

    pot.before_write = touch
    code, shown = edit(MORE, argv=["--yes"])
    assert (code, len(writes)) == (0, 2), shown


def test_a_change_of_the_parameters_meanwhile_is_shown_and_asked_about_again(
    edit: Edit, pot: FakeApi
) -> None:
    def change(_: str) -> None:
        pot.before_write = None
        instance = pot.objects["instances", "tea"]
        instance["metadata"]["resourceVersion"] = "99999"
        instance["spec"]["parameters"]["CUPS"] = "7"

    pot.before_write = change
    code, shown = edit(MORE, answers=[*YES, *YES])
    assert code == 0
    assert "The instance has changed meanwhile.\nCUPS: 7 → 3; plan deploy would run\n" in shown


@pytest.mark.parametrize("mode", ["client", "server"])
def test_a_dry_run_asks_nothing_and_changes_nothing(
    edit: Edit, pot: FakeApi, tmp_path: Path, mode: str
) -> None:
    pot.changes.clear()
    pot.plan = "deploy"
    code, shown = edit(MORE, argv=[f"--dry-run={mode}"])
    suffix = "dry run" if mode == "client" else "server dry run"
    assert (code, pot.changes, left(tmp_path)) == (0, [], [])
    assert shown == (
        f"Instance tea was updated. ({suffix})\nCUPS: 2 (default) → 3; plan deploy would run\n"
    )


def test_the_plan_is_waited_for(edit: Edit, pot: FakeApi) -> None:
    complete(pot)
    code, shown = edit(MORE, argv=["--yes", "--wait"])
    assert code == 0
    assert "instance kitchen/tea ready\n" in shown


def test_a_plan_that_fails_keeps_no_file(edit: Edit, pot: FakeApi, tmp_path: Path) -> None:
    pot.plan, pot.script = "deploy", [lambda _: None]
    code, shown = edit(MORE, argv=["--yes", "--wait"])
    assert (code, left(tmp_path), KEPT.search(shown)) == (6, [], None)


def test_secrets_are_in_the_file_and_nowhere_else(edit: Edit, pot: FakeApi, tmp_path: Path) -> None:
    spec = pot.objects["operatorversions", "teapot-2.1.0-0.3.0"]["spec"]
    spec["parameters"].append({"name": "PASSWORD"})
    pot.objects["instances", "tea"]["spec"]["parameters"]["PASSWORD"] = "hunter2"
    code, shown = edit("s/hunter2/sesame-open/", answers=YES)
    assert (code, left(tmp_path)) == (0, [])
    assert "\nPASSWORD: hunter2\n" in (tmp_path / "seen.1").read_text()
    assert shown.startswith("PASSWORD: changed (redacted); ")
    assert not {"hunter2", "sesame-open"} & set(re.findall(r"[\w-]+", shown))


# The editor


def test_an_editor_that_fails_sends_nothing(
    edit: Edit, pot: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "false")
    code, shown = edit(MORE)
    assert (code, pot.writes(), left(tmp_path)) == (255, [], [])
    assert shown == "Error: editor false ended with exit code 1, so nothing was sent\n"


def test_what_was_typed_before_the_editor_failed_is_kept(
    edit: Edit, pot: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", 'sh -c \'echo "CUPS: 3" > "$0"; kill -9 $$\'')
    code, shown = edit()
    assert (code, pot.writes(), left(tmp_path)) == (255, [], ["tea.yaml"])
    assert "Error: editor sh was ended by signal 9, so nothing was sent\n" in shown


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("no-such-editor -f", 255, "editor no-such-editor cannot be run: No such file"),
        ("'unclosed", 2, "$KUBE_EDITOR is no command: No closing quotation"),
    ],
)
def test_an_editor_that_cannot_be_run_is_told(
    edit: Edit, monkeypatch: pytest.MonkeyPatch, command: str, code: int, text: str
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", command)
    ended, shown = edit()
    assert (ended, text in shown) == (code, True), shown


# The command line


def test_without_a_terminal_it_says_what_to_do_instead(kudo: Cli, pot: FakeApi) -> None:
    ran = kudo(*EDIT)
    assert (ran.code, pot.requests) == (2, [])
    assert ran.err == (
        "Error: --edit opens an editor, and stdin is not a terminal: set parameters with -p "
        "name=value or -P file\n"
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["--edit", "-p", "CUPS=3"],
        ["--edit", "-P", "values.yaml"],
        ["--edit", "--service-account", "pot"],
        ["--yes", "-p", "CUPS=3"],
    ],
)
def test_flags_that_do_not_fit_are_refused(kudo: Cli, pot: FakeApi, argv: list[str]) -> None:
    ran = kudo("update", "--instance", "tea", *argv)
    assert (ran.code, pot.requests) == (2, [])


def test_the_instance_and_its_version_have_to_exist(edit: Edit, pot: FakeApi) -> None:
    pot.remove("operatorversions", "teapot-2.1.0-0.3.0")
    assert edit() == (
        3,
        "Error: OperatorVersion teapot-2.1.0-0.3.0 from instance kitchen/tea does not exist\n",
    )
    pot.remove("instances", "tea")
    assert edit()[0] == 3
