"""Whether a Toggle task applies or deletes, in the context of a run."""

from kudo.parameters import raw_values
from kudo.tasks import toggled_on
from kudo_reconciler.execution.task_context import TaskContext


def is_on(context: TaskContext) -> bool:
    """Return whether a Toggle task applies its objects.

    Raises:
        FatalTaskError: its parameter is not a boolean.
    """
    return toggled_on(context.task, _texts(context))


def _texts(context: TaskContext) -> dict[str, str | None]:
    """Return the parameters that are strings; maps and arrays, which need parsing, as None."""
    raw = raw_values(context.version.parameters, context.instance.parameters)
    return {one.name: None if one.value_type in {"array", "map"} else one.text or "" for one in raw}
