"""Writes that hold only while an object is as it was read: which failures mean that it is not."""

import pytest

from kubeio.errors import ApiError, Conflict, Forbidden, Invalid, NotFound
from kubeio.preconditions import ObjectChanged, unchanged
from kubeio.types import JsonObject

READ = "7"
FAILED_TESTS = (
    Conflict("the object has been modified", status=409),
    Invalid("the server rejected our request due to an error in our request", status=422),
    NotFound("not found", status=404),
)


class Stored:
    """The object as the API server has it, and how often it was read."""

    def __init__(self, version: str | None) -> None:
        self.version = version
        self.reads = 0

    async def read(self) -> JsonObject | None:
        self.reads += 1
        return None if self.version is None else {"metadata": {"resourceVersion": self.version}}


@pytest.mark.parametrize("error", FAILED_TESTS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("version", ["8", None])
async def test_a_write_that_failed_on_an_object_that_changed_or_is_gone_says_so(
    error: ApiError, version: str | None
) -> None:
    with pytest.raises(ObjectChanged) as caught:
        async with unchanged(READ, Stored(version).read):
            raise error
    assert caught.value.__cause__ is error
    assert caught.value.status == 409


@pytest.mark.parametrize("error", FAILED_TESTS, ids=lambda error: type(error).__name__)
async def test_a_write_that_failed_on_the_object_as_it_was_read_was_refused_itself(
    error: ApiError,
) -> None:
    with pytest.raises(type(error)) as caught:
        async with unchanged(READ, Stored(READ).read):
            raise error
    assert caught.value is error


async def test_any_other_failure_passes_without_another_request() -> None:
    stored = Stored("8")
    with pytest.raises(Forbidden):
        async with unchanged(READ, stored.read):
            raise Forbidden("no", status=403)
    assert stored.reads == 0


async def test_a_write_that_succeeds_costs_no_read() -> None:
    stored = Stored("8")
    async with unchanged(READ, stored.read):
        pass
    assert stored.reads == 0
