"""Keeps full garbage collections short, however much is cached.

A full collection visits every live container, on the thread that happens to allocate: it blocks the
event loop for some 40 ms for each 100,000 containers, which is a cache of a few thousand objects.
Nearly all of them stay alive, and are freed by reference counts. So the containers that survive a
full collection are left out of the next ones (`gc.freeze`) until their number has doubled.
"""

import gc
from typing import Final, Literal

_FULL: Final = 2
"""Number of the oldest generation."""
_THRESHOLDS: Final = (2000, 1, 1)
"""Python's are (700, 10, 10). With 700 new containers, most of what a collection of the youngest
looks at belongs to requests in progress and is in use. Full collections come every 8,000
containers, so that one takes 5 to 10 ms: each looks only at what is new since the last one."""
_MOST: Final = 500_000
"""Containers that may be kept out of full collections before all are looked at once more, at
least; services have about 60,000 after their start, and an Instance with as many objects as it may
have takes 60,000 while it runs. That one collection blocks the loop for some 300 ms."""


def keep_collections_short() -> None:
    """Make full collections of this process look at what is new since the last one.

    Call once the process has imported what it needs.
    """
    gc.set_threshold(*_THRESHOLDS)
    gc.collect()
    gc.freeze()
    gc.callbacks.append(_Freezer())


class _Freezer:
    """Called by Python before and after each collection."""

    def __init__(self) -> None:
        self._most = _MOST
        self._frozen = gc.get_freeze_count()

    def __call__(self, phase: Literal["start", "stop"], info: dict[str, int]) -> None:
        if phase == "start" or info["generation"] < _FULL:
            return
        # Counting what is frozen visits all of it, so that is done only when the limit seems to be
        # reached: until then what was freed counts too.
        self._frozen += len(gc.get_objects(_FULL))
        gc.freeze()
        if self._frozen <= self._most:
            return
        self._frozen = gc.get_freeze_count()
        if self._frozen > self._most:
            # Cycles among them would never be found otherwise. The next limit is twice as many, so
            # that a cache that grows is looked at once for each time that it doubles.
            self._most = 2 * self._frozen
            self._frozen = 0
            gc.unfreeze()
