"""What `package verify` finds in the names of files, and the hints where a file is missing."""

import io
import tarfile
from pathlib import Path

import pytest

from kudo.api.problems import InvalidInput
from kudo.packages.location import locate
from kudo.packages.reader import read_package
from kudo.verification import Finding, verify
from tests.unit.kudo.verification.test_fields import OPERATOR, PARAMETERS, TEMPLATE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    (tmp_path / "operator.yaml").write_text(OPERATOR)
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    (tmp_path / "templates" / "a.yaml").write_text(TEMPLATE)
    return tmp_path


def found(folder: Path, code: str) -> list[Finding]:
    return [finding for finding in verify(read_package(folder)) if finding.code == code]


def write(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(TEMPLATE)


@pytest.mark.parametrize(
    ("path", "message", "suggestion"),
    [
        ("templates-old/q.yaml", 'is read as template "templates-old/q.yaml"', "move it into te"),
        ("templates/t.yaml.bak", 'is read as template "t.yaml.bak"', "remove it"),
        ("templates/x.yml", "is no template, since its name does not end in .yaml", "rename it"),
    ],
)
def test_files_whose_names_mislead_are_warned_of(
    folder: Path, path: str, message: str, suggestion: str
) -> None:
    # BTO-10: which files are templates is not obvious.
    write(folder, path)
    [finding] = found(folder, "TemplateFileName")
    assert finding.problem.message == f'"{path}" {message}'
    assert finding.suggestion.startswith(suggestion)
    assert (finding.severity, finding.place.position) == ("warning", path)


def test_two_files_with_the_name_of_one_template_are_an_error(folder: Path) -> None:
    # BTO-10: one of them silently won.
    write(folder, "templates/sub/templates/a.yaml")
    [finding] = found(folder, "TemplateDuplicate")
    assert finding.is_error
    assert finding.place.position == "templates/sub/templates/a.yaml"


def test_findings_name_the_file_of_a_template_and_not_its_name(folder: Path) -> None:
    write(folder, "templates/sub/templates/r.yaml")
    [finding] = found(folder, "TemplateUnused")
    assert finding.place.position == "templates/sub/templates/r.yaml"


@pytest.mark.parametrize("name", ["operator", "params"])
def test_a_file_with_the_wrong_suffix_is_named(folder: Path, name: str) -> None:
    (folder / f"{name}.yaml").rename(folder / f"{name}.yml")
    with pytest.raises(InvalidInput) as caught:
        read_package(folder)
    assert str(caught.value).endswith(f"; rename {name}.yml to {name}.yaml")


def test_the_top_folder_of_an_archive_is_named(folder: Path, tmp_path: Path) -> None:
    archive = tmp_path / "first.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("operator.yaml", "params.yaml"):
            content = (folder / name).read_bytes()
            entry = tarfile.TarInfo(f"first-0.1.0/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    with pytest.raises(InvalidInput) as caught:
        locate(archive)
    assert "operator package missing operator.yaml in" in str(caught.value)
    assert "it is in the folder first-0.1.0 of the archive, so pack the content" in str(
        caught.value
    )


def test_an_empty_operator_yaml_is_called_empty(folder: Path) -> None:
    (folder / "operator.yaml").write_text("")
    with pytest.raises(InvalidInput, match="the file is empty"):
        read_package(folder)
