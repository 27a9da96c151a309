"""The single file works as `kubectl kudo` for somebody who has nothing else of ours."""

import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.plugin.conftest import Kubectl
from tools.images.version import ROOT, current


def timed(kubectl: Kubectl, *arguments: str | Path) -> tuple[float, str]:
    begin = time.monotonic()
    done = kubectl(*arguments)
    took = time.monotonic() - begin
    assert (done.returncode, done.stderr) == (0, "")
    return took, done.stdout


def test_kubectl_finds_the_plugin_and_it_knows_its_version(
    kubectl: Kubectl, figure: Callable[[str], None]
) -> None:
    first, said = timed(kubectl, "kudo", "version")
    assert f'GitVersion:"{current().number}"' in said
    later = min(timed(kubectl, "kudo", "version")[0] for _ in range(3))
    figure(f"kubectl kudo version: first start {first:.2f} s, later ones {later:.2f} s")


def test_it_verifies_a_package(kubectl: Kubectl) -> None:
    _, said = timed(kubectl, "kudo", "package", "verify", ROOT / "examples" / "first-operator")
    assert said == "package is valid\n"


def test_packages_come_with_it(kubectl: Kubectl) -> None:
    _, said = timed(kubectl, "kudo", "search", "")
    assert "first-operator" in said
    _, said = timed(kubectl, "kudo", "package", "verify", "first-operator")
    assert said == "package is valid\n"


def test_it_tests_packages_without_a_cluster(kubectl: Kubectl) -> None:
    done = kubectl("kudo", "test", "--render-only", ROOT / "examples" / "first-operator")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("same ")


def test_a_suite_with_expressions_says_what_to_install(kubectl: Kubectl, tmp_path: Path) -> None:
    case = tmp_path / "e2e" / "case"
    case.mkdir(parents=True)
    (case / "00-assert.yaml").write_text(
        "apiVersion: kuttl.dev/v1beta1\nkind: TestAssert\n"
        "resourceRefs: [{apiVersion: v1, kind: Pod, name: p, ref: pod}]\n"
        "assertAll: [{celExpr: 'pod.spec.hostNetwork'}]\n"
    )
    done = kubectl("kudo", "test", "e2e")
    assert done.returncode == 5
    assert "e2e/case/00-assert.yaml:4: " in done.stderr
    assert "pip install 'kubectl-kudo[test]'" in done.stderr


def test_an_error_has_the_exit_code_of_the_plugin(kubectl: Kubectl) -> None:
    done = kubectl("kudo", "package", "verify", "./no-such-package")
    assert done.returncode == 3
    assert done.stderr.startswith("Error: ")


def test_what_is_imported_only_sometimes_is_there_too(kubectl: Kubectl, tmp_path: Path) -> None:
    (plugin,) = (tmp_path / "bin").glob("kubectl-kudo")
    assert kubectl("kudo", "version").returncode == 0
    (unpacked,) = (tmp_path / "home" / ".shiv").glob(f"{plugin.name}_*/site-packages")
    assert (unpacked / "kubernetes_asyncio").is_dir()


def test_two_first_starts_at_once_get_in_nobodys_way(kubectl: Kubectl) -> None:
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: kubectl("kudo", "version"), range(2)))
    assert [(done.returncode, done.stderr) for done in both] == [(0, ""), (0, "")]


def test_the_file_has_no_tests_no_installer_and_no_path_of_the_building_machine(
    single_file: Path,
) -> None:
    with zipfile.ZipFile(single_file) as archive:
        names = archive.namelist()
        told = archive.read("environment.json").decode()
    parts = {part for name in names for part in name.split("/")}
    assert not parts & {"tests", "pip", "setuptools", "direct_url.json"}
    assert str(ROOT) not in told
