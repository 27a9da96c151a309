"""`package create`: the archive, its name and bytes, and what keeps it from being written."""

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from kudo.packages.reader import read_package
from tests.unit.cli.conftest import Cli

POT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: pot}
data: {cups: "{{ .Params.CUPS }}", tea: "{{ .Params.TEA }}", size: "{{ .Params.SIZE }}"}
"""
NAME = "teapot-2.1.0_0.3.0.tgz"
MEMBERS = ["operator.yaml", "params.yaml", "templates/pot.yaml"]


@pytest.fixture
def valid(package: Path) -> Path:
    """Return the folder of a package that has no faults."""
    (package / "templates" / "pot.yaml").write_text(POT)
    return package


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder for archives."""
    folder = tmp_path / "archives"
    folder.mkdir()
    return folder


def members(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return tar.getnames()


def test_the_archive_can_be_installed_and_its_checksum_is_printed(
    run: Cli, valid: Path, out: Path
) -> None:
    ran = run("package", "create", str(valid), "-d", str(out))
    digest = hashlib.sha256((out / NAME).read_bytes()).hexdigest()
    assert (ran.code, ran.err) == (0, "")
    lines = ["package is valid", f"Package created: {out / NAME}", f"sha256:{digest}"]
    assert ran.out.splitlines() == lines
    assert read_package(out / NAME).templates == read_package(valid).templates
    assert [path.name for path in out.iterdir()] == [NAME]


def test_the_name_has_no_app_version_if_the_package_has_none(
    run: Cli, valid: Path, out: Path
) -> None:
    text = (valid / "operator.yaml").read_text().replace("appVersion: 2.1.0\n", "")
    (valid / "operator.yaml").write_text(text)
    assert run("package", "create", str(valid), "-d", str(out)).code == 0
    assert [path.name for path in out.iterdir()] == ["teapot-0.3.0.tgz"]


@pytest.mark.parametrize(
    ("folder", "argument"),
    [
        # BTO-49: members were named by deleting the text of the argument from each path.
        *((".", "./teapot"), (".", "teapot"), (".", "teapot/"), ("teapot", ".")),
        *(("teapot/templates", ".."), ("archives", "../teapot")),
    ],
)
def test_members_are_named_relative_to_the_package(
    run: Cli,
    valid: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    argument: str,
) -> None:
    (valid / "templates" / "teapot-x.yaml").write_text("# {{ .Name }}\n")
    monkeypatch.chdir(valid.parent / folder)
    assert run("package", "create", argument, "-d", str(out)).code == 0
    assert members(out / NAME) == [*MEMBERS, "templates/teapot-x.yaml"]


def test_the_same_files_make_the_same_bytes(run: Cli, valid: Path, out: Path) -> None:
    create = ("package", "create", str(valid), "-w", "-d", str(out))
    assert run(*create).code == 0
    first = (out / NAME).read_bytes()
    os.utime(valid / "operator.yaml", (1, 1))
    (valid / "params.yaml").chmod(0o600)
    content = (valid / "templates" / "pot.yaml").read_bytes()
    (valid / "templates" / "pot.yaml").unlink()
    (valid / "templates" / "pot.yaml").write_bytes(content)
    assert run(*create).code == 0
    assert (out / NAME).read_bytes() == first
    with tarfile.open(fileobj=io.BytesIO(first)) as tar:
        # BTO-48: modes were those of the umask.
        found = {(m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname) for m in tar}
    assert found == {(0o644, 0, 0, 0, "root", "root")}


def test_an_archive_in_its_own_folder_does_not_contain_itself(
    run: Cli, valid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # BTO-67: the archive swallowed itself, and a corrupt one stayed.
    monkeypatch.chdir(valid)
    assert run("package", "create", ".").code == 0
    first = (valid / NAME).read_bytes()
    assert run("package", "create", ".", "-w").code == 0
    assert members(valid / NAME) == MEMBERS
    assert (valid / NAME).read_bytes() == first


def test_an_existing_archive_is_replaced_only_on_request(run: Cli, valid: Path, out: Path) -> None:
    (out / NAME).write_text("old")
    ran = run("package", "create", str(valid), "-d", str(out))
    assert ran.code == 255
    assert ran.err.startswith(f'Error: target file "{out / NAME}" already exists')
    assert (out / NAME).read_text() == "old"
    assert run("package", "create", str(valid), "-d", str(out), "--overwrite").code == 0
    assert members(out / NAME) == MEMBERS


def test_a_package_with_errors_is_not_archived(run: Cli, valid: Path, out: Path) -> None:
    (valid / "templates" / "pot.yaml").write_text("{{ .Params.MILK }}")
    ran = run("package", "create", str(valid), "-d", str(out))
    assert (ran.code, list(out.iterdir())) == (5, [])
    assert 'parameter "MILK" in template pot.yaml is not defined' in ran.out
    assert ran.err == "Error: found 2 package verification errors\n"
    ran = run("package", "create", str(valid), "-d", str(out), "--skip-verify")
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"Package created: {out / NAME}")


def test_excluded_files_and_version_control_are_left_out(run: Cli, valid: Path, out: Path) -> None:
    (valid / ".kudoignore").write_text("*.swp\n/notes/\n.kudoignore\n")
    for path in (".git/config", "notes/a", "templates/.pot.yaml.swp", "docs/notes/a", "README.md"):
        (valid / path).parent.mkdir(parents=True, exist_ok=True)
        (valid / path).write_text("")
    assert run("package", "create", str(valid), "-d", str(out)).code == 0
    assert members(out / NAME) == ["README.md", "docs/notes/a", *MEMBERS]


def test_a_template_that_is_excluded_is_missed_before_the_archive_is_written(
    run: Cli, valid: Path, out: Path
) -> None:
    (valid / ".kudoignore").write_text("pot.yaml\n")
    ran = run("package", "create", str(valid), "-d", str(out))
    assert (ran.code, list(out.iterdir())) == (5, [])
    assert 'template "pot.yaml" required by pot but is not defined' in ran.out


def test_names_of_any_length_and_language_can_be_read_back(
    run: Cli, valid: Path, out: Path
) -> None:
    deep = valid / "templates" / ("a" * 90) / ("b" * 90) / "ö t.yaml"
    deep.parent.mkdir(parents=True)
    deep.write_text("# {{ .Name }}\n")
    assert run("package", "create", str(valid), "-d", str(out)).code == 0
    assert f"{'a' * 90}/{'b' * 90}/ö t.yaml" in read_package(out / NAME).templates
    assert str(deep.relative_to(valid)) in members(out / NAME)


def test_links_are_left_out_and_named(run: Cli, valid: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    (valid / "docs").symlink_to(tmp_path)
    (valid / "key").symlink_to(tmp_path / "secret")
    ran = run("package", "create", str(valid), "-d", str(out))
    assert ran.code == 0
    named = [f"left out: {name} (not a regular file)" for name in ("docs", "key")]
    assert sorted(ran.err.splitlines()) == named
    assert members(out / NAME) == MEMBERS


def child(folder: Path) -> None:
    folder.mkdir()
    operator = "{name: cup, operatorVersion: 1.0.0, kubernetesVersion: 1.25.0, tasks: "
    operator += "[{name: own, kind: Dummy, spec: {done: true}}], plans: {deploy: {phases: "
    operator += "[{name: a, steps: [{name: b, tasks: [own]}]}]}}}"
    (folder / "operator.yaml").write_text(operator)
    (folder / "params.yaml").write_text("")


def depend(package: Path, on: str) -> None:
    text = (package / "operator.yaml").read_text()
    text = text.replace("tasks:\n", f"tasks:\n  - {{name: cup, kind: KudoOperator, spec: {on}}}\n")
    (package / "operator.yaml").write_text(text.replace("[pot]}", "[pot, cup]}"))


def test_a_dependency_below_the_package_is_in_the_archive(run: Cli, valid: Path, out: Path) -> None:
    child(valid / "cup")
    depend(valid, "{package: ./cup}")
    assert run("package", "create", str(valid), "-d", str(out)).code == 0
    assert members(out / NAME) == ["cup/operator.yaml", "cup/params.yaml", *MEMBERS]
    assert run("package", "verify", str(out / NAME)).out == "package is valid\n"


def test_of_a_dependency_beside_the_package_the_archive_is_warned(
    run: Cli, valid: Path, out: Path
) -> None:
    child(valid.parent / "cup")
    depend(valid, "{package: ../cup}")
    assert run("package", "verify", str(valid)).out == "package is valid\n"
    ran = run("package", "create", str(valid), "-d", str(out))
    assert (ran.code, [path.name for path in out.iterdir()]) == (0, [NAME])
    assert ran.out.startswith('Warnings\nthe package ../cup of task "cup" is outside of the folder')
    ran = run("package", "verify", str(out / NAME))
    assert (ran.code, "../cup is outside the archive; move that package" in ran.out) == (5, True)


def test_what_the_original_installed_is_archived_with_a_warning(
    run: Cli, valid: Path, out: Path
) -> None:
    with (valid / "params.yaml").open("a") as file:
        file.write("  - {name: FIXED, default: a, trigger: not-allowed}\n")
    assert run("package", "verify", str(valid)).code == 5
    ran = run("package", "create", str(valid), "-d", str(out))
    assert (ran.code, (out / NAME).exists()) == (0, True)
    assert 'plan "not-allowed" used in parameter "FIXED" is not defined' in ran.out


def test_a_kudoignore_that_is_no_file_is_not_read(run: Cli, valid: Path, out: Path) -> None:
    os.mkfifo(valid / ".kudoignore")
    ran = run("package", "create", str(valid), "-d", str(out))
    assert (ran.code, ran.err) == (255, "Error: .kudoignore: not a regular file\n")
    (valid / ".kudoignore").unlink()
    (valid / ".kudoignore").write_text("a\n" * 40_000)
    ran = run("package", "create", str(valid), "-d", str(out))
    assert ran.err == "Error: .kudoignore: the file is larger than 65536 bytes\n"
    assert [*out.iterdir()] == []


def test_a_name_cannot_lead_out_of_the_destination(run: Cli, valid: Path, out: Path) -> None:
    text = (valid / "operator.yaml").read_text().replace("name: teapot", "name: ../teapot", 1)
    (valid / "operator.yaml").write_text(text)
    ran = run("package", "create", str(valid), "-d", str(out), "--skip-verify")
    assert (ran.code, list(out.iterdir())) == (255, [])
    assert "which cannot be the name of a file" in ran.err


def test_what_cannot_be_read_back_is_not_written(run: Cli, valid: Path, out: Path) -> None:
    (valid / "zeros").write_bytes(bytes(4 * 1024 * 1024))
    ran = run("package", "create", str(valid), "-d", str(out), "--skip-verify")
    assert (ran.code, list(out.iterdir())) == (255, [])
    assert "the archive unpacks to more than 200 times its size" in ran.err
    (valid / "zeros").write_bytes(bytes(9 * 1024 * 1024))
    ran = run("package", "create", str(valid), "-d", str(out))
    assert ran.err == "Error: zeros: the file is larger than 8388608 bytes\n"
