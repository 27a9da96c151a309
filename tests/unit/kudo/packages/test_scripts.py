"""Scripts of a package: which files they are, in folders and archives, and how they are stored."""

import os
from pathlib import Path

import pytest

from kudo.api.problems import InvalidInput
from kudo.authoring.archive import collect, pack
from kudo.packages.convert import to_objects
from kudo.packages.model import Package
from kudo.packages.reader import parse_package, read_package
from kudo.packages.short_form import expand
from kudo.packages.source import source_of
from tests.unit.kudo.packages import package_tree

PATH = "scripts/backup.sh"
OPERATOR = """\
name: db
operatorVersion: 1.0.0
kubernetesVersion: 1.30.0
plans:
  deploy:
    steps:
      - name: backup
        job:
          script: %s
          image: mariadb
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return package_tree.write(tmp_path / "db", OPERATOR % PATH, a="kind: ConfigMap\n")


def script(folder: Path, content: bytes | str, path: str = PATH) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def in_archive(folder: Path) -> Package:
    """Return the package as it is read from the archive that `package create` makes of it."""
    archive = folder.parent / "db-1.0.0.tgz"
    archive.write_bytes(pack(collect(folder).files))
    return read_package(archive)


def problems(folder: Path) -> list[str]:
    found = []
    for read in (read_package, in_archive):
        with pytest.raises(InvalidInput) as caught:
            to_objects(read(folder), "ns")
        found.append([str(problem) for problem in caught.value.problems])
    assert found[0] == found[1]
    return found[0]


def test_a_script_that_a_task_names_is_stored_under_its_path(folder: Path) -> None:
    script(folder, "\ufeffecho {{ .Name }} ä\r\n")
    script(folder, b"\xff", "scripts/other.bin")
    script(folder, "inner", "scripts/lib/more.sh")
    for package in (read_package(folder), in_archive(folder)):
        assert package.scripts == {PATH: "echo {{ .Name }} ä\r\n"}
        assert package.texts == {"a.yaml": "kind: ConfigMap\n", **package.scripts}
        version = to_objects(package, "ns").operator_version
        assert version.spec.templates == package.texts


def test_a_script_may_stand_in_a_folder_below(folder: Path) -> None:
    (folder / "operator.yaml").write_text(OPERATOR % "scripts/nightly/backup")
    script(folder, "true", "scripts/nightly/backup")
    assert read_package(folder).scripts == in_archive(folder).scripts
    assert read_package(folder).scripts == {"scripts/nightly/backup": "true"}


def test_a_script_that_is_missing_is_told(folder: Path) -> None:
    assert problems(folder) == [f"operator.yaml: task backup missing script: {PATH}"]


def test_a_script_as_large_as_it_may_be_is_read_and_a_larger_one_refused(folder: Path) -> None:
    script(folder, "x" * 65_536)
    assert len(read_package(folder).scripts[PATH]) == 65_536
    script(folder, "x" * 200_000)
    assert problems(folder) == [
        f"{PATH}: a script may have 65536 bytes; move files that it needs to an image"
    ]


def test_a_script_that_is_no_text_is_refused_with_its_line(folder: Path) -> None:
    script(folder, b"true\n\xff\n")
    [problem] = problems(folder)
    assert problem.startswith(f"{PATH}:2: ")


@pytest.mark.parametrize("path", ["../x.sh", "scripts/../../x.sh", "/etc/passwd", "templates/x"])
def test_nothing_outside_of_the_folder_is_a_script(folder: Path, path: str) -> None:
    script(folder.parent, "secret", "x.sh")
    (folder / "operator.yaml").write_text(OPERATOR % path)
    found = problems(folder)
    assert f'"{path}" is no file of the folder scripts/' in found[0]
    assert read_package(folder).scripts == {}


def test_links_are_not_followed_and_refuse_nothing(folder: Path) -> None:
    (folder / "scripts").mkdir()
    (folder / PATH).symlink_to(script(folder.parent, "secret", "x.sh"))
    os.mkfifo(folder / "scripts" / "pipe")
    assert read_package(folder).scripts == {}
    with pytest.raises(InvalidInput, match=f"missing script: {PATH}"):
        to_objects(read_package(folder), "ns")


def test_a_folder_of_this_name_is_nothing_to_a_package_without_job_tasks(folder: Path) -> None:
    package_tree.write(folder, package_tree.operator("db"), a="kind: ConfigMap\n")
    script(folder, b"\xff" * 200_000, "scripts/tool")
    (folder / "scripts" / "link").symlink_to("/etc/passwd")
    package = read_package(folder)
    assert package.scripts == {}
    assert to_objects(package, "ns").operator_version.spec.templates == {
        "a.yaml": "kind: ConfigMap\n"
    }


def test_a_file_of_this_name_is_not_read(folder: Path) -> None:
    (folder / "scripts").write_text("a")
    assert read_package(folder).scripts == {}


def test_a_template_cannot_have_the_name_of_a_script(folder: Path) -> None:
    (folder / "operator.yaml").write_text(OPERATOR % "scripts/a.yaml")
    script(folder, "true", "scripts/a.yaml")
    script(folder, "a: b", "templates/scripts/a.yaml")
    with pytest.raises(InvalidInput, match=r"scripts/a\.yaml: there is a template scripts/a\.yaml"):
        read_package(folder)


def test_the_short_form_stands_for_the_task(folder: Path) -> None:
    script(folder, "true")
    package = read_package(folder)
    [task] = package.operator.tasks
    assert task.to_wire() == {
        "name": "backup",
        "kind": "Job",
        "spec": {"job": {"script": PATH, "image": "mariadb"}},
    }
    document = package.expansion.document
    assert isinstance(document, dict)
    assert document["tasks"][0]["spec"] == {"job": {"script": PATH, "image": "mariadb"}}
    # The places of the long form are those of the file.
    place = package.expansion.place(("tasks", 0, "spec", "job", "image"))
    text = (folder / "operator.yaml").read_bytes()
    position = source_of(text).position(place)
    assert position is not None
    assert position.line == 10
    assert expand({"plans": {}}).is_short is False


def test_a_job_without_fields_is_told(folder: Path) -> None:
    operator = (OPERATOR % PATH).partition("        job:")[0]
    for written in ("        job:\n", "        job: {}\n", "        job: [x]\n"):
        (folder / "operator.yaml").write_text(operator + written)
        with pytest.raises(InvalidInput, match="job"):
            to_objects(read_package(folder), "ns")


def test_numbers_are_read_as_go_reads_them(folder: Path) -> None:
    script(folder, "true")
    more = "          backoffLimit: 2.0\n          env: [{name: A, value: 'on'}]\n"
    (folder / "operator.yaml").write_text(OPERATOR % PATH + more)
    job = read_package(folder).operator.tasks[0].spec.job
    assert job is not None
    assert job.to_wire()["backoffLimit"] == 2
    assert job.to_wire()["env"] == [{"name": "A", "value": "on"}]
    (folder / "operator.yaml").write_text(OPERATOR % PATH + "          keep: many\n")
    with pytest.raises(InvalidInput, match=r"job\.keep must be a whole number, not text"):
        parse_package(collect(folder).files)
