"""Each kind of task has a page with a package that is whole, valid and short."""

from pathlib import Path

import pytest

from kudo.api.task_kinds.kinds import KINDS
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.verification import verify
from tests.support.pages import ROOT, Block, blocks

TASKS = ROOT / "docs" / "tasks"
PAGES = {kind: kind.lower() for kind in KINDS} | {"KudoOperator": "kudo-operator"}
EACH = pytest.mark.parametrize("kind", PAGES)


def files(kind: str) -> list[Block]:
    return [block for block in blocks(f"tasks/{PAGES[kind]}.md") if block.path]


def test_every_kind_has_a_page_and_the_other_way_round() -> None:
    assert {page.stem for page in TASKS.glob("*.md")} == {*PAGES.values(), "README"}
    index = (TASKS / "README.md").read_text()
    assert all(f"| [{kind}]({page}.md) |" in index for kind, page in PAGES.items())


@EACH
def test_the_package_of_a_page_is_short(kind: str) -> None:
    assert sum(len(block.text.splitlines()) for block in files(kind)) <= 20


@EACH
def test_the_package_of_a_page_is_valid_and_runs_such_a_task(kind: str, tmp_path: Path) -> None:
    for block in files(kind):
        block.write(tmp_path)
    [folder] = tmp_path.iterdir()
    package = read_package(folder)
    assert [str(finding.problem) for finding in verify(package)] == []
    version = to_objects(package, "ns").operator_version
    assert kind in {task.kind for task in version.spec.tasks or ()}
