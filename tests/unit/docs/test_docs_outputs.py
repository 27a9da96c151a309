"""The package with outputs of docs/plans.md is whole, valid, short, and does what the page says."""

from pathlib import Path

import pytest

from kudo.authoring.preview import preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.tasks.job.outputs import outputs_of
from kudo.tasks.rendering import render_objects, variables
from kudo.verification import verify
from tests.support.pages import sections

BLOCKS = [block for block in sections("plans.md")["Outputs"] if block.path]
WRITTEN = '{"file": "db.sql", "bytes": "31"}'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for block in BLOCKS:
        block.write(tmp_path)
    return tmp_path / "db"


def test_it_is_short() -> None:
    assert sum(len(block.text.splitlines()) for block in BLOCKS) <= 20


def test_it_is_valid(package: Path) -> None:
    assert verify(read_package(package)) == ()


def test_its_template_shows_what_its_script_has_written(package: Path) -> None:
    version = to_objects(read_package(package), "ns").operator_version
    instance = preview_instance(version, "shop", "ns", {})
    job, note = preview(version, instance, "deploy")
    assert job.shown.object is not None
    assert note.shown.object is not None
    script = job.shown.object["spec"]["template"]["spec"]["containers"][0]["command"][2]
    assert WRITTEN.replace("31", "%s") in script
    assert note.shown.object["data"] == {"file": "<dump.file>"}
    outputs = {"dump": outputs_of(WRITTEN, version.outputs["dump"], 4096, "job")}
    place = {"plan": "deploy", "phase": "main", "step": "note"}
    values = variables(instance, version, **place, outputs=outputs, run_parameters=None).read()
    [made] = render_objects(["note.yaml"], version.spec.templates or {}, values)
    assert made.object["data"] == {"file": "db.sql"}
