"""Jobs that worker processes run for the services: functions from bytes to bytes, by name.

Each module has one job, with the encoding of its request and its answer, which both sides use.
What is wrong with a tenant's input is part of the answer. A worker opens no files once it takes
jobs, so `prepare` imports and reads everything beforehand. The webhook starts its workers
with `kudo.jobs.review`, which needs models; those of the reconciler start without them.
"""

from collections.abc import Callable, Mapping

import gotemplate
from kudo.jobs import check, condition, digest, env_file, object_check, render
from kudo.jobs.position import report_to as report_to  # for the process that is started with it
from kudo.parameters.bounds import preload

HANDLERS: Mapping[str, Callable[[bytes], bytes]] = {
    check.NAME: check.handle,
    condition.NAME: condition.handle,
    digest.NAME: digest.handle,
    env_file.NAME: env_file.handle,
    object_check.NAME: object_check.handle,
    render.NAME: render.handle,
}


def prepare() -> None:
    """Load everything that jobs need, since no file can be opened later."""
    gotemplate.preload()
    condition.prepare()
    preload()
