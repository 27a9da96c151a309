"""Every example of docs/templates.md renders as the page says."""

import re
from collections.abc import Iterator, Mapping

import pytest

from kudo.authoring.preview import preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.files import PackageFiles
from kudo.packages.location import FolderLocation, Located
from kudo.packages.reader import parse_package
from kudo.packages.resolution import resolve
from kudo.tasks.rendering import render, variables
from tests.unit.docs.pages import ROOT

PAGE = (ROOT / "docs" / "templates.md").read_text()
_BLOCK = re.compile(r'^```yaml title="([^"]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\|.* `((?:[^`]|\\\|)*\{\{(?:[^`]|\\\|)*)` \| `([^`]*)` \|$", re.MULTILINE)
_COMMAND = re.compile(
    r"^kubectl kudo install .* --instance (\w+) --namespace (\w+) -p (\w+)=(\w+)$", re.MULTILINE
)


def blocks(title: str) -> list[str]:
    return [text for found, text in _BLOCK.findall(PAGE) if found == title]


def examples() -> Iterator[tuple[str, str]]:
    for template, rendered in _ROW.findall(PAGE):
        yield template.replace("\\|", "|"), rendered
    yield from zip(blocks("template"), blocks("rendered"), strict=True)


@pytest.fixture(scope="module")
def values() -> Mapping[str, object]:
    """Return what templates of step `servers` see in the installation of the page."""
    files = {name: blocks(name)[0].encode() for name in ("operator.yaml", "params.yaml")}
    files |= {f"templates/{name}.yaml": b"" for name in ("app", "generator")}
    package = parse_package(PackageFiles("web", files))
    command = _COMMAND.search(PAGE)
    assert command is not None
    name, namespace, parameter, value = command.groups()
    located = Located(package, FolderLocation(ROOT))
    version = to_objects(resolve(located, None).root, namespace).operator_version
    instance = preview_instance(version, name, namespace, {parameter: value})
    outputs = {"probe": {"zone": "north"}}
    place = {"plan": "deploy", "phase": "main", "step": "servers"}
    return variables(
        instance, version, **place, outputs=outputs, run_parameters={"note": "audit"}
    ).read()


@pytest.mark.parametrize(("template", "rendered"), [*examples()])
def test_an_example_renders_as_the_page_says(
    values: Mapping[str, object], template: str, rendered: str
) -> None:
    assert render("example", template, values) == rendered


def test_every_variable_has_an_example(values: Mapping[str, object]) -> None:
    rows = re.findall(r"^\| `\.(\w+)` \|.*", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(values)


def test_no_row_with_a_template_is_left_out() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "{{" in line]
    assert len(rows) == len(_ROW.findall(PAGE)) > 15
