"""The Dockerfile keeps its promises: a base of one's choice, no address, no right too many."""

import re

import pytest
import yaml

from tools.images.__main__ import TARGETS
from tools.images.version import ROOT, current

_TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
_INSTRUCTIONS = re.sub(
    r"\\\n\s*", "", re.sub(r"^#.*\n", "", _TEXT, flags=re.MULTILINE)
).splitlines()


def stages() -> dict[str, str]:
    found = (re.fullmatch(r"FROM (\S+) AS (\S+)", line) for line in _INSTRUCTIONS)
    return {match[2]: match[1] for match in found if match}


def test_every_base_is_the_chosen_one_or_a_stage() -> None:
    assert "ARG PYTHON_IMAGE=python:3.13-slim" in _INSTRUCTIONS
    assert set(stages().values()) - set(stages()) == {"${PYTHON_IMAGE}", "scratch"}


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_is_made_on_the_stripped_root_which_names_the_user(target: str) -> None:
    assert stages()[target] == "runtime"
    assert stages()["runtime"] == "scratch"
    assert "USER 65532:65532" in _INSTRUCTIONS


def test_packages_are_installed_by_hash_or_from_our_own_wheels() -> None:
    installs = [
        i for i in _INSTRUCTIONS if i.startswith("RUN") and ("$FILL" in i or " install" in i)
    ]
    assert len(installs) == 7
    assert all("--require-hashes" in i or "--no-index" in i for i in installs)


def test_settings_of_pip_come_as_secrets_only() -> None:
    fetching = [i for i in _INSTRUCTIONS if "--require-hashes" in i]
    assert len(fetching) == 4
    assert all("--mount=type=secret,id=pip-conf,target=/etc/pip.conf" in i for i in fetching)
    assert not re.search(r"https?://|index-url|trusted-host", "\n".join(_INSTRUCTIONS))


def test_the_version_of_the_labels_is_that_of_the_packages() -> None:
    assert f"ARG VERSION={current().number}" in _INSTRUCTIONS


def test_the_tag_that_the_chart_asks_for_is_the_one_that_is_built() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "kudo" / "Chart.yaml").read_text())
    assert str(chart["appVersion"]) == current().number


def test_the_build_sees_named_directories_and_nothing_else() -> None:
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    assert rules[0] == "*"
    sources = {rule[1:].split("/")[0] for rule in rules if rule.startswith("!")}
    copied = {m[1].split("/")[0] for i in _INSTRUCTIONS if (m := re.match(r"COPY ([\w.]\S*)", i))}
    assert sources == copied
