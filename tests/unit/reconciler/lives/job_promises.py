"""The promises about the Jobs of Job tasks; no tests of its own.

* A Job is created once in a run.
* Nothing of a former Job of a task works when a new one is created.
* When a run is stored as ended otherwise than COMPLETE, or replaced, none of its Jobs is active.
* A Job whose end is known is deleted only once there is a newer one of its task.
* What a task hands on is stored by the write that makes it COMPLETE.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubeio.types import JsonObject
from kudo.api import ExecutionStatus, Instance, OperatorVersion, names
from kudo.plans.execution import status_of, steps_of_entry
from tests.support.apiserver.cluster import moment
from tests.support.apiserver.controllers.workloads import MESSAGE
from tests.support.apiserver.server import ApiServer
from tests.support.apiserver.storage import Revision, StorageName
from tests.support.instance_admission import RECONCILER
from tests.support.world.outcomes import is_of_job_task

JOBS = ("batch", "jobs")
PODS = ("", "pods")
_ENDED = frozenset({"Complete", "Failed"})
_LATEST = timedelta(seconds=60)
"""After which the reconciler has heard of an end, and what it sent before has arrived."""
_OVER = frozenset({"Succeeded", "Failed"})


def has_ended(job: JsonObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(one["type"] in _ENDED and one["status"] == "True" for one in conditions)


@dataclass
class JobPromises:
    """Follows the Jobs of Job tasks.

    Attributes:
        may_stay: Whether deletions may fail for so long that a run ends with an active Job.
        created: uids of the Jobs of each name in each run.
        ended: When Jobs have ended, by uid.
        handing_on: Run, phase, step and task of Jobs whose pods write something for later steps.
    """

    server: ApiServer
    may_stay: bool = False
    created: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    ended: dict[str, datetime] = field(default_factory=dict)
    handing_on: set[tuple[str, str, str, str]] = field(default_factory=set)

    def follow(self, name: StorageName, revision: Revision) -> None:
        """Take up a change.

        Raises:
            AssertionError: a promise is broken.
        """
        request = self.server.serving
        if name != JOBS or not is_of_job_task(revision.new):
            return
        if has_ended(revision.new):
            self.ended.setdefault(revision.new["metadata"]["uid"], moment())
        if request is None or request.user != RECONCILER:
            return
        if revision.old is None:
            self._created(revision.new)
        elif request.method == "DELETE" and self._is_known_to_have_ended(revision.old):
            others = [job for job in self._of_task(JOBS, revision.old) if job != revision.old]
            newer = [job for job in others if _age(job) >= _age(revision.old)]
            assert newer, "it has ended, and is deleted although there is no newer one"

    def _is_known_to_have_ended(self, job: JsonObject) -> bool:
        ended = self.ended.get(job["metadata"]["uid"])
        return ended is not None and moment() - ended > _LATEST

    def _created(self, job: JsonObject) -> None:
        uids = self.created.setdefault((job["metadata"]["name"], _run(job)), set())
        uids.add(job["metadata"]["uid"])
        assert len(uids) == 1, f"made twice in run {_run(job)}"
        working = [
            other["metadata"]["name"]
            for other in self._of_task(JOBS, job)
            if other["metadata"]["uid"] != job["metadata"]["uid"] and not has_ended(other)
        ]
        working += [
            pod["metadata"]["name"]
            for pod in self._of_task(PODS, job)
            if pod["metadata"].get("ownerReferences")
            if (pod.get("status") or {}).get("phase") not in _OVER
        ]
        assert not working, f"created while {', '.join(working)} works"
        if MESSAGE in (job["spec"]["template"]["metadata"].get("annotations") or {}):
            annotations, labels = job["metadata"]["annotations"], job["metadata"]["labels"]
            step = annotations[names.ANNOTATION_PHASE], annotations[names.ANNOTATION_STEP]
            self.handing_on.add((_run(job), *step, labels[names.LABEL_JOB_OF]))

    def _of_task(self, kind: StorageName, job: JsonObject) -> Iterator[JsonObject]:
        """Yield the objects of a kind that are of the task of a Job."""
        metadata = job["metadata"]
        for (namespace, _), obj in tuple(self.server.storage.table(kind).objects.items()):
            labels = obj["metadata"].get("labels") or {}
            if namespace == metadata["namespace"] and all(
                labels.get(label) == metadata["labels"][label]
                for label in (names.LABEL_INSTANCE, names.LABEL_JOB_OF)
            ):
                yield obj

    def hold_outputs(self, new: Instance, versions: Iterable[OperatorVersion]) -> None:
        """Hold a status that the reconciler has stored against the promise of outputs.

        Args:
            new: The Instance with that status.
            versions: The states of its version. Who does not declare what is written drops it.

        Raises:
            AssertionError: it is broken.
        """
        declare = [
            {
                task.name
                for task in version.spec.tasks or ()
                if task.spec.job and task.spec.job.outputs
            }
            for version in versions
        ]
        for entry in new.plan_status.values():
            for ref, step in steps_of_entry(entry):
                for task in step.tasks or ():
                    hands_on = (entry.uid, ref.phase, ref.step, task.name) in self.handing_on
                    hands_on = hands_on and all(task.name in one for one in declare)
                    if hands_on and task.status == ExecutionStatus.COMPLETE:
                        assert task.name in (step.outputs or {}), f"{ref}: outputs not stored"

    def hold_end(self, old: Instance, new: Instance) -> None:
        """Hold a status that the reconciler has stored against the promise of ends.

        Raises:
            AssertionError: it is broken.
        """
        if self.may_stay:
            return
        ended = {
            before.uid
            for name, before in old.plan_status.items()
            if not status_of(before).terminal and before.uid and _ends(before.uid, new, name)
        }
        for job in self.server.storage.table(JOBS).objects.values():
            owners = {owner["uid"] for owner in job["metadata"].get("ownerReferences") or ()}
            ours = is_of_job_task(job) and old.metadata.uid in owners and _run(job) in ended
            active = not has_ended(job) and "deletionTimestamp" not in job["metadata"]
            assert not (ours and active), f"{job['metadata']['name']} is active at the end of a run"


def _ends(uid: str, new: Instance, plan: str) -> bool:
    after = new.plan_status.get(plan)
    return after is None or after.uid != uid or status_of(after) is ExecutionStatus.FATAL_ERROR


def _run(job: JsonObject) -> str:
    return str((job["metadata"].get("annotations") or {}).get(names.ANNOTATION_PLAN_UID, ""))


def _age(job: JsonObject) -> str:
    return str(job["metadata"]["creationTimestamp"])
