"""The package of docs/galera.md is valid after each part."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.tasks.rendering import render_objects, variables
from tests.support.build import Json
from tests.support.pages import sections

_NAME = "first-galera"
_PARTS = [title for title in sections("galera.md") if title.startswith("Part ")]
_BY_PART = pytest.mark.parametrize("part", range(1, 4))


def assembled(folder: Path, parts: int) -> Path:
    """Write the package as it is after some parts; return its folder."""
    for title in _PARTS[:parts]:
        for block in sections("galera.md")[title]:
            if block.kind == "yaml":
                block.write(folder)
    return folder / _NAME


def applied(package: Path) -> list[Json]:
    """Return the objects of all templates."""
    objects = to_objects(read_package(package), "default")
    version = objects.operator_version
    values = variables(objects.instance, version, plan="deploy", phase="nodes", step="nodes").read()
    templates = version.spec.templates or {}
    return [one.object for one in render_objects(tuple(templates), templates, values)]


def test_the_page_has_three_parts() -> None:
    assert len(_PARTS) == 3


@_BY_PART
def test_the_package_of_a_part_is_valid(tmp_path: Path, part: int) -> None:
    package = assembled(tmp_path, part)
    command = [str(Path(sys.executable).with_name("kubectl-kudo")), "package", "verify", _NAME]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "package is valid\n"), done.stderr
    version = yaml.safe_load((package / "operator.yaml").read_text())["operatorVersion"]
    assert version == f"0.{part}.0"


@_BY_PART
def test_the_templates_of_a_part_are_those_that_its_tasks_name(tmp_path: Path, part: int) -> None:
    package = assembled(tmp_path, part)
    tasks = yaml.safe_load((package / "operator.yaml").read_text())["tasks"]
    named = {name for task in tasks for name in task["spec"]["resources"]}
    assert {path.name for path in (package / "templates").iterdir()} == named


def test_the_scripts_are_understood_by_bash(tmp_path: Path) -> None:
    objects = applied(assembled(tmp_path, 3))
    maps = [one["data"] for one in objects if one["kind"] == "ConfigMap"]
    scripts = [text for data in maps for name, text in data.items() if not name.endswith(".cnf")]
    [job] = [one for one in objects if one["kind"] == "Job"]
    scripts += job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert len(scripts) == 5
    for text in scripts:
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_pods_keep_to_the_restricted_profile(tmp_path: Path) -> None:
    kinds = ("StatefulSet", "Job")
    pods = [
        one["spec"]["template"]["spec"]
        for one in applied(assembled(tmp_path, 3))
        if one["kind"] in kinds
    ]
    assert len(pods) == 3
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
