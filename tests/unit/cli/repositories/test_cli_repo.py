"""`repo add`, `list`, `remove`, `context` and `index`."""

from pathlib import Path

import pytest

from kudo.packages.repositories.index import read_index
from tests.unit.cli.conftest import Cli
from tests.unit.cli.repositories.server import PackageServer, status
from tests.unit.kudo.packages.package_tree import operator, pack, write


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return a folder with two packages."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for version in ("0.1.0", "0.2.0"):
        source = write(tmp_path / version, operator("t", version=version, more="appVersion: '2.0'"))
        pack(source, folder / f"t-2.0_{version}.tgz")
    return folder


def settings(tmp_path: Path) -> str:
    return (tmp_path / ".kudo" / "repository" / "repositories.yaml").read_text()


BUCKET = "https://kudo-repository.storage.googleapis.com/v1"

# The list


def test_without_a_file_the_packages_of_the_command_line_are_used(run: Cli) -> None:
    ran = run("repo", "list")
    assert ran.out.splitlines()[1] == "*builtin\t(packages that come with kubectl kudo)"
    assert ran.out.startswith("NAME    \tURL ")
    removed = run("repo", "remove", "builtin")
    assert (removed.code, removed.out) == (255, "")
    assert "comes with kubectl kudo" in removed.err


def test_removal_stops_at_the_first_unknown_name(run: Cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("repo", "add", name, "https://localhost:1/", "--skip-check").code == 0
    ran = run("repo", "remove", "a", "x", "b")
    assert ran.code == 3
    assert ran.err == 'Error: no repo named "x" found\n'
    assert "name: a" not in settings(tmp_path)
    assert "name: b" in settings(tmp_path)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["add", "a", "kafka"], 'looks like "kafka" is not a valid operator repository or cannot'),
        (["add", "a", "https://k:s3cret@host/"], "the list is no place for credentials"),
        (["add", "-f", "a", BUCKET], "it is the address of the former project"),
        (["index", ".", "--merge-repo", "builtin"], "repository builtin has no URL"),
        (["add", "-f", "a\nb", "https://host/"], "the name must be printable"),
        (["list", "x"], "expecting no arguments provided for repo list"),
        (["index", ".", "--url-repo", "x"], "configuration for repositories does not contain x"),
    ],
)
def test_what_cannot_be_done_is_told(run: Cli, argv: list[str], text: str, tmp_path: Path) -> None:
    ran = run("repo", *argv)
    assert ran.code in {2, 3, 255}
    assert text in ran.err
    assert "s3cret" not in ran.err
    assert not (tmp_path / ".kudo").exists()


def test_a_url_without_an_index_is_not_added(
    run: Cli, server: PackageServer, tmp_path: Path
) -> None:
    headline = f'Error: looks like "{server.url}" is not a valid operator repository or cannot be '
    ran = run("repo", "add", "own", server.url)
    assert ran.err == (
        f"{headline}reached: failed to fetch {server.url}/index.yaml : 404 Not Found\n"
    )
    server.files["/index.yaml"] = b"<html>"
    assert run("repo", "add", "own", server.url).err == (
        f"{headline}reached: unmarshalling index file: it is not a mapping\n"
    )
    # BTO-16: that a file could not be read was not told.
    assert "No such file or directory" in run("repo", "add", "a", f"file://{tmp_path}").err
    assert not (tmp_path / ".kudo").exists()


def test_a_list_that_cannot_be_read_is_named(run: Cli, tmp_path: Path) -> None:
    path = tmp_path / "home of kudo" / "repository" / "repositories.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("- text")
    ran = run("repo", "list", "--home", "$HOME/home of kudo")
    assert ran.err.startswith(f"Error: could not load repositories file ({path}).\n")


# The index


def test_an_index_is_replaced_only_on_request(run: Cli, packages: Path) -> None:
    target = packages / "index.yaml"
    target.write_text("mine")
    assert f'target file "{target}" already exists' in run("repo", "index", str(packages)).err
    assert target.read_text() == "mine"
    assert run("repo", "index", str(packages), "-w", "--url", "https://example.org").code == 0
    assert "- https://example.org/t-2.0_0.1.0.tgz\n" in target.read_text()
    assert [path.name for path in packages.iterdir() if path.suffix != ".tgz"] == ["index.yaml"]


