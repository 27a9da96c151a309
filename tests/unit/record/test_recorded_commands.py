"""Each command of `kubectl kudo` prints, returns and writes what the record says."""

import pytest

from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.command import Group
from tests.unit.record.commands.subject import recorded
from tests.unit.record.comparing import assert_complete, assert_recorded
from tests.unit.record.subjects import on_disk, written


@pytest.fixture(scope="module", autouse=True)
def _all() -> None:
    """Run all commands: together they take longer than one test may."""
    written("commands")


@pytest.mark.parametrize("name", on_disk("commands"))
def test_a_command_is_as_recorded(name: str) -> None:
    assert_recorded(name)


def test_no_file_is_missing() -> None:
    assert_complete("commands")


def test_every_command_is_recorded() -> None:
    assert recorded() == {"kudo", *_names(ROOT)}


def _names(group: Group) -> set[str]:
    found: set[str] = set()
    for word in group.members:
        member = group.member(word)
        found |= _names(member) if isinstance(member, Group) else {member.name}
    return found
