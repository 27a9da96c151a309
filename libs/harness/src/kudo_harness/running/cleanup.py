"""Deletes what a run has made: process groups first, then objects, the newest first.

After a run that was killed, `kubectl kudo test --clean` does it by the record of the run.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubeio.errors import Conflict, ConnectionLost, KubeError, NotFound
from kudo_harness.host import HarnessError
from kudo_harness.running.clusters import Cluster, Clusters
from kudo_harness.running.objects import Existing, is_gone
from kudo_harness.running.processes import Processes, stop_left
from kudo_harness.running.record import NAME, Left, MadeObject, Record, read_record
from kudo_harness.running.waiting import until

SECONDS: Final = 60.0
"""Seconds that deleting the objects of a case may take, unless the suite gives asserts more."""
_POLL: Final = 0.25
_PROTECTION: Final = frozenset({"kubernetes.io/pv-protection", "kubernetes.io/pvc-protection"})
"""Finalizers that stay while another object uses this one: a claim a volume, a pod a claim."""
_UNKNOWN: Final = "the run ended before it was known whether this was created"


@dataclass(frozen=True, slots=True)
class Cleanup:
    """Deletes what is recorded.

    Attributes:
        record: What was made.
        clusters: Where.
        processes: Stops process groups.
        wait: Whether to wait until namespaces are gone; on a cluster that ends with the run,
            nobody needs that.
    """

    record: Record
    clusters: Clusters
    processes: Processes
    wait: bool = True

    async def clean(self, scope: str | None, seconds: float = SECONDS) -> list[str]:
        """Delete everything of a scope, or all, and return a line for each fault.

        Objects whose finalizers have to be removed by a controller are waited for before older
        ones are deleted: the controller may be one of them. Objects that are in use are waited for
        at the end: what uses them may be older, or in a namespace that is deleted after them.
        """
        await self.processes.stop_all(scope)
        deleting = _Deleting(self.record, asyncio.get_running_loop().time() + seconds, seconds)
        objects = self.record.objects_of(scope)
        for made in objects:
            if not made.is_namespace:
                await self._delete(deleting, made, until_gone=False)
        for made in objects:
            if made.is_namespace:
                await self._delete(deleting, made, until_gone=self.wait)
        for made in deleting.in_use:
            await self._delete(deleting, made, until_gone=True)
        return deleting.faults

    async def _delete(self, deleting: "_Deleting", made: MadeObject, *, until_gone: bool) -> None:
        if made.number not in self.record.objects:
            return  # its namespace was deleted
        if made.kubeconfig in deleting.unreachable:
            return
        try:
            cluster = await self.clusters.open(Path(made.kubeconfig))
            await deleting.delete(cluster, made, until_gone=until_gone)
        except (ConnectionLost, OSError) as error:
            deleting.unreachable.add(made.kubeconfig)
            deleting.faults.append(f"what is left in {made.kubeconfig} stays: {error}")
        except (KubeError, ValueError) as error:
            deleting.faults.append(f"{made} cannot be deleted: {error}")


class _Deleting:
    def __init__(self, record: Record, until: float, seconds: float) -> None:
        self.record = record
        self.until = until
        self.seconds = seconds
        self.faults: list[str] = []
        self.unreachable: set[str] = set()
        self.in_use: list[MadeObject] = []

    async def delete(self, cluster: Cluster, made: MadeObject, *, until_gone: bool) -> None:
        """Delete an object by its uid."""
        if not made.uid:
            # Somebody else may have created one of that name.
            if made.name and await cluster.find(made.resource, made.namespace, made.name) is None:
                self._gone(made)
            else:
                self.faults.append(f"{made} stays: {_UNKNOWN}")
            return
        name, namespace = made.name, made.namespace or None
        try:
            answer = await cluster.client.delete(
                made.resource,
                name,
                namespace=namespace,
                # The default of the API server leaves the pods of a Job.
                propagation="Background",
                uid=made.uid,
            )
        except (NotFound, Conflict):
            self._gone(made)
            return
        metadata = answer.get("metadata") or {}
        finalizers = frozenset(metadata.get("finalizers") or ())
        if not metadata.get("deletionTimestamp"):
            self._gone(made)
        elif finalizers and finalizers <= _PROTECTION and not until_gone:
            self.in_use.append(made)
        elif until_gone or finalizers:
            await self._until_gone(cluster, made)
        else:
            # A pod that ends, or a namespace: the API server removes it without our help.
            self._gone(made)

    async def _until_gone(self, cluster: Cluster, made: MadeObject) -> None:
        existing = Existing(made.resource, made.namespace, made.name, made.uid)
        try:
            async with asyncio.timeout_at(self.until):
                await until(lambda: is_gone(cluster, existing), every=_POLL)
        except TimeoutError:
            why = await _kept_by(cluster, made)
            self.faults.append(f"{made} is still there after {self.seconds:.0f} s{why}")
            return
        self._gone(made)

    def _gone(self, made: MadeObject) -> None:
        self.record.gone(made)
        if made.is_namespace:
            for inside in self.record.objects_of(None):
                if inside.namespace == made.name and inside.kubeconfig == made.kubeconfig:
                    self.record.gone(inside)


async def _kept_by(cluster: Cluster, made: MadeObject) -> str:
    """Return what keeps an object, as the end of a sentence."""
    try:
        obj = await cluster.find(made.resource, made.namespace, made.name)
    except KubeError:
        return ""
    if obj is None:
        return ""
    if finalizers := obj["metadata"].get("finalizers"):
        return f"; finalizers: {', '.join(map(str, finalizers))}"
    conditions = (obj.get("status") or {}).get("conditions") or []
    kept = [
        str(condition.get("message"))
        for condition in conditions
        if condition.get("status") == "True" and str(condition.get("type")).startswith("Namespace")
    ]
    return f"; {kept[-1]}" if kept else ""


def tell_left(record: Record, say: Callable[[str], None]) -> None:
    """Tell what is left, and the commands that delete it."""
    objects = record.objects_of(None)
    inside = {(made.kubeconfig, made.name) for made in objects if made.is_namespace}
    for made in objects:
        if (made.kubeconfig, made.namespace) in inside:
            continue  # deleted with its namespace
        perhaps = "" if made.uid else f"  # {_UNKNOWN}"
        if made.name:
            say(f"kubectl --kubeconfig {made.kubeconfig} delete {made}{perhaps}")
    for group in record.groups_of(None):
        say(f"kill -- -{group.group}")


def is_clean(folder: Path) -> bool:
    """Return whether nothing is left of the run with this temporary folder."""
    return not (folder / NAME).exists()


class NoRecord(HarnessError):
    """A folder is not that of a run, or nothing is left of it."""


async def clean_run(
    folder: Path, user_agent: str, say: Callable[[str], None], *, wait_until_gone: bool = True
) -> bool:
    """Delete what the run with this temporary folder has left.

    Namespaces and objects are deleted by their uids, so nothing is deleted that somebody else has
    created since. A process group is killed only while its first process runs: later, its number
    may be that of another one.

    Args:
        folder: The temporary folder of the run, as it was printed.
        user_agent: How this program names itself in requests.
        say: Is told what is done.
        wait_until_gone: Whether to wait until namespaces are gone.

    Returns:
        Whether nothing is left.

    Raises:
        NoRecord: there is no record in the folder.
        HarnessError: the record cannot be read, or the run has not ended.
    """
    left = _read(folder)
    record = left.record
    for group in record.groups_of(None):
        if stop_left(group):
            say(f"killed the process group {group.group}")
        record.gone(group)
    for made in record.objects_of(None):
        say(f"deleting {made}")
    async with Clusters(folder, user_agent) as clusters:
        cleanup = Cleanup(record, clusters, Processes(record), wait_until_gone)
        for fault in await cleanup.clean(None):
            say(fault)
    return end_record(record, say)


def end_record(record: Record, say: Callable[[str], None]) -> bool:
    """Remove the record if nothing is left, else tell what is; return whether nothing is."""
    if record.is_empty:
        (record.folder / NAME).unlink(missing_ok=True)
        return True
    say(f"these are left; kubectl kudo test --clean {record.folder} deletes them, or:")
    tell_left(record, say)
    return False


def _read(folder: Path) -> Left:
    try:
        left = read_record(folder)
    except FileNotFoundError:
        text = f"{folder} has no record of a run, so nothing is left of one"
        raise NoRecord(text) from None
    except (OSError, ValueError) as error:
        raise HarnessError(f"cannot read what the run has left: {error}") from error
    if left.runs:
        raise HarnessError(f"the run still runs as process {left.process}; interrupt it instead")
    return left
