"""Whether an object is healthy: what lets a step end, and what makes an Instance ready.

The rules are those of kstatus, with exact ones for the built-in workloads. Health depends on the
metadata, spec and status of the object, and on nothing else. Why an object that waits for its pods
is not healthy is in `causes`.

* HEALTHY lets a plan go on.
* WAITING may still become healthy by itself. What Kubernetes retries is waited for, however long it
  takes: a plan that ended would leave a half-changed system behind, and a user who does not want to
  wait can cancel it.
* FAILED stays so until somebody changes something: a Job or Pod that has ended without
  success, a claim whose volume is lost, a definition whose names are taken, a child Instance whose
  run failed, a custom resource that says that it is Stalled.
"""

from kudo.objects.health.causes import Cause, cause_of, has_pods, telling_pods, unready_pods
from kudo.objects.health.exits import Exit, exit_of, job_failure
from kudo.objects.health.fields import read_fields
from kudo.objects.health.kinds import health_of, needs_body, readiness
from kudo.objects.health.others import failed_plan
from kudo.objects.health.pods import advice_on, problem_of, termination_message
from kudo.objects.health.result import HEALTHY, Health, State

__all__ = [
    "HEALTHY",
    "Cause",
    "Exit",
    "Health",
    "State",
    "advice_on",
    "cause_of",
    "exit_of",
    "failed_plan",
    "has_pods",
    "health_of",
    "job_failure",
    "needs_body",
    "problem_of",
    "read_fields",
    "readiness",
    "telling_pods",
    "termination_message",
    "unready_pods",
]
