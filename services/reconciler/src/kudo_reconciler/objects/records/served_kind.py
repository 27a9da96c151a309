"""The kinds of entries on record, as the API server serves them now."""

from kubeio.discovery import Discovery
from kubeio.errors import UnknownKind
from kubeio.resource import Resource
from kudo.objects.inventory.record import Entry


async def served_kind(entry: Entry, discovery: Discovery) -> Resource | None:
    """Return the kind of an entry, in another version if that of the entry is not served any more.

    Returns:
        None if no version is served, or if the entry has a namespace and its kind has none, or the
        other way round.

    Raises:
        KubeError: discovery failed.
    """
    try:
        found = await discovery.resolve(entry.api_version, entry.place.kind)
    except UnknownKind:
        versions = await discovery.versions(entry.place.group, entry.place.kind)
        if not versions:
            return None
        found = versions[0]
    # Somebody may have written the entry by hand.
    return found if found.namespaced != entry.cluster_scoped else None
