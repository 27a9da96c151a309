"""`search`."""

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.repositories.server import PackageServer

INDEX = """\
apiVersion: v1
entries:
  zk:
  - {operatorVersion: 0.9.0, appVersion: 1.0.0}
  - {operatorVersion: 0.10.0, appVersion: 1.0.0, description: "A tree\\n of \\e[31mnodes"}
  - {operatorVersion: 0.11.0-rc1, appVersion: 1.0.0}
  - {operatorVersion: 0.12.0, appVersion: 1.0.0, removed: true}
  kafka:
  - {operatorVersion: 1.3.3, deprecated: true, description: A log}
  gone:
  - {operatorVersion: 1.0.0, removed: true}
"""


@pytest.fixture
def search(run: Cli, server: PackageServer) -> Cli:
    server.files["/index.yaml"] = INDEX.encode()
    assert run("repo", "add", "own", server.url).code == 0
    return lambda *argv: run("search", "--repo", "own", *argv)


def rows(text: str) -> list[list[str]]:
    return [[cell.rstrip() for cell in line.split("\t")] for line in text.splitlines()]


def test_the_newest_release_of_each_package_is_listed(search: Cli) -> None:
    assert rows(search("").out) == [
        ["Name", "Operator Version", "App Version", "Description"],
        ["kafka", "1.3.3", "", "(deprecated) A log"],
        ["zk", "0.10.0", "1.0.0", "A tree of \\x1b[31mnodes"],
    ]


def test_all_versions_are_listed_newest_first(search: Cli) -> None:
    found = search("z", "-a").out
    assert [row[:3] for row in rows(found)[1:]] == [
        ["zk", "0.11.0-rc1", "1.0.0"],
        ["", "0.10.0", "1.0.0"],
        ["", "0.9.0", "1.0.0"],
    ]
    assert len({len(line) for line in found.splitlines()}) == 1


def test_an_error_names_the_repository_that_is_used_by_default(
    search: Cli, run: Cli, server: PackageServer
) -> None:
    assert run("repo", "context", "own").code == 0
    server.files.clear()
    failed = f"Error: failed to fetch {server.url}/index.yaml : 404 Not Found"
    hint = " (repository own; --repo names another, such as builtin)"
    assert run("search", "zk").err == f"{failed}{hint}\n"
    assert search("zk").err == f"{failed}\n"
