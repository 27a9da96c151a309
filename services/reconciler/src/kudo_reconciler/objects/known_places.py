"""Objects of kinds that are not watched, and that this process knows to exist.

It is a hint that saves a request, and nothing is decided by it: the object of a place in it is read
before it is applied, and one that is not is created, which the API server refuses if it exists.
"""

from collections import OrderedDict
from typing import Final

from kudo_reconciler.objects.run_context import Place

MOST: Final = 10_000
"""Places: about 5 MB. What is forgotten costs a request that is refused."""
_Place = tuple[str, str, str, str]


class KnownPlaces:
    """The places of the objects that were applied or read last.

    Args:
        most: How many are remembered.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._places: OrderedDict[_Place, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, place: Place) -> bool:
        return _shortened(place) in self._places

    def add(self, place: Place) -> None:
        key = _shortened(place)
        self._places[key] = None
        self._places.move_to_end(key)
        if len(self._places) > self._most:
            self._places.popitem(last=False)

    def discard(self, place: Place) -> None:
        self._places.pop(_shortened(place), None)


def _shortened(place: Place) -> _Place:
    """Return a key that does not depend on the version in which a kind is served."""
    resource, namespace, name = place
    return resource.group, resource.plural, namespace or "", name
