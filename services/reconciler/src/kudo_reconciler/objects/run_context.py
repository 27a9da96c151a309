"""The interface to the run for which objects are written, and the keys of its objects.

Tasks are in `execution`, above this package, which uses them only by this protocol.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kubeio.client import Client
from kubeio.resource import Resource
from kudo.api import Instance, JsonObject
from kudo.objects.inventory import record
from kudo.objects.inventory.record import Place
from kudo.tasks.rendering import Manifest
from kudo_reconciler.common.errors import Superseded, Suspended
from kudo_reconciler.events.queue import Severity

ObjectKey = tuple[Resource, str | None, str]
"""Kind, namespace and name of an object; `Place` is the same on record, for any version."""
Tell = Callable[[Severity, str, str], None]
"""Writes an event of a run: severity, reason, message."""


class Answer(NamedTuple):
    """What the answer to an apply says of an object.

    Attributes:
        uid: Of the object.
        adopted: Whether it existed before and holds data, so that it stays with its Instance gone.
    """

    uid: str
    adopted: bool


class RunContext(Protocol):
    """The run of an Instance that an object is resolved, hashed and applied for."""

    @property
    def instance(self) -> Instance:
        """Return the Instance as it was when the reconcile began."""

    @property
    def client(self) -> Client:
        """Return the client with the identity that reads and writes the Instance's objects."""

    @property
    def is_current(self) -> Callable[[], bool]:
        """Return a function that reports whether the Instance still names the run."""

    @property
    def is_suspended(self) -> Callable[[], bool]:
        """Return a function that reports whether the Instance is suspended."""

    @property
    def tell(self) -> Tell:
        """Return the function that writes an event."""

    @property
    def seen(self) -> set[ObjectKey]:
        """Return the objects that existed when the run applied them, or that it created."""

    @property
    def is_first_run(self) -> bool:
        """Return whether nothing was ever applied for the Instance before the run."""

    @property
    def answers(self) -> dict[record.Place, Answer]:
        """Return what is known of the objects that the run has applied."""

    @property
    def recorded(self) -> set[record.Place]:
        """Return the objects that the run has put on record."""

    def is_confidential(self, manifest: Manifest) -> bool:
        """Return whether an object may have the value of a secret parameter."""

    async def digest(self, obj: JsonObject, *, live: bool, confidential: bool = False) -> bytes:
        """Return the 16-byte digest of the content of a ConfigMap or Secret.

        Args:
            obj: The object; its kind must be present.
            live: Whether it was read from the cluster.
            confidential: Whether it may have the value of a secret parameter.

        Raises:
            FatalTaskError: it exceeds a limit.
            TransientTaskError: no worker process was available.
        """


def check_may_write(context: RunContext) -> None:
    """Check that something may be sent for the run; called right before each write.

    Raises:
        Superseded: the Instance no longer names the run.
        Suspended: the Instance is suspended.
    """
    if not context.is_current():
        raise Superseded
    if context.is_suspended():
        raise Suspended


def place_of(resource: Resource, namespace: str | None, name: str) -> Place:
    """Return the place of an object, whatever the version of its kind.

    Args:
        resource: Its kind.
        namespace: Of the object; it does not count if its kind has none.
        name: Of the object.
    """
    where = namespace if resource.namespaced else None
    return Place(resource.group, resource.kind, where or "", name)
