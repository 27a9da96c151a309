"""Runs leave the events, conditions and requests that the record says."""

import pytest

from tests.unit.record.comparing import assert_complete, assert_recorded
from tests.unit.record.subjects import on_disk


@pytest.mark.parametrize("name", on_disk("runs"))
def test_a_run_is_as_recorded(name: str) -> None:
    assert_recorded(name)


def test_no_file_is_missing() -> None:
    assert_complete("runs")
