"""Fields of files are read by the type and the default of their model."""

import pytest

from kudo.api.base import ApiModel
from kudo.api.problems import Problem
from kudo.packages.fields import Fields, read


class Limits(ApiModel):
    seconds: int | None = None
    priority: int = 7
    name: str = ""
    wanted: bool | None = None


def limits(found: dict[str, object]) -> tuple[Limits, list[Problem]]:
    problems: list[Problem] = []
    return read(Limits, Fields.of(found, "", "file.yaml", problems)), problems


@pytest.mark.parametrize("found", [{}, {"seconds": None, "priority": None}])
def test_an_absent_number_is_none_or_its_default(found: dict[str, object]) -> None:
    read_limits, problems = limits(found)
    assert (read_limits.seconds, read_limits.priority) == (None, 7)
    assert problems == []


def test_a_number_may_be_written_as_a_whole_float() -> None:
    assert limits({"seconds": 0, "priority": 2.0})[0].priority == 2
    assert limits({"seconds": 0})[0].seconds == 0


def test_what_is_no_number_is_a_problem() -> None:
    _, problems = limits({"seconds": "5", "priority": True})
    assert len(problems) == 2
