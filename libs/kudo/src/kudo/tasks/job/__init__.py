"""Job tasks: a program that runs to its end, in a Job of its own for each run.

    fields, script, pod template -> texts rendered -> pod -> Job

`texts` renders, `pod` lays the fields over the pod template and adds what is restricted by
default, `job` makes the Job and its name. The reconciler creates it and waits for its end.
"""

from kudo.tasks.job.job import JobNames, job_object
from kudo.tasks.job.texts import JobError, RenderedJob, rendered_job

__all__ = ["JobError", "JobNames", "RenderedJob", "job_object", "rendered_job"]
