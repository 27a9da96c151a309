"""Sends the writes of commands to the API server.

`dry_run` has the writes of `--dry-run=client` and `--dry-run=server`.
"""

from collections.abc import Sequence
from typing import Protocol

from kubectl_kudo.session.arguments import DRY_RUN_MODES, NONE, Args
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.kinds import FIELD_MANAGER
from kubectl_kudo.session.output import JsonObject, check_format
from kubeio.client import Client
from kubeio.resource import Resource


class Writes(Protocol):
    """The writes that commands make; all objects but those that are applied are namespaced.

    Attributes:
        objects: The objects written, in order: as the API server returned them, or as they would
            be sent to it.
    """

    objects: list[JsonObject]

    async def create(self, kind: Resource, obj: JsonObject) -> JsonObject:
        """Create an object, and return the result."""

    async def apply(self, kind: Resource, obj: JsonObject) -> JsonObject:
        """Server-side apply an object without force, and return the result."""

    async def replace(self, kind: Resource, obj: JsonObject) -> JsonObject:
        """Replace the object, and return the result."""

    async def merge_patch(
        self, kind: Resource, namespace: str, name: str, patch: JsonObject
    ) -> JsonObject:
        """Apply an RFC 7386 patch, and return the result."""

    async def json_patch(
        self, kind: Resource, namespace: str, name: str, operations: Sequence[JsonObject]
    ) -> JsonObject:
        """Apply RFC 6902 operations, and return the result."""

    async def delete(
        self, kind: Resource, obj: JsonObject, *, unchanged: bool = False
    ) -> JsonObject | None:
        """Delete the object with this uid; garbage collection deletes what it owns.

        Args:
            kind: Its kind.
            obj: The object, as it was read.
            unchanged: Whether to delete it only if it has not changed since.

        Returns:
            The object, if finalizers keep it until they are removed.

        Raises:
            NotFound: it does not exist any more.
            Conflict: another object has its name now, or it has changed.
        """


class Sent:
    """Sends writes to the API server.

    Args:
        client: The connection.
        dry_run: Whether to send `dryRun=All`, with which the API server stores nothing.
    """

    def __init__(self, client: Client, *, dry_run: bool = False) -> None:
        self.objects: list[JsonObject] = []
        self._client = client
        self._dry_run = dry_run

    async def create(self, kind: Resource, obj: JsonObject) -> JsonObject:
        made = await self._client.create(
            kind, obj, field_manager=FIELD_MANAGER, dry_run=self._dry_run
        )
        return self._recorded(made)

    async def apply(self, kind: Resource, obj: JsonObject) -> JsonObject:
        made = await self._client.apply(
            kind, obj, field_manager=FIELD_MANAGER, dry_run=self._dry_run
        )
        return self._recorded(made)

    async def replace(self, kind: Resource, obj: JsonObject) -> JsonObject:
        return self._recorded(await self._client.replace(kind, obj, dry_run=self._dry_run))

    async def merge_patch(
        self, kind: Resource, namespace: str, name: str, patch: JsonObject
    ) -> JsonObject:
        after = await self._client.merge_patch(
            kind,
            name,
            patch,
            namespace=namespace,
            field_manager=FIELD_MANAGER,
            dry_run=self._dry_run,
        )
        return self._recorded(after)

    async def json_patch(
        self, kind: Resource, namespace: str, name: str, operations: Sequence[JsonObject]
    ) -> JsonObject:
        after = await self._client.json_patch(
            kind,
            name,
            operations,
            namespace=namespace,
            field_manager=FIELD_MANAGER,
            dry_run=self._dry_run,
        )
        return self._recorded(after)

    async def delete(
        self, kind: Resource, obj: JsonObject, *, unchanged: bool = False
    ) -> JsonObject | None:
        metadata = obj["metadata"]
        answer = await self._client.delete(
            kind,
            metadata["name"],
            namespace=metadata["namespace"],
            # An object that somebody creates under this name meanwhile is not deleted.
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"] if unchanged else None,
            propagation="Background",
            dry_run=self._dry_run,
        )
        return answer if (answer.get("metadata") or {}).get("deletionTimestamp") else None

    def _recorded(self, obj: JsonObject) -> JsonObject:
        self.objects.append(obj)
        return obj


def dry_run_mode(args: Args) -> str:
    """Return the value of `--dry-run`; commands that write nothing have none."""
    return getattr(args, "dry_run", NONE)


def check_dry_run(args: Args) -> None:
    """Check `--dry-run` and the `-o` that goes with it.

    Raises:
        CliError: the format is unknown, or there is nothing to print in it.
    """
    if not hasattr(args, "dry_run"):
        return
    output = getattr(args, "output", "")
    check_format(output)
    if output and args.dry_run == NONE:
        modes = " or ".join(f"--dry-run={mode}" for mode in DRY_RUN_MODES if mode != NONE)
        raise UsageError(f"-o prints what would be written; give it together with {modes}")
