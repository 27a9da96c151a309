"""Properties that are computed once."""

from dataclasses import dataclass, field

from kudo.admission.change import computed


@dataclass(frozen=True)
class Sum:
    """Adds its numbers up, and counts how often."""

    numbers: list[int]
    calls: list[int] = field(default_factory=list)

    @computed
    def total(self) -> int:
        """The sum."""
        self.calls.append(1)
        return sum(self.numbers)


def test_a_value_is_computed_at_its_first_use_and_kept() -> None:
    found = Sum([1, 2])
    assert found.calls == []
    assert (found.total, found.total) == (3, 3)
    assert found.calls == [1]


def test_every_object_has_its_own_value() -> None:
    assert (Sum([1]).total, Sum([2]).total) == (1, 2)


def test_the_class_has_the_property_with_its_docstring() -> None:
    assert Sum.total.__doc__ == "The sum."
