"""The packages that come with the command line, and the default of KUDO 0.19 that they replace."""

import asyncio
import json
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from goyaml import load
from kubectl_kudo.repositories.repository import BuiltInRepository, examples
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.repositories.server import PackageServer

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples"
BUCKET = "https://kudo-repository.storage.googleapis.com/v1"
OF_0_19 = f"""\
context: community
repoVersion: v1
repositories:
- name: community
  url: {BUCKET}
"""


def packages() -> list[Path]:
    found = EXAMPLES.rglob("operator.yaml")
    return sorted(path.parent for path in found if "tests" not in path.parts)


def versions() -> set[tuple[str, str]]:
    read = [load((folder / "operator.yaml").read_bytes()) for folder in packages()]
    return {(one["name"], one["operatorVersion"]) for one in read if isinstance(one, dict)}


def listed(tmp_path: Path, content: str = OF_0_19) -> Path:
    file = tmp_path / ".kudo" / "repository" / "repositories.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    return file


def test_all_examples_are_found_without_a_network(run: Cli) -> None:
    ran = run("search", "", "-a", "-o", "json")
    found = {(one["name"], one["operatorVersion"]) for one in json.loads(ran.out)}
    assert (ran.code, ran.err) == (0, "")
    assert found == versions()
    assert ("first-operator", "0.1.0") in found


@pytest.mark.parametrize("name", sorted({name for name, _ in versions()}))
def test_each_is_installed_by_its_name(name: str, kudo: Cli, api: FakeApi) -> None:
    ran = kudo("install", name, "--skip-instance")
    assert (ran.code, ran.err) == (0, "")
    assert ("operators", name) in api.objects


def test_an_older_version_is_chosen(run: Cli) -> None:
    ran = run("package", "list", "tasks", "guestbook", "--operator-version", "0.1.0", "-o", "json")
    older = run("package", "list", "tasks", str(EXAMPLES / "lifecycle" / "v1"), "-o", "json")
    assert ran == older


def test_the_wheel_has_them(tmp_path: Path) -> None:
    builder = WheelBuilder(str(ROOT / "cli"))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    shipped = tmp_path / "installed" / "kubectl_kudo" / "examples"
    index = asyncio.run(BuiltInRepository(shipped).index())
    assert {(one.name, one.operator_version) for one in index.all()} == versions()
    left_out = {"golden", "image", "tests"}
    assert not [path for path in shipped.rglob("*") if path.name in left_out]
    for path in shipped.rglob("*.yaml"):
        assert path.read_bytes() == (EXAMPLES / path.relative_to(shipped)).read_bytes()


def test_an_editable_installation_reads_them_in_place() -> None:
    assert examples() == EXAMPLES


def test_the_bucket_of_kudo_0_19_is_not_used_and_the_command_that_removes_it_is_told(
    run: Cli, tmp_path: Path
) -> None:
    file = listed(tmp_path)
    command = "Remove it: kubectl kudo repo remove community"
    for line in (["search", "first"], ["package", "verify", "first-operator"], ["repo", "list"]):
        ran = run(*line)
        assert (ran.code, command in ran.err) == (0, True), ran
    assert "first-operator" in run("search", "first").out
    refused = run("search", "first", "--repo", "community")
    assert (refused.code, command in refused.err) == (4, True)
    assert run("repo", "index", str(tmp_path), "--merge-repo", "community").code == 4
    removed = run("repo", "remove", "community")
    assert removed.err == '"builtin" is now the repository that commands use by default\n'
    assert run("search", "first").err == ""
    assert BUCKET not in file.read_text()


def test_a_list_of_kudo_0_19_with_another_address_is_used_as_before(
    run: Cli, server: PackageServer, tmp_path: Path
) -> None:
    server.files["/v1/index.yaml"] = b"apiVersion: v1\nentries: {}\n"
    listed(tmp_path, OF_0_19.replace(BUCKET, f"{server.url}/v1"))
    ran = run("search", "first")
    assert (ran.code, ran.out, ran.err) == (0, "no operators found\n", "")
    assert server.paths() == ["/v1/index.yaml"]
    assert run("repo", "list").out.splitlines()[2].startswith("*community\t")
