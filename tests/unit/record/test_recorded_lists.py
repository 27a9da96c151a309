"""Reasons, codes, metrics, CRDs and the objects of the chart are those of the record."""

import pytest

from tests.unit.record.comparing import assert_complete, assert_recorded
from tests.unit.record.subjects import on_disk


@pytest.mark.parametrize("name", on_disk("lists"))
def test_a_list_is_as_recorded(name: str) -> None:
    assert_recorded(name)


def test_no_file_is_missing() -> None:
    assert_complete("lists")
