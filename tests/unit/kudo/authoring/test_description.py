"""The reference of a package in Markdown: what it says of people and of parameters."""

from pathlib import Path

from kudo.authoring.description import package_markdown
from kudo.packages.reader import read_package

OPERATOR = """\
name: web
operatorVersion: 0.1.0
kubernetesVersion: 1.25.0
maintainers: [{name: Ann, email: ann@example.org}, {name: Bob}, {email: eve@example.org}]
plans: {deploy: {phases: []}}
"""
PARAMETERS = """\
parameters:
  - {name: size, displayName: Size, description: How large., hint: In bytes., type: integer}
  - {name: note, default: "a\\n```\\nb\\n"}
"""


def reference(folder: Path) -> str:
    (folder / "operator.yaml").write_text(OPERATOR)
    (folder / "params.yaml").write_text(PARAMETERS)
    return package_markdown(read_package(folder))


def test_maintainers_are_named_one_after_the_other(tmp_path: Path) -> None:
    row = "| Maintainers | Ann &lt;ann@example.org>, Bob, eve@example.org |"
    assert row in reference(tmp_path).splitlines()


def test_a_parameter_shows_its_name_for_people_its_description_and_its_hint(tmp_path: Path) -> None:
    row = "| `size` | **Size** How large. *In bytes.* | integer |  | yes | `deploy` |"
    assert row in reference(tmp_path).splitlines()


def test_a_long_default_stands_below_in_a_fence_longer_than_those_in_it(tmp_path: Path) -> None:
    assert "Default of `note`:\n\n````yaml\na\n```\nb\n````\n" in reference(tmp_path)