def test_files_that_are_no_packages_are_left_out(run: Cli, packages: Path) -> None:
    (packages / "broken.tgz").write_bytes(b"broken")
    (packages / "u-copy.tgz").write_bytes((packages / "t-2.0_0.1.0.tgz").read_bytes())
    ran = run("repo", "index", str(packages))
    assert ran.code == 0
    assert f"WARNING: operator: {packages}/broken.tgz is invalid: " in ran.err
    assert "WARNING: u-copy.tgz is left out: t-2.0_0.1.0.tgz is t-2.0-0.1.0 as well" in ran.err
    (packages / "none").mkdir()
    assert "no packages discovered" in run("repo", "index", str(packages / "none")).err


def test_an_index_is_merged_with_a_folder_or_a_repository(
    run: Cli, packages: Path, server: PackageServer, tmp_path: Path
) -> None:
    published = (
        b"apiVersion: v1\nentries:\n  t:\n"
        b"  - {operatorVersion: 0.0.9, urls: ['https://example.org/t-0.0.9.tgz']}\n"
    )
    server.files["/v1/index.yaml"] = published
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "index.yaml").write_bytes(published)
    run("repo", "add", "own", f"{server.url}/v1")
    for merge in (
        # BTO-20: a path failed, although the help said that it is one.
        ("--merge", str(tmp_path / "old")),
        ("--merge", f"{server.url}/v1"),
        ("--merge-repo", "own", "--url-repo", "own"),
    ):
        assert run("repo", "index", str(packages), "-w", *merge).code == 0
        index = read_index((packages / "index.yaml").read_bytes())
        assert [entry.operator_version for entry in index.entries["t"]] == [
            *("0.2.0", "0.1.0", "0.0.9")
        ]
        assert index.entries["t"][2].urls == ("https://example.org/t-0.0.9.tgz",)
    assert index.entries["t"][0].urls == (f"{server.url}/v1/t-2.0_0.2.0.tgz",)


def test_a_merge_makes_relative_urls_whole(run: Cli, packages: Path, server: PackageServer) -> None:
    entry = b"{operatorVersion: 0.0.9, urls: [old.tgz, 'https://example.org/old.tgz']}"
    server.files["/v1/index.yaml"] = b"apiVersion: v1\nentries: {t: [" + entry + b"]}"
    assert run("repo", "index", str(packages), "--merge", f"{server.url}/v1").code == 0
    index = read_index((packages / "index.yaml").read_bytes())
    assert index.entries["t"][2].urls == (
        f"{server.url}/v1/old.tgz",
        "https://example.org/old.tgz",
    )


def test_a_merge_that_fails_writes_nothing(run: Cli, packages: Path, server: PackageServer) -> None:
    server.answers["/index.yaml"] = [status(403)]
    assert "403 Forbidden" in run("repo", "index", str(packages), "--merge", server.url).err
    assert "cannot read " in run("repo", "index", str(packages), "--merge", "none").err
    assert not (packages / "index.yaml").exists()


@pytest.mark.parametrize("version", ["0.3.0+build.5", "0.3.0_1"])
def test_a_package_that_cannot_be_installed_is_left_out_of_the_index(
    run: Cli, packages: Path, tmp_path: Path, version: str
) -> None:
    pack(write(tmp_path / version, operator("t", version=version)), packages / "t.tgz")
    ran = run("repo", "index", str(packages))
    assert ran.code == 0
    assert (
        f"WARNING: operator: {packages}/t.tgz is invalid: operator.yaml: operatorVersion: "
        in ran.err
    )
    index = read_index((packages / "index.yaml").read_bytes())
    assert [one.operator_version for one in index.entries["t"]] == ["0.2.0", "0.1.0"]
    assert run("repo", "index", str(packages), "-w", "--skip-verify").code == 0
    index = read_index((packages / "index.yaml").read_bytes())
    assert version in {one.operator_version for one in index.entries["t"]}
