"""The public API of goyaml, as its README describes it."""

import re
from pathlib import Path

import goyaml

_README = (Path(__file__).parents[3] / "libs" / "goyaml" / "README.md").read_text()
_EXAMPLES = re.findall(r"^(\w.*?)  # (.+)$", _README, re.MULTILINE)


def test_the_readme_names_all_that_is_exported() -> None:
    table = {line for line in _README.splitlines() if line.startswith("| `")}
    named = {name for line in table for name in re.findall(r"`(\w+)", line.split("|")[1])}

    assert named == set(goyaml.__all__)


def test_the_readme_has_examples() -> None:
    assert len(_EXAMPLES) == 2


def test_an_example_of_the_readme_gives_what_it_says() -> None:
    for expression, expected in _EXAMPLES:
        assert (
            repr(eval(expression, {name: getattr(goyaml, name) for name in goyaml.__all__}))
            == expected
        )
