"""How far informers have come, for tests that wait for that."""

from kubeio.cache.informer import Informer


def reached(informer: Informer) -> int:
    """Return the resourceVersion of the last event or bookmark that an informer has taken."""
    return informer._store.highest
