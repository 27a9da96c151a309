"""The package with a Job task of docs/plans.md is whole, valid and short."""

from pathlib import Path

import pytest

from kudo.authoring.preview import preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.verification import verify
from tests.support.pages import sections

BLOCKS = [block for block in sections("plans.md")["Job"] if block.path]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for block in BLOCKS:
        block.write(tmp_path)
    return tmp_path / "db"


def test_it_is_short() -> None:
    assert sum(len(block.text.splitlines()) for block in BLOCKS) <= 20


def test_it_is_valid(package: Path) -> None:
    assert verify(read_package(package)) == ()


def test_its_job_runs_the_script_with_what_the_page_says(package: Path) -> None:
    version = to_objects(read_package(package), "ns").operator_version
    instance = preview_instance(version, "shop", "ns", {"IMAGE": "schema:1"})
    [item] = preview(version, instance, "deploy")
    assert item.shown.object is not None
    pod = item.shown.object["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["image"] == "schema:1"
    assert container["command"][2:] == [
        'set -eu\nmariadb --host shop --user root --password="$PASSWORD" <"/schema/$1.sql"\n',
        "scripts/migrate.sh",
        "latest",
    ]
    assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "shop-root"
    assert pod["volumes"][0] == {"name": "schema", "configMap": {"name": "shop-schema"}}
