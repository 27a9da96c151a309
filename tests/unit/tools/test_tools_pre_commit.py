"""What runs before a commit is what `make lint` runs."""

import re
from typing import Any

import yaml

from tools.layout import ROOT


def test_the_hooks_are_the_commands_of_make_lint() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().removeprefix("@") for line in recipe[1].splitlines()]
    assert [hook["entry"] for hook in hooks()] == [
        command.replace("$(BIN)", ".venv/bin") for command in commands
    ]


def test_the_hooks_look_at_everything_and_fetch_nothing() -> None:
    for hook in hooks():
        assert hook["language"] == "system"
        assert hook["always_run"]
        assert not hook["pass_filenames"]


def hooks() -> list[dict[str, Any]]:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    found: list[dict[str, Any]] = config["repos"][0]["hooks"]
    return found
