"""Where a cluster-scoped object is on record."""

from kubeio.resource import Resource
from kudo.objects.inventory.record import Place


def recorded(resource: Resource, name: str) -> Place:
    """Return the place of a cluster-scoped object, whatever the version of its kind."""
    return Place(resource.group, resource.kind, "", name)
