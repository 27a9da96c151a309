"""Both versions of examples/lifecycle: what their README promises of parameters, pages and scripts.

That the plans do it on a cluster is shown by the suites of the package.
"""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.reader import read_package
from kudo.tasks.rendering import render_objects, variables

LIFECYCLE = Path(__file__).parents[4] / "examples" / "lifecycle"
VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


def guestbook(version: str) -> PackageObjects:
    return to_objects(read_package(LIFECYCLE / version), "default")


def files(version: str, template: str, **parameters: str) -> dict[str, str]:
    """Return the files in the ConfigMap of a template."""
    objects = guestbook(version)
    spec = objects.instance.spec.model_copy(update={"parameters": parameters})
    instance = objects.instance.model_copy(update={"spec": spec})
    templates = objects.operator_version.spec.templates or {}
    values = variables(
        instance, objects.operator_version, plan="deploy", phase="prepare", step="pages"
    )
    [found] = render_objects((template,), templates, values.read())
    return {str(name): str(text) for name, text in found.object["data"].items()}


@VERSIONS
def test_the_topics_are_on_the_page_one_by_one(version: str) -> None:
    page = files(version, "front-files.yaml", topics="[Complaints, R&D]")["index.html"]

    assert re.findall("<option>(.*)</option>", page) == ["Complaints", "R&amp;D"]


@VERSIONS
def test_a_closed_book_cannot_be_signed(version: str) -> None:
    assert "<form" in files(version, "front-files.yaml")["index.html"]
    assert "<form" not in files(version, "front-files.yaml", signing="closed")["index.html"]


def test_the_migration_gives_each_entry_one_date(tmp_path: Path) -> None:
    ask("v1", "sign", tmp_path, query="topic=Praise&text=First")
    ask("v2", "migrate", tmp_path)
    ask("v2", "sign", tmp_path, query="topic=Praise&text=" + "x" * 300)
    ask("v2", "migrate", tmp_path)

    book = ask("v2", "book", tmp_path)

    first, second = book.removeprefix("Content-Type: text/plain\n\n").splitlines()
    assert first == "topic=Praise&text=First&date=unknown"
    assert re.fullmatch(r"topic=Praise&text=x{182}&date=\d{4}-\d\d-\d\d", second)


@pytest.mark.parametrize(
    ("book", "entries", "broken"),
    [
        ("", "0", "0"),
        ("topic=Praise&text=First\n", "1", "0"),
        ("topic=Praise&text=First\nscrawl\ntopic=&text=&date=1\nx&topic=&text=\n", "4", "2"),
    ],
)
def test_the_store_answers_with_what_the_task_hands_on(
    tmp_path: Path, book: str, entries: str, broken: str
) -> None:
    (tmp_path / "book").write_text(book)
    outputs = json.loads(ask("v2", "migrate", tmp_path).partition("\n\n")[2])
    at = outputs.pop("at")
    assert outputs == {"entries": entries, "broken": broken}
    assert abs(int(at) - time.time()) < 60

    tasks = {task.name: task for task in guestbook("v2").operator_version.spec.tasks or ()}
    job = tasks["mend"].spec.job
    assert job is not None
    assert {*(job.outputs or ())} == {"at", *outputs}


@pytest.mark.parametrize(("migrated", "code"), [("1", 0), ("2", 0), ("3", 1)])
def test_a_front_that_shows_fewer_entries_than_were_migrated_fails(
    tmp_path: Path, migrated: str, code: int
) -> None:
    wget = tmp_path / "wget"
    wget.write_text("#!/bin/sh\nprintf 'one\\ntwo\\n'\n")
    wget.chmod(0o755)
    said = tmp_path / "said"
    script = (LIFECYCLE / "v2" / "scripts" / "count.sh").read_text()
    script = script.replace("/dev/termination-log", str(said))
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", script, "count.sh", migrated], env={"PATH": path})
    assert done.returncode == code
    assert said.exists() == bool(code)
    if code:
        assert said.read_text() == "the front shows 2 of 3 entries\n"


def test_the_runbook_fits_on_a_page() -> None:
    text = (LIFECYCLE / "v2" / "operator.yaml").read_text()
    _, _, rest = text.partition("\n  repair:\n")
    repair, _, _ = rest.partition("\n\n")
    lines = ["  repair:", *repair.splitlines()]
    assert all(line.startswith("    ") for line in lines[1:])
    assert len(lines) <= 25
    kinds = re.findall(r"(check|job|delete|when|tasks):", repair)
    assert kinds == ["delete", "check", "job", "when", "check", "tasks"]


def ask(version: str, script: str, data: Path, *, query: str = "") -> str:
    """Run a script of the store here, as its web server would, on data of our own."""
    text = files(version, "store-files.yaml")[script].replace("/data/", f"{data}/")
    done = subprocess.run(
        ["sh", "-ec", text],
        env={**os.environ, "QUERY_STRING": query},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
