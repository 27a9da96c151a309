"""`kubectl explain` of KUDO's kinds: which flags of the command line its texts name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goyaml import load
from tests.unit.cli.conftest import Cli

CRDS = Path(__file__).parents[3] / "crds"
_FLAG = re.compile(r"--[a-z][-a-z]*")
_COMMAND = re.compile(r"`([a-z][-a-z ]*?) (--[a-z][-a-z]*)`")


def descriptions(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                yield value
            else:
                yield from descriptions(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from descriptions(value)


@pytest.mark.parametrize("path", sorted(CRDS.iterdir()), ids=lambda path: path.stem)
def test_descriptions_name_only_flags_that_exist(run: Cli, path: Path) -> None:
    for text in descriptions(load(path.read_bytes())):
        commands = _COMMAND.findall(text)
        # A flag stands with its command in backquotes, so that it can be looked for.
        assert [flag for _, flag in commands] == _FLAG.findall(text)
        for command, flag in commands:
            assert f"{flag} " in run(*command.split(), "--help").out.replace("\n", " ")


def test_there_is_a_flag_to_look_for() -> None:
    # Else the test above would pass whatever it looks for.
    texts = [*descriptions(load((CRDS / "operators.yaml").read_bytes()))]
    assert any("install --create-namespace" in text for text in texts)
