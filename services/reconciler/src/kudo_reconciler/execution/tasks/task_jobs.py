"""Lists and deletes the Jobs of Job tasks, and looks for their pods.

A deletion names the uid of the Job as it was read, and is never waited for: the garbage collector
deletes the pods after it. Until they have ended, no other Job of the task is created.
"""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from kubeio.client import Client
from kubeio.errors import (
    ApiError,
    Conflict,
    ConnectionLost,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
)
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import JOBS, PODS
from kudo.api import Instance, JsonObject
from kudo.api.names import ANNOTATION_PHASE, ANNOTATION_STEP, LABEL_INSTANCE, LABEL_JOB_OF
from kudo.api.problems import listed
from kudo.api.task_kinds import TaskError
from kudo.objects.enrichment import execution_of
from kudo.objects.health import Exit, State, exit_of, health_of
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.objects.cached_objects import reduced
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import controller_of, is_owned
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_PAGE: Final = 50
MOST: Final = 500
"""Jobs of a task, or failed pods of a Job, that are looked at; a tenant can label any number."""
ATTEMPTS: Final = 4
_PAUSE: Final = 0.5
"""Seconds before the second attempt; each further pause is twice as long."""
_RETRIED: Final = (ConnectionLost, TooManyRequests, ServerError, Conflict)
_SETTLING: Final = 1.0
"""Seconds after the deletion of an active Job within which its controller may create a pod."""
_STEP: Final = (ANNOTATION_PHASE, ANNOTATION_STEP)
_ENDED: Final = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class TaskJobs:
    """The Jobs of Job tasks in the cluster.

    Attributes:
        accounts: For the end of a run. Requests of a task use the client of the task.
        ended: Active Jobs that were deleted a moment ago, and when, in seconds of the event loop:
            by the uid of the Instance and the label of the task.
    """

    accounts: Accounts
    observer: Observer
    ended: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    async def listed(
        self, instance: Instance, label: str = "", *, client: Client
    ) -> list[JsonObject]:
        """Return the Jobs of a task, or of all tasks, of an Instance as they are now, newest first.

        Of each, it is what `cached_objects.reduced` keeps; of very many, the first `MOST`.

        Args:
            instance: The Instance.
            label: The value of `kudo.dev/job-of`; empty for any.
            client: Reads as the account.

        Raises:
            KubeError: they could not be listed.
        """
        jobs: list[JsonObject] = []
        async for page in client.pages(
            JOBS,
            namespace=instance.metadata.namespace,
            label_selector=_selector(instance, label),
            limit=_PAGE,
            transform=_listed,
        ):
            jobs += page.items
            if len(jobs) >= MOST:
                break
        return sorted(jobs[:MOST], key=_age, reverse=True)

    async def running_pod(
        self, instance: Instance, label: str, *, client: Client
    ) -> JsonObject | None:
        """Return a pod of a Job of a task that has not ended, or None if all have.

        Raises:
            KubeError: they could not be listed.
        """
        async for page in client.pages(
            PODS,
            namespace=instance.metadata.namespace,
            label_selector=_selector(instance, label),
            field_selector=_ENDED,
            limit=_PAGE,
            transform=reduced,
        ):
            for pod in page.items:
                # Whoever copies a pod to look into it may copy its labels as well.
                if (controller_of(pod) or {}).get("kind") == JOBS.kind:
                    return pod
        return None

    async def last_exit(
        self, instance: Instance, label: str, job: JsonObject, *, client: Client
    ) -> Exit | None:
        """Return how the last failed pod of a Job has ended; None if no pod tells.

        Raises:
            KubeError: they could not be listed.
        """
        uid, last, number = job["metadata"]["uid"], ("", ""), 0
        found: Exit | None = None
        async for page in client.pages(
            PODS,
            namespace=instance.metadata.namespace,
            label_selector=_selector(instance, label),
            field_selector="status.phase=Failed",
            limit=_PAGE,
        ):
            for pod in page.items:
                ended = exit_of(pod) if is_owned(pod, uid) else None
                if ended is not None and _age(pod) > last:
                    found, last = ended, _age(pod)
            number += len(page.items)
            if number >= MOST:
                break
        return found

    async def delete(self, job: JsonObject, *, client: Client) -> None:
        """Delete a Job if it is still the one that was read; its pods go after it.

        Raises:
            KubeError: it could not be deleted.
        """
        metadata = job["metadata"]
        try:
            left = await client.delete(
                JOBS,
                metadata["name"],
                namespace=metadata["namespace"],
                propagation="Background",
                uid=metadata["uid"],
            )
        except NotFound as error:
            if not error.names_object:
                raise
        else:
            if (left.get("metadata") or {}).get("deletionTimestamp"):
                # A finalizer of somebody else holds it.
                self.observer.read(JOBS, left)
                return
        finally:
            # Also without an answer: it may be deleted all the same.
            if not has_ended(job):
                self._remember(job)
        self.observer.gone(JOBS, job)

    def _remember(self, job: JsonObject) -> None:
        """Remember that an active Job is deleted now, and no longer those of long ago."""
        now = loop_seconds()
        for key, (_, at) in list(self.ended.items()):
            if now < at + _SETTLING:
                break
            del self.ended[key]
        labels = job["metadata"].get("labels") or {}
        key = str((controller_of(job) or {}).get("uid")), str(labels.get(LABEL_JOB_OF))
        self.ended.pop(key, None)
        self.ended[key] = job["metadata"]["name"], now

    def just_ended(self, instance: Instance, label: str) -> str:
        """Return the Job of a task that was active and was deleted a moment ago; empty if none was.

        Its controller may have been about to create a pod, which no list has yet.
        """
        name, at = self.ended.get((instance.metadata.uid, label), ("", 0.0))
        return name if loop_seconds() < at + _SETTLING else ""

    # At the end of a run

    async def watch(self) -> None:
        """Watch Jobs, so that the cache has those of former processes."""
        await self.observer.watch(JOBS)

    def active(self, instance: Instance, keep: str = "") -> list[JsonObject]:
        """Return the active Jobs of an Instance that are in the cache.

        Args:
            instance: The Instance.
            keep: The uid of the run whose Jobs do not count.
        """
        cached = self.observer.of_instance(JOBS, key_of(instance))
        return [job for job in cached if _is_to_end(job, instance, keep)]

    async def end(
        self, instance: Instance, account: str | None, keep: str = "", attempts: int = ATTEMPTS
    ) -> str:
        """Delete the active Jobs of an Instance; what fails is tried some more times.

        Args:
            instance: The Instance.
            account: That the run acted as; None for the one that the Instance names now.
            keep: The uid of the run whose Jobs stay.
            attempts: How often it is tried, with pauses that grow.

        Returns:
            Why some may still run, and what to do; empty if none does.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        text = ""
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(_PAUSE * 2 ** (attempt - 1))
            text, may_help = await self._end(instance, account, keep)
            if not may_help:
                break
        return text

    async def _end(self, instance: Instance, account: str | None, keep: str) -> tuple[str, bool]:
        """Try once; return what is wrong, and whether another attempt may help."""
        namespace = instance.metadata.namespace
        try:
            client = await (
                self.accounts.acting_for(instance)
                if account is None
                else self.accounts.acting(instance, account)
            )
            jobs = await self.listed(instance, client=client)
        except NotLeading:
            raise
        except (TaskError, KubeError) as error:
            text = (
                f"active Jobs of the run cannot be listed, so programs may still run: "
                f"{_told(error)}; see kubectl get jobs -n {namespace} -l "
                f"{_selector(instance, '')}"
            )
            return text, isinstance(error, _RETRIED)
        left: dict[str, KubeError] = {}
        for job in jobs:
            if not _is_to_end(job, instance, keep):
                continue
            try:
                await self.delete(job, client=client)
            except NotLeading:
                raise
            except KubeError as error:
                left[job["metadata"]["name"]] = error
        if not left:
            return "", False
        names = listed([*left])
        text = (
            f"active Jobs of the run cannot be deleted, so programs may still run: {names}: "
            f"{_told(next(iter(left.values())))}; delete them: kubectl delete job -n {namespace} "
            f"{' '.join(left)}"
        )
        return text, any(isinstance(error, _RETRIED) for error in left.values())


def has_ended(job: JsonObject) -> bool:
    """Return whether a Job is Complete or Failed, also while it is deleted."""
    return health_of(job).state is not State.WAITING


def is_deleting(job: JsonObject) -> bool:
    return bool(job["metadata"].get("deletionTimestamp"))


def to_prune(
    jobs: Collection[JsonObject], instance: Instance, uid: str, keep: int
) -> list[JsonObject]:
    """Return the Jobs of former runs of a task that go, now that there is a new one.

    Those of the last runs stay, and that of the last one that failed.

    Args:
        jobs: The Jobs of the task without the new one, newest first.
        instance: Their Instance.
        uid: Of the run; its Jobs at other places stay, since their end may not be stored.
        keep: How many stay, the new one included.
    """
    ended = [
        job
        for job in jobs
        if is_owned(job, instance.metadata.uid)
        and has_ended(job)
        and not is_deleting(job)
        and execution_of(job) != uid
    ]
    kept = ended[: max(0, keep - 1)]
    kept += [job for job in ended if health_of(job).state is State.FAILED][:1]
    uids = {job["metadata"]["uid"] for job in kept}
    return [job for job in ended if job["metadata"]["uid"] not in uids]


def _is_to_end(job: JsonObject, instance: Instance, keep: str) -> bool:
    labels = job["metadata"].get("labels") or {}
    if LABEL_JOB_OF not in labels or not is_owned(job, instance.metadata.uid):
        return False
    return not has_ended(job) and not is_deleting(job) and (not keep or execution_of(job) != keep)


def _selector(instance: Instance, label: str) -> str:
    of_task = f"{LABEL_JOB_OF}={label}" if label else LABEL_JOB_OF
    return f"{LABEL_INSTANCE}={instance.metadata.name},{of_task}"


def _listed(obj: JsonObject) -> JsonObject:
    """Return what a cache keeps of a Job, with the time and the step of its creation."""
    small, metadata = reduced(obj), obj["metadata"]
    annotations = metadata.get("annotations") or {}
    step = {name: annotations[name] for name in _STEP if name in annotations}
    more = {
        "creationTimestamp": metadata.get("creationTimestamp"),
        "annotations": {**small["metadata"].get("annotations", {}), **step},
    }
    return {**small, "metadata": {**small["metadata"], **more}}


def _age(obj: JsonObject) -> tuple[str, str]:
    """Return what sorts objects by the time of their creation."""
    metadata = obj["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])


def _told(error: TaskError | KubeError) -> str:
    if isinstance(error, ApiError | ConnectionLost):
        return error_text(error, JOBS)
    return str(error)
