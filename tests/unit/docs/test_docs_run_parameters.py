"""The package with run parameters of docs/plans.md is whole, valid, short, and takes them."""

from pathlib import Path

import pytest

from kudo.authoring.preview import preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.verification import verify
from tests.support.pages import sections

BLOCKS = [block for block in sections("plans.md")["Parameters of a run"] if block.path]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for block in BLOCKS:
        block.write(tmp_path)
    return tmp_path / "db"


def test_it_is_short() -> None:
    assert sum(len(block.text.splitlines()) for block in BLOCKS) <= 25


def test_it_is_valid(package: Path) -> None:
    assert verify(read_package(package)) == ()


def test_its_tasks_use_what_a_run_is_given(package: Path) -> None:
    version = to_objects(read_package(package), "ns").operator_version
    assert version.plans["backup"].required_parameters == ("name",)
    instance = preview_instance(version, "shop", "ns", {})
    for given, name in (({"name": "monday"}, "monday"), ({}, "<run.name>")):
        dump, check = preview(version, instance, "backup", run_parameters=given)
        assert f"/backups/{name}.sql" in str(dump.shown.object)
        assert f"'mariadb-check', '{name}'" in str(check.shown.object)
        assert check.when == ("runParams.verify",)
