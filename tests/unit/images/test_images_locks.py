"""What is delivered is pinned: every image has a lock of its own, in the versions of dev.txt."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.images.version import ROOT

_REQUIREMENTS = ROOT / "requirements"
_PROJECTS = {"webhook": "kudo-webhook", "reconciler": "kudo-reconciler", "cli": "kubectl-kudo"}


def projects() -> dict[str, dict[str, Any]]:
    paths = [*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml")]
    read = [tomllib.loads(p.read_text())["project"] for p in (*paths, ROOT / "cli/pyproject.toml")]
    return {project["name"]: project for project in read}


def third_party(name: str) -> set[str]:
    """Follow our own packages, extras included, down to what others make."""
    ours, found, waiting = projects(), set(), [(name, "")]
    while waiting:
        project, extra = waiting.pop()
        optional = ours[project].get("optional-dependencies", {})
        for needed in [*ours[project]["dependencies"], *optional.get(extra, [])]:
            match = re.fullmatch(r"([\w.-]+)(?:\[(\w+)\])?", needed)
            assert match, f"{project} needs {needed}: versions belong into the locks"
            if match[1] in ours:
                waiting.append((match[1], match[2] or ""))
            else:
                found.add(match[1].lower())
    return found


def named(path: Path) -> set[str]:
    lines = path.read_text().splitlines()
    return {line.lower() for line in lines if line and not line.startswith("#")}


def pins(path: Path) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Give name, version with its marker, and hashes of each requirement."""
    for block in re.split(r"\n(?=\S)", path.read_text()):
        match = re.match(r"([\w.-]+)==(\S+(?: ; [^\\]+)?) \\", block)
        if match:
            yield match[1], match[2].strip(), frozenset(re.findall(r"sha256:\w{64}", block))


@pytest.mark.parametrize("image", _PROJECTS)
def test_an_image_gets_what_our_packages_in_it_depend_on_and_no_more(image: str) -> None:
    assert named(_REQUIREMENTS / f"{image}.in") == third_party(_PROJECTS[image])


@pytest.mark.parametrize("image", _PROJECTS)
def test_an_image_has_the_versions_that_the_tests_ran_with(image: str) -> None:
    tested = set(pins(_REQUIREMENTS / "dev.txt"))
    assert {pin[:2] for pin in pins(_REQUIREMENTS / f"{image}.txt")} <= {p[:2] for p in tested}


@pytest.mark.parametrize("name", [*_PROJECTS, "build", "docs"])
def test_a_lock_holds_what_was_asked_for_with_hashes_and_no_address(name: str) -> None:
    path = _REQUIREMENTS / f"{name}.txt"
    locked = {pin[0]: pin[2] for pin in pins(path)}
    assert named(_REQUIREMENTS / f"{name}.in") <= set(locked)
    assert all(locked.values())
    assert "://" not in path.read_text()


def test_tools_for_building_reach_no_image() -> None:
    tools = {pin[0] for pin in pins(_REQUIREMENTS / "build.txt")} - {"click"}
    for image in _PROJECTS:
        assert not tools & {pin[0] for pin in pins(_REQUIREMENTS / f"{image}.txt")}
