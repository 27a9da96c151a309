"""Where objects are on record."""

from kubeio.resource import Resource
from kudo.objects.inventory.record import Place


def place_of(resource: Resource, namespace: str | None, name: str) -> Place:
    """Return the place of an object, whatever the version of its kind.

    Args:
        resource: Its kind.
        namespace: Of the object; it does not count if its kind has none.
        name: Of the object.
    """
    where = namespace if resource.namespaced else None
    return Place(resource.group, resource.kind, where or "", name)
