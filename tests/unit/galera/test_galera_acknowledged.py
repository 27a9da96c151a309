"""Acknowledged rows on disk, and the time between them."""

from pathlib import Path

import pytest

from tests.galera.acknowledged import Acknowledgement, Notes, longest_gap, read


def test_what_was_noted_is_read_while_more_is_written(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    assert read(path) == []
    first, second = Acknowledgement(1, 10.5), Acknowledgement(2, 10.75)
    with Notes(path) as notes:
        notes.add(first)
        assert read(path) == [first]
        notes.add(second)
    assert read(path) == [first, second]


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text("1 10.500000\n2 10.7")
    assert read(path) == [Acknowledgement(1, 10.5)]


@pytest.mark.parametrize(
    ("start", "end", "gap"), [(0, 30, 10), (10, 12, 1), (13, 20, 7), (6, 8, 2), (21, 24, 3)]
)
def test_the_longest_gap_is_that_of_the_time_that_is_asked_for(
    start: float, end: float, gap: float
) -> None:
    found = [Acknowledgement(number, time) for number, time in enumerate((8, 10, 11, 12, 20))]
    assert longest_gap(found, start, end) == gap
