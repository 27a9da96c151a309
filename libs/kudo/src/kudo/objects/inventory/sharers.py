"""The annotation `kudo.dev/shared-by` of objects that any number of Instances share.

It lists every sharer as long as they are few. From then on the Inventories tell who shares the
object, and the annotation that there are many. It names the last one that began to share, so
that each share changes the object, and with it the resourceVersion: a delayed deletion of a former
leader then fails.

It still lists some of them. An older release reads the list alone, so it keeps the object for them,
and adds to the list whoever applies the object.
"""

from collections.abc import Collection, Iterable

from kudo.identity import InstanceIdentity
from kudo.objects.sharing import MANY, MOST_NAMED, shared_by


def annotation(
    sharers: Collection[InstanceIdentity],
    last: InstanceIdentity,
    listed: Iterable[InstanceIdentity] = (),
    *,
    many: bool = False,
) -> str:
    """Return the value of the annotation.

    Args:
        sharers: All that share the object; if they are many, some more than `MOST_NAMED` suffice.
        last: The one that is about to, or was the last; it need not be among them.
        listed: Those that are listed if not all are.
        many: Whether there may be more than `sharers`.
    """
    everybody = {*sharers, last}
    if len(everybody) <= MOST_NAMED and not many:
        return shared_by(everybody)
    # Without slashes: an older release must not read a sharer in it.
    head = f"{MANY}{last.namespace} {last.name} {last.uid}"
    listing = shared_by(listed)
    return f"{head},{listing}" if listing else head
