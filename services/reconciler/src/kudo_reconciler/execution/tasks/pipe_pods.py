"""Deletes the pods of Pipe tasks, and copies files from them.

A deletion names the uid and resourceVersion of the pod as it was read, and is never waited for.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.errors import ApiError, Conflict, ConnectionLost, NotFound
from kubeio.exec import OutputTooLarge
from kubeio.resource import PODS
from kudo.api import Instance, JsonObject, PipeFile
from kudo.api.task_kinds import FatalTaskError, TaskError, TransientTaskError
from kudo.objects.enrichment import execution_of
from kudo.tasks.pipe import check_sizes, is_pipe_pod, path_of
from kudo.tasks.pipe.pod import WAITER
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import is_owned
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_ATTEMPTS = 5
_STAT_BYTES = 64 * 1024
_COPY_SECONDS = 120.0
_GRACE_SECONDS = 1
"""The waiter has nothing to finish."""


@dataclass(frozen=True, slots=True)
class PipePods:
    """The pods of Pipe tasks in the cluster.

    Attributes:
        accounts: For the cleanup after the end of a run. Requests of a task use the client of the
            task.
    """

    accounts: Accounts
    observer: Observer

    async def delete(self, pod: JsonObject, *, client: Client) -> None:
        """Request the deletion of a pod as it was read.

        If it changed since, it is read again, and deleted if it is still of the same execution.

        Raises:
            Conflict: it keeps changing.
            KubeError: it could not be deleted.
        """
        current: JsonObject | None = pod
        metadata = pod["metadata"]
        for _ in range(_ATTEMPTS):
            if current is None or current["metadata"]["uid"] != metadata["uid"]:
                return
            if execution_of(current) != execution_of(pod) or is_deleting(current):
                return
            try:
                left = await client.delete(
                    PODS,
                    metadata["name"],
                    namespace=metadata["namespace"],
                    propagation="Foreground",
                    uid=metadata["uid"],
                    resource_version=current["metadata"]["resourceVersion"],
                    grace_period_seconds=_GRACE_SECONDS,
                )
                if left.get("kind") == PODS.kind:
                    # It is there until the kubelet has ended it; its deletion is in the cache now.
                    self.observer.read(PODS, left)
            except NotFound:
                return
            except Conflict as error:
                # Most often the kubelet wrote its status. But the request may also have been
                # delayed while another leader applied the pod for another execution.
                conflict = error
                current = await self.observer.body(
                    PODS, metadata["namespace"], metadata["name"], client=client
                )
            else:
                return
        raise conflict

    async def sweep(self, instance: Instance, keep: str = "") -> None:
        """Delete the pods of executions that have ended, as the account of the Instance.

        A pod that cannot be deleted now is left to a later sweep, and finally to its owner
        reference.

        Args:
            instance: The Instance that owns the pods.
            keep: The uid of the execution that still runs.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        for pod in self.observer.of_instance(PODS, key_of(instance)):
            over = is_pipe_pod(pod) and execution_of(pod) != keep and not is_deleting(pod)
            if not over or not is_owned(pod, instance.metadata.uid):
                continue
            try:
                await self.delete(pod, client=await self.accounts.acting_for(instance))
            except (ApiError, ConnectionLost, TaskError) as error:
                fields = {"pod": pod["metadata"]["name"], "error": str(error)}
                log.warning("pipe pod not deleted", extra=fields)

    async def read(
        self, pod: JsonObject, files: Sequence[PipeFile], *, client: Client
    ) -> list[bytes]:
        """Return the contents of files in a pod that is ready.

        Raises:
            FatalTaskError: a file is missing, is not a regular file, or too large.
            TransientTaskError: a retry may help.
        """
        sizes = await self._sizes(pod, files, client)
        check_sizes(files, sizes)
        copied = await self._run(pod, ["cat", "--", *map(path_of, files)], sum(sizes), client)
        if len(copied) != sum(sizes):
            text = f"{len(copied)} bytes were copied from {_of(pod)} instead of {sum(sizes)}"
            raise TransientTaskError("PipeTaskError", text)
        contents, begin = [], 0
        for size in sizes:
            contents.append(copied[begin : begin + size])
            begin += size
        return contents

    async def _sizes(self, pod: JsonObject, files: Sequence[PipeFile], client: Client) -> list[int]:
        limit = _STAT_BYTES + sum(len(path_of(file)) for file in files)
        command = ["stat", "-c", "%s %F", "--", *map(path_of, files)]
        output = await self._run(pod, command, limit, client)
        lines = output.decode(errors="replace").splitlines()
        if len(lines) != len(files):
            text = f"stat in {_of(pod)} reported {len(lines)} files instead of {len(files)}"
            raise TransientTaskError("PipeTaskError", text)
        return [_size(file, line) for file, line in zip(files, lines, strict=True)]

    async def _run(
        self, pod: JsonObject, command: Sequence[str], limit: int, client: Client
    ) -> bytes:
        """Run a command in the waiter; only a failure of the command itself is fatal.

        Raises:
            FatalTaskError: its exit code is not 0.
            TransientTaskError: it could not be run, or did not finish.
        """
        metadata = pod["metadata"]
        try:
            result = await client.exec(
                metadata["name"],
                WAITER,
                command,
                namespace=metadata["namespace"],
                limit=limit + _STAT_BYTES,
                timeout=_COPY_SECONDS,
            )
        except OutputTooLarge as error:
            raise TransientTaskError("PipeTaskError", f"{_of(pod)}: {error}") from error
        except (ApiError, ConnectionLost) as error:
            text = f"{command[0]} cannot be run in {_of(pod)}: {error_text(error, PODS)}"
            raise TransientTaskError("PipeTaskError", text) from error
        if result.exit_code:
            said = result.stderr.decode(errors="replace").strip()[:500]
            text = (
                f"pipe files cannot be copied from {_of(pod)}: {command[0]} ended with exit code "
                f"{result.exit_code}: {said}"
            )
            raise FatalTaskError("PipeTaskError", text)
        return result.stdout


def is_deleting(pod: JsonObject) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _size(file: PipeFile, line: str) -> int:
    """Return the size of a file from the output of stat."""
    digits, _, kind = line.partition(" ")
    if not kind.startswith("regular"):
        text = f"pipe file {path_of(file)} is a {kind or 'thing'}, not a regular file"
        raise FatalTaskError("PipeTaskError", text)
    return int(digits)


def _of(pod: JsonObject) -> str:
    return f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"
