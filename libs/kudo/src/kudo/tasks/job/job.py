"""The Job of a Job task, and its name."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from kubeio.names import MAX_LABEL
from kudo.api import JsonObject
from kudo.api.names import LABEL_JOB_OF
from kudo.tasks.job.pod import pod_spec
from kudo.tasks.job.texts import JobError, RenderedJob

_DIGITS: Final = 10
_LABEL_DIGITS: Final = 32
_DROPPED: Final = re.compile(r"[^a-z0-9]+")
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_OF_PODS: Final = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class JobNames:
    """The place of a Job task in a run, which its Job is named after.

    Attributes:
        instance: Name of the Instance.
        uid: Of the run.
    """

    instance: str
    uid: str
    plan: str
    phase: str
    step: str
    task: str

    @property
    def job(self) -> str:
        """The name of the Job, another one in each run: a DNS label, as its pods need one."""
        place = "\n".join((self.uid, self.plan, self.phase, self.step, self.task))
        digits = hashlib.sha256(place.encode()).hexdigest()[:_DIGITS]
        readable = _DROPPED.sub("-", f"{self.instance}-{self.task}".lower()).strip("-")
        return f"{readable[: MAX_LABEL - _DIGITS - 1].rstrip('-') or 'job'}-{digits}"

    @property
    def label(self) -> str:
        """The value of the label `kudo.dev/job-of`, the same in each run."""
        if len(self.task) <= MAX_LABEL and _LABEL_VALUE.fullmatch(self.task):
            return self.task
        return hashlib.sha256(self.task.encode()).hexdigest()[:_LABEL_DIGITS]


def job_object(rendered: RenderedJob, names: JobNames) -> JsonObject:
    """Return the Job of a task, without what each object of a run has; `rendered` stays as it is.

    Raises:
        JobError: a container has no image, or a mount no volume; reason ResourceValidationError.
    """
    job, pod = rendered["job"], rendered["pod"]
    spec = pod_spec(rendered)
    _check(job, spec, names.task)
    labels = {LABEL_JOB_OF: names.label}
    metadata = (pod.get("metadata") if pod else None) or {}
    template = {field: dict(metadata[field]) for field in _OF_PODS if metadata.get(field)}
    template["labels"] = {**template.get("labels", {}), **labels}
    made: JsonObject = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": job.get("backoffLimit") or 0,
        # A pod that is being deleted may still run the program.
        "podReplacementPolicy": "Failed",
        "template": {"metadata": template, "spec": spec},
    }
    if job.get("activeDeadlineSeconds"):
        made["activeDeadlineSeconds"] = job["activeDeadlineSeconds"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": names.job, "labels": labels},
        "spec": made,
    }


def _check(job: JsonObject, spec: JsonObject, task: str) -> None:
    for container in spec["containers"]:
        if not container.get("image"):
            text = f"task {task}: job.image: container {container.get('name')} has no image"
            raise JobError("ResourceValidationError", text, path=("image",))
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    for number, mount in enumerate(job.get("mounts") or ()):
        if mount["name"] not in volumes:
            place = f"task {task}: job.mounts[{number}].name"
            text = f"{place}: neither volumes nor the podTemplate has a volume of this name"
            path = ("mounts", number, "name")
            raise JobError("ResourceValidationError", text, path=path)
