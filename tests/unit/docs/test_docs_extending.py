"""What docs/extending.md shows can be applied to the sources, works, and is written as they are."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.docs.examples import examples
from tests.unit.docs.pages import ROOT

EXAMPLES = examples((ROOT / "docs" / "extending.md").read_text())
COPIED = ("libs", "services", "cli", "tools", "tests")
LEFT_OUT = shutil.ignore_patterns("golden", "integration", "e2e", "chart", "bench", "faults")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the sources, with the bytecode that is there."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=LEFT_OUT)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(tree: Path, *argv: str) -> None:
    """Run Python with the packages of the tree.

    Raises:
        AssertionError: it fails; with what it printed.
    """
    sources = [str(path) for pattern in ("*/*/src", "*/src") for path in tree.glob(pattern)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sources)}
    done = subprocess.run(
        [sys.executable, *argv], cwd=tree, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_worked_examples_work(tree: Path) -> None:
    tests = []
    for example in EXAMPLES:
        example.apply(tree)
        (command,) = example.commands
        words = shlex.split(command)
        assert words[:5] == [".venv/bin/python", "-m", "pytest", "-q", "-n0"]
        tests += words[5:]
    run(tree, "-m", "pytest", "-q", "-n0", *tests)
    sources = [path for of in EXAMPLES for path in of.paths if path.endswith(".py")]
    run(tree, "-m", "ruff", "check", "--no-cache", *sources)
    run(tree, "-m", "ruff", "format", "--no-cache", "--check", *sources)


def test_there_is_an_example_of_each_thing() -> None:
    assert [example.title for example in EXAMPLES] == [
        "A health rule",
        "An admission rule",
        "A command",
        "A kind of task",
        "A kind of task with a field of its own",
        "A control of an Instance",
    ]


PAGE = """\
# Page
## Something new
```python title="new.py"
ONE = 1
```
```diff title="old.py"
 a
-b
+c
@@
 x
+y
```
```sh
.venv/bin/python new.py
```
## Words
Nothing to apply.
"""


def test_files_and_diffs_are_applied_by_the_lines_around_them(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("a\nb\nx\nz\n")
    (example,) = examples(PAGE)
    example.apply(tmp_path)
    assert (tmp_path / "new.py").read_text() == "ONE = 1\n"
    assert (tmp_path / "old.py").read_text() == "a\nc\nx\ny\nz\n"
    assert example.commands == [".venv/bin/python new.py"]


@pytest.mark.parametrize("old", ["a\nB\nx\n", "a\nb\nx\na\nb\n"])
def test_lines_that_are_gone_or_stand_there_twice_are_told(tmp_path: Path, old: str) -> None:
    (tmp_path / "old.py").write_text(old)
    (example,) = examples(PAGE)
    with pytest.raises(ValueError, match=r"old\.py has these lines [02] times"):
        example.apply(tmp_path)


def test_a_new_file_that_exists_is_told(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("")
    (example,) = examples(PAGE)
    with pytest.raises(ValueError, match=r"new\.py exists already"):
        example.apply(tmp_path)
