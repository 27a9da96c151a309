"""A newer version of a package, made by changing a copy."""

from pathlib import Path

import pytest
import yaml

from tests.galera import package

_OPERATOR = 'name: galera\n{version}\nappVersion: "10.11"\n'
_PARAMS = """\
parameters:
  - name: NODE_COUNT
    description: A number.
    default: "3"
  - name: CPU
    description: Of each node.
    default: 100m
    trigger: update
"""


def _package(directory: Path, version: str) -> Path:
    directory.mkdir()
    (directory / "operator.yaml").write_text(_OPERATOR.format(version=version))
    (directory / "params.yaml").write_text(_PARAMS)
    return directory


@pytest.mark.parametrize("version", ['operatorVersion: "1.2.3"', "operatorVersion: 1.2.3"])
def test_the_copy_is_newer_and_has_other_defaults(tmp_path: Path, version: str) -> None:
    old = _package(tmp_path / "old", version)
    new = package.newer(tmp_path / "new", {"CPU": "120m"}, old)
    assert yaml.safe_load((new / "operator.yaml").read_text())["operatorVersion"] == "2.2.3"
    count, cpu = yaml.safe_load((new / "params.yaml").read_text())["parameters"]
    assert (count["default"], cpu["default"], cpu["trigger"]) == ("3", "120m", "update")
    assert (old / "params.yaml").read_text() == _PARAMS


def test_a_parameter_that_is_missing_is_an_error(tmp_path: Path) -> None:
    old = _package(tmp_path / "old", "operatorVersion: 1.2.3")
    with pytest.raises(ValueError, match="not enough values"):
        package.newer(tmp_path / "new", {"MEMORY": "1Gi"}, old)
