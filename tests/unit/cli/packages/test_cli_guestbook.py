"""Both versions of examples/lifecycle: what their README promises of parameters, pages and scripts.

That the plans do it on a cluster is shown by the suites of the package.
"""

import os
import re
import subprocess
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
