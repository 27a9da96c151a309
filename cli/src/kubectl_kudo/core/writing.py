"""Where the writes of a command go: to the cluster, or only as far as `--dry-run` lets them.

`Sent` is the real thing. What a dry run does in its place is in `dry_run`, which needs the models
and the admission rules and is imported only then.
"""

from collections.abc import Sequence
from typing import Protocol

from kubectl_kudo.core.arguments import DRY_RUN_MODES, NONE, Args
from kubectl_kudo.core.errors import UsageError
from kubectl_kudo.core.kinds import FIELD_MANAGER
from kubectl_kudo.core.output import JsonObject, check_format
from kubeio.client import Client
from kubeio.resource import Resource


class Writes(Protocol):
    """The ways in which commands change the cluster; all objects are namespaced.

    Attributes:
        objects: What was written, or would be: as the API server returned it, or as it would be
            sent to it. In the order of the writes.
    """

    objects: list[JsonObject]

    async def create(self, kind: Resource, obj: JsonObject) -> JsonObject:
        """Create an object, and return it as it is then."""

    async def replace(self, kind: Resource, obj: JsonObject) -> JsonObject:
        """Put the whole object, and return it as it is then."""

    async def merge_patch(
        self, kind: Resource, namespace: str, name: str, patch: JsonObject
    ) -> JsonObject:
        """Apply an RFC 7386 patch, and return the object as it is then."""

    async def json_patch(
        self, kind: Resource, namespace: str, name: str, operations: Sequence[JsonObject]
    ) -> JsonObject:
        """Apply RFC 6902 operations, and return the object as it is then."""

    async def delete(self, kind: Resource, obj: JsonObject) -> None:
        """Delete this very object; what it owns goes in the background.

        Raises:
            NotFound: it is gone already.
            Conflict: another object has its name by now.
        """


class Sent:
    """Writes that go to the API server.

    Args:
        client: The connection.
        dry_run: Whether the API server is to judge them and store nothing.
    """

    def __init__(self, client: Client, *, dry_run: bool = False) -> None:
        self.objects: list[JsonObject] = []
        self._client = client
        self._dry_run = dry_run

    async def create(self, kind: Resource, obj: JsonObject) -> JsonObject:
        made = await self._client.create(
            kind, obj, field_manager=FIELD_MANAGER, dry_run=self._dry_run
        )
        return self._noted(made)

    async def replace(self, kind: Resource, obj: JsonObject) -> JsonObject:
        return self._noted(await self._client.replace(kind, obj, dry_run=self._dry_run))

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
        return self._noted(after)

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
        return self._noted(after)

    async def delete(self, kind: Resource, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        await self._client.delete(
            kind,
            metadata["name"],
            namespace=metadata["namespace"],
            uid=metadata["uid"],
            propagation="Background",
            dry_run=self._dry_run,
        )

    def _noted(self, obj: JsonObject) -> JsonObject:
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
