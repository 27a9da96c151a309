"""Which names objects can have, as `IsDNS1123Subdomain` of the API server has it."""

import pytest

from kudo.dns1123 import MAX_SUBDOMAIN, is_subdomain


@pytest.mark.parametrize("name", ["a", "0", "kafka-0.1.0", "a.b.c", "a--b", "x" * MAX_SUBDOMAIN])
def test_a_name_of_labels_with_dots_between_is_a_subdomain(name: str) -> None:
    assert is_subdomain(name)


@pytest.mark.parametrize(
    "name",
    ["", "A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b", "é", "a\n", "../a", "a/b"],
)
def test_a_name_with_another_character_or_a_label_that_ends_with_a_hyphen_is_none(
    name: str,
) -> None:
    assert not is_subdomain(name)


def test_only_the_whole_has_a_greatest_length() -> None:
    assert is_subdomain(f"{'a' * 200}.b")
    assert not is_subdomain("a" * (MAX_SUBDOMAIN + 1))
