"""Reads the outputs of a Job task when its Job is complete.

They are the termination message of the program, in the pod that ended successfully. The pod is read
live, since a cache cuts long texts. Pods may be deleted at any time, and a Job says nothing of what
its program wrote: outputs that are gone are lost, and never taken from another pod.
"""

from typing import Final

from kubeio.errors import ApiError, ConnectionLost
from kubeio.resource import PODS
from kudo.api import JsonObject
from kudo.api.names import LABEL_INSTANCE, LABEL_JOB_OF
from kudo.api.task_kinds import FatalTaskError, kind_of
from kudo.tasks.job.outputs import kept_bytes, outputs_of, termination_message
from kudo_reconciler.common.errors import error_text, task_error
from kudo_reconciler.execution.task_context import TaskContext
from kudo_reconciler.objects.ownership import is_owned

_SUCCEEDED: Final = "status.phase=Succeeded"
_PAGE: Final = 50
_MOST: Final = 500
"""Pods that are looked at; a tenant can label any number."""


async def read_outputs(job: JsonObject, label: str, context: TaskContext) -> dict[str, str] | None:
    """Return the outputs of a Job that is complete, or None if its task declares none.

    Args:
        job: The Job.
        label: The value of `kudo.dev/job-of` of its pods.
        context: Of its task.

    Raises:
        FatalTaskError: the outputs cannot be used, reason OutputsInvalid; or the pod is gone,
            reason OutputsLost.
        TransientTaskError: the pods cannot be listed now.
    """
    declared = kind_of(context.task).outputs(context.task)
    if not declared:
        return None
    name = job["metadata"]["name"]
    try:
        pod = await _succeeded(job, label, context)
    except (ApiError, ConnectionLost) as error:
        text = f"the outputs of job {name} cannot be read: {error_text(error, PODS)}"
        raise task_error("JobTaskError", text, error) from error
    message = None if pod is None else termination_message(pod)
    if pod is None or message is None:
        metadata = context.instance.metadata
        text = (
            f"job {name} is complete, and its pod was deleted before its outputs were read; run "
            f"it again with kubectl kudo plan retry --instance {metadata.name} "
            f"-n {metadata.namespace}"
        )
        raise FatalTaskError("OutputsLost", text)
    return outputs_of(message, declared, kept_bytes(pod), f"job {name}")


async def _succeeded(job: JsonObject, label: str, context: TaskContext) -> JsonObject | None:
    """Return the pod of a Job that ended successfully last; None if there is none."""
    uid, number = job["metadata"]["uid"], 0
    last: JsonObject | None = None
    async for page in context.client.pages(
        PODS,
        namespace=context.tenant,
        label_selector=(
            f"{LABEL_INSTANCE}={context.instance.metadata.name},{LABEL_JOB_OF}={label}"
        ),
        field_selector=_SUCCEEDED,
        limit=_PAGE,
    ):
        for pod in page.items:
            # After the loss of a node there may be two.
            if is_owned(pod, uid) and (last is None or _created(pod) > _created(last)):
                last = pod
        number += len(page.items)
        if number >= _MOST:
            break
    return last


def _created(pod: JsonObject) -> tuple[str, str]:
    metadata = pod["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])
