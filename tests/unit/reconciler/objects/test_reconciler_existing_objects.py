"""Which objects of unwatched kinds are known to exist."""

from dataclasses import replace

from kubeio.resource import CONFIG_MAPS, SECRETS
from kudo_reconciler.objects.cached_objects import ExistingObjects
from kudo_reconciler.objects.run_context import ObjectKey


def place(name: str) -> ObjectKey:
    return CONFIG_MAPS, "ns", name


def test_a_place_is_known_until_it_is_discarded() -> None:
    known = ExistingObjects()
    known.add(place("a"))
    assert place("a") in known
    assert (SECRETS, "ns", "a") not in known
    assert (CONFIG_MAPS, "other", "a") not in known
    known.discard(place("a"))
    known.discard(place("b"))
    assert place("a") not in known


def test_the_version_in_which_a_kind_is_served_does_not_matter() -> None:
    known = ExistingObjects()
    known.add(place("a"))
    discovered = replace(CONFIG_MAPS, version="v2", verbs=frozenset({"get"}))
    assert (discovered, "ns", "a") in known


def test_places_are_bounded_and_the_oldest_goes_first() -> None:
    known = ExistingObjects(most=2)
    for name in ("a", "b", "a", "c"):
        known.add(place(name))
    assert len(known) == 2
    assert [name for name in "abc" if place(name) in known] == ["a", "c"]
