"""`install`, `upgrade` and `package verify` of packages from repositories and URLs."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.repositories.server import PackageServer, status
from tests.unit.kudo.packages.package_tree import operator, pack, write


@pytest.fixture
def repository(kudo: Cli, secure: PackageServer, tmp_path: Path) -> Path:
    """Return a folder whose packages are published on the server, as the context."""
    folder = tmp_path / "dist"
    folder.mkdir()
    secure.files["/v1/index.yaml"] = b"apiVersion: v1\nentries: {}\n"
    assert kudo("repo", "add", "own", f"{secure.url}/v1").code == 0
    assert kudo("repo", "context", "own").code == 0
    secure.requests.clear()
    return folder


@pytest.fixture
def publish(repository: Path, kudo: Cli, secure: PackageServer, tmp_path: Path) -> Any:
    """Return a function that adds packages to the repository."""

    def publish(*packages: str) -> None:
        for number, text in enumerate(packages):
            source = write(tmp_path / f"source{number}", text)
            count = len(list(repository.iterdir()))
            pack(source, repository / f"p{count}.tgz")
        ran = kudo("repo", "index", str(repository), "-w", "--url", f"{secure.url}/v1")
        assert ran.code == 0
        for path in repository.iterdir():
            secure.files[f"/v1/{path.name}"] = path.read_bytes()

    return publish


def needs(api: FakeApi, version: str) -> list[dict[str, Any]]:
    tasks = api.objects["operatorversions", version]["spec"]["tasks"]
    return [task["spec"] for task in tasks if task["kind"] == "KudoOperator"]


def test_a_name_installs_the_newest_release(kudo: Cli, api: FakeApi, publish: Any) -> None:
    publish(*(operator("t", version=one) for one in ("0.9.0", "0.10.0", "1.0.0-rc1")))
    ran = kudo("install", "t")
    assert (ran.code, ran.err) == (0, "")
    assert "operatorversion kitchen/t-0.10.0 created" in ran.out
    ran = kudo("upgrade", "t", "--instance", "t-instance", "--operator-version", "1.0.0-rc1")
    assert "instance kitchen/t-instance updated" in ran.out
    assert kudo("package", "verify", "t", "--operator-version", "0.9.0").out.endswith("is valid\n")


def test_a_tree_of_names_comes_from_the_repository(kudo: Cli, api: FakeApi, publish: Any) -> None:
    publish(
        operator("a", "b", "c operatorVersion=0.1.0"),
        operator("b", "c operatorVersion=0.1.0"),
        operator("c"),
        operator("c", version="0.2.0"),
    )
    ran = kudo("install", "a")
    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.splitlines() if "operatorversion" in line] == [
        "operatorversion kitchen/b-0.1.0 created",
        "operatorversion kitchen/c-0.1.0 created",
        "operatorversion kitchen/a-0.1.0 created",
    ]
    assert needs(api, "a-0.1.0") == [
        {"package": "b", "operatorVersion": "0.1.0"},
        {"package": "c", "operatorVersion": "0.1.0"},
    ]


def test_a_name_in_a_local_package_means_the_newest_of_the_repository(
    kudo: Cli, api: FakeApi, publish: Any, tmp_path: Path
) -> None:
    # BTO-23: a plain name never means a folder, and an older installed version is not taken.
    publish(operator("b"), operator("b", version="0.2.0"))
    root = write(tmp_path / "a", operator("a", "b"))
    write(root / "b", operator("b", version="9.0.0"))
    assert kudo("install", "b", "--operator-version", "0.1.0", "--skip-instance").code == 0
    assert kudo("install", str(root), "--skip-instance").code == 0
    assert needs(api, "a-0.1.0") == [{"package": "b", "operatorVersion": "0.2.0"}]


@pytest.mark.parametrize("repo", [(), ("--repo", "own")])
def test_a_package_that_is_installed_again_keeps_its_dependencies(
    kudo: Cli, api: FakeApi, publish: Any, repo: tuple[str, ...]
) -> None:
    publish(operator("a", "b"), operator("b"))
    assert kudo("install", "a", *repo).code == 0
    publish(operator("b", version="0.2.0"))
    assert kudo("install", "b", "--skip-instance").code == 0
    ran = kudo("install", "a", "--instance", "second", *repo)
    assert (ran.code, ran.err) == (0, "")
    assert needs(api, "a-0.1.0") == [{"package": "b", "operatorVersion": "0.1.0"}]
    # The version of that time is installed again if it was removed.
    api.remove("operatorversions", "b-0.1.0")
    assert kudo("install", "a", "--instance", "third", *repo).code == 0
    assert "b-0.1.0" in api.names("operatorversions")


def test_versions_that_are_installed_are_not_downloaded(
    kudo: Cli, api: FakeApi, publish: Any, secure: PackageServer, tmp_path: Path
) -> None:
    publish(operator("b"))
    assert kudo("install", "b", "--skip-instance").code == 0
    secure.requests.clear()
    named = write(tmp_path / "a", operator("a", "b operatorVersion=0.1.0"))
    assert kudo("install", str(named), "--skip-instance").code == 0
    assert secure.paths() == []
    # Without a version, the index is needed, but not the package.
    (tmp_path / ".kudo" / "cache" / "packages").rename(tmp_path / "elsewhere")
    newest = write(tmp_path / "c", operator("c", "b"))
    assert kudo("install", str(newest), "--skip-instance").code == 0
    assert secure.paths() == ["/v1/index.yaml"]
    assert needs(api, "c-0.1.0") == [{"package": "b", "operatorVersion": "0.1.0"}]


def test_what_the_repository_does_not_have_is_taken_from_the_namespace(
    kudo: Cli, api: FakeApi, publish: Any, secure: PackageServer, tmp_path: Path
) -> None:
    publish(operator("b"))
    own = write(tmp_path / "own", operator("own"))
    assert kudo("install", str(own), "--skip-instance").code == 0
    ran = kudo("install", str(write(tmp_path / "a", operator("a", "own"))), "--skip-instance")
    assert (ran.code, ran.err) == (0, "")
    secure.files.clear()
    (tmp_path / ".kudo" / "cache").rename(tmp_path / "elsewhere")
    ran = kudo("install", str(write(tmp_path / "c", operator("c", "own"))), "--skip-instance")
    assert (ran.code, needs(api, "c-0.1.0")) == (
        0,
        [{"package": "own", "operatorVersion": "0.1.0"}],
    )
    assert ran.err == (
        f"Warning: failed to fetch {secure.url}/v1/index.yaml : 404 Not Found (repository own; "
        "--repo names another, such as builtin); using own-0.1.0, which is installed\n"
    )


@pytest.mark.parametrize("verb", ["install", "upgrade"])
def test_a_path_that_does_not_exist_is_told(
    kudo: Cli, publish: Any, secure: PackageServer, tmp_path: Path, verb: str
) -> None:
    # BTO-14: it was taken for a URL or a name, so that the cause was hidden.
    publish(operator("t"))
    secure.requests.clear()
    for path in (f"{tmp_path}/none", "./none", "a/none", "none.tgz"):
        ran = kudo(verb, path, *(["--instance", "i"] if verb == "upgrade" else []))
        assert (ran.code, ran.out) == (3, "")
        assert f"failed to resolve operator package for: {path}" in ran.err
        assert ran.err.endswith(": no such file or directory\n")
    assert secure.requests == []


def test_a_dependency_that_is_nowhere_is_told(kudo: Cli, api: FakeApi, publish: Any) -> None:
    publish(operator("a", "none"))
    ran = kudo("install", "a")
    assert ran.code == 255
    assert 'failed to resolve package Operator: "none", OperatorVersion: "any"' in ran.err
    assert "and the repository does not have it: getting none in index file: no operator" in ran.err
    assert api.writes() == []


def test_a_package_with_another_digest_is_refused(
    kudo: Cli, api: FakeApi, publish: Any, secure: PackageServer
) -> None:
    # BTO-17: the digest was not checked.
    publish(operator("t"))
    secure.files["/v1/p0.tgz"] += b"more"
    ran = kudo("install", "t")
    assert ran.code == 255
    assert "/v1/p0.tgz is not what the index describes: its SHA-256 is " in ran.err
    assert api.writes() == []


def test_an_entry_without_urls_is_told(
    kudo: Cli, publish: Any, secure: PackageServer, repository: Path
) -> None:
    # KUDO 0.19 crashed on it.
    entry = "{operatorVersion: 1.0.0, urls: []}"
    secure.files["/v1/index.yaml"] = f"apiVersion: v1\nentries: {{t: [{entry}]}}".encode()
    assert "getting t-1.0.0: the index of repository own has no URL of it" in (
        kudo("install", "t").err
    )


def test_the_second_url_is_tried_and_relative_ones_are_of_the_index(
    kudo: Cli, publish: Any, secure: PackageServer
) -> None:
    publish(operator("t"))
    entry = "{operatorVersion: 0.1.0, urls: [none.tgz, p0.tgz], deprecated: true}"
    secure.files["/v1/index.yaml"] = f"apiVersion: v1\nentries: {{t: [{entry}]}}".encode()
    ran = kudo("install", "t")
    assert ran.code == 0
    assert ran.err == "Warning: t-0.1.0 is deprecated in repository own\n"
    assert secure.paths()[-2:] == ["/v1/none.tgz", "/v1/p0.tgz"]


def test_an_index_on_a_server_cannot_name_local_files(
    kudo: Cli, publish: Any, secure: PackageServer, repository: Path
) -> None:
    publish(operator("t"))
    entry = f"{{operatorVersion: 0.1.0, urls: ['file://{repository}/p0.tgz']}}"
    secure.files["/v1/index.yaml"] = f"apiVersion: v1\nentries: {{t: [{entry}]}}".encode()
    assert "which only an index in a folder may do" in kudo("install", "t").err


def test_a_url_is_a_package(
    kudo: Cli, publish: Any, secure: PackageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(operator("t"))
    monkeypatch.setenv("KUDO_REPO_TOKEN", "t0ken")
    secure.requests.clear()
    ran = kudo("install", f"{secure.url}/v1/p0.tgz?key=s3cret")
    assert (ran.code, ran.err) == (0, f"{secure.url}/v1/p0.tgz?... is a remote .tgz package\n")
    # Nobody said that this host is that of the token.
    assert secure.sent("Authorization") == [""]
    missing = kudo("install", f"{secure.url}/none.tgz")
    assert missing.err == (
        f"Error: failed to resolve operator package for: {secure.url}/none.tgz "
        f"failed to fetch {secure.url}/none.tgz : 404 Not Found\n"
    )


@pytest.mark.parametrize("what", ["plans", "params"])
def test_names_and_urls_are_listed_like_folders(
    kudo: Cli, publish: Any, secure: PackageServer, tmp_path: Path, what: str
) -> None:
    publish(operator("t"), operator("t", "b", version="0.2.0"))
    packages = {version: f"{secure.url}/v1/p{n}.tgz" for n, version in enumerate(("old", "new"))}
    folders = {"old": tmp_path / "source0", "new": tmp_path / "source1"}
    listed = {age: kudo("package", "list", what, str(folder)) for age, folder in folders.items()}
    assert kudo("package", "list", what, "t") == listed["new"]
    assert kudo("package", "list", what, "t", "--operator-version", "0.1.0") == listed["old"]
    assert kudo("package", "list", what, "t", "--repo", "own", "-o", "json").out == (
        kudo("package", "list", what, str(folders["new"]), "-o", "json").out
    )
    for age, url in packages.items():
        assert kudo("package", "list", what, url).out == listed[age].out


def test_a_name_that_is_a_folder_is_listed_from_the_folder(
    kudo: Cli, publish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # KUDO 0.19 listed the package of the repository; nothing is installed from a list.
    publish(operator("t", "b"))
    write(tmp_path / "t", operator("t"))
    assert "KudoOperator" in kudo("package", "list", "tasks", "t").out
    monkeypatch.chdir(tmp_path)
    assert "KudoOperator" not in kudo("package", "list", "tasks", "t").out


def test_an_unknown_repository_matters_only_where_it_is_used(kudo: Cli, package: Path) -> None:
    # BTO-9: it broke the installation of a folder, too.
    assert kudo("install", str(package), "-p", "TEA=mint", "--repo", "none").code == 0
    ran = kudo("install", "t", "--repo", "none")
    assert "could not build operator repository: unable to find repository for none" in ran.err


# The cache


def test_without_the_host_the_cache_is_used(
    kudo: Cli, api: FakeApi, publish: Any, secure: PackageServer, tmp_path: Path
) -> None:
    publish(operator("t"))
    assert kudo("install", "t", "--skip-instance").code == 0
    secure.answers["/v1/index.yaml"] = [status(503)]
    secure.answers["/v1/p0.tgz"] = [status(503)]
    ran = kudo("install", "t")
    assert ran.code == 0
    assert ran.err.startswith(f"Warning: failed to fetch {secure.url}/v1/index.yaml : 503 Service")
    assert "; using the index of 20" in ran.err
    (cached,) = (tmp_path / ".kudo" / "cache" / "packages").iterdir()
    cached.write_bytes(b"spoilt")
    assert "503 Service Unavailable" in kudo("package", "verify", "t").err


def test_an_index_that_has_not_changed_is_not_sent_again(
    kudo: Cli, publish: Any, secure: PackageServer
) -> None:
    publish(operator("t"))
    secure.requests.clear()
    for _ in range(2):
        assert kudo("package", "verify", "t").code == 0
    assert secure.paths() == ["/v1/index.yaml", "/v1/p0.tgz", "/v1/index.yaml"]
    assert secure.requests[2].headers["If-None-Match"]


def test_what_is_no_index_does_not_get_into_the_cache(
    kudo: Cli, publish: Any, secure: PackageServer, tmp_path: Path
) -> None:
    secure.files["/v1/index.yaml"] = b"<html>"
    assert "unmarshalling index file: it is not a mapping" in kudo("install", "t").err
    files = [path for path in (tmp_path / ".kudo" / "cache").rglob("*") if path.is_file()]
    assert all(b"<html>" not in path.read_bytes() for path in files)
