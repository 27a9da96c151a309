"""The Delete task."""

from kudo.api.task_kinds.kind import Action, Kind


class Delete(Kind):
    name = "Delete"
    does = "deletes objects and waits until they are gone"
    needed = ("resources",)
    optional = ("wait",)
    action = Action.DELETE
    recorded_first = True
