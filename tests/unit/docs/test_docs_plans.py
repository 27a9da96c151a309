"""The packages of docs/plans.md are whole, valid, short, and do what the page says."""

from pathlib import Path

import pytest

from kudo.authoring.preview import preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.tasks.job.outputs import outputs_of
from kudo.tasks.rendering import render_objects, variables
from kudo.verification import verify
from tests.support.pages import sections

LINES = {"Job": 20, "Outputs": 20, "Parameters of a run": 25}
"""The most lines of the package in each section."""
WRITTEN = '{"file": "db.sql", "bytes": "31"}'


def written(section: str, folder: Path) -> Path:
    """Write the package of a section below a folder; return its own."""
    blocks = [block for block in sections("plans.md")[section] if block.path]
    for block in blocks:
        block.write(folder)
    assert sum(len(block.text.splitlines()) for block in blocks) <= LINES[section]
    return folder / "db"


@pytest.mark.parametrize("section", LINES)
def test_it_is_short_and_valid(section: str, tmp_path: Path) -> None:
    assert verify(read_package(written(section, tmp_path))) == ()


def test_the_job_runs_the_script_with_what_the_page_says(tmp_path: Path) -> None:
    package = written("Job", tmp_path)
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


def test_the_template_shows_what_the_script_has_written(tmp_path: Path) -> None:
    version = to_objects(read_package(written("Outputs", tmp_path)), "ns").operator_version
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


def test_tasks_use_what_a_run_is_given(tmp_path: Path) -> None:
    package = written("Parameters of a run", tmp_path)
    version = to_objects(read_package(package), "ns").operator_version
    assert version.plans["backup"].required_parameters == ("name",)
    instance = preview_instance(version, "shop", "ns", {})
    for given, name in (({"name": "monday"}, "monday"), ({}, "<run.name>")):
        dump, check = preview(version, instance, "backup", run_parameters=given)
        assert f"/backups/{name}.sql" in str(dump.shown.object)
        assert f"'mariadb-check', '{name}'" in str(check.shown.object)
        assert check.when == ("runParams.verify",)
