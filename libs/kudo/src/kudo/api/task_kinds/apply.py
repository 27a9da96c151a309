"""The Apply task."""

from kudo.api.task_kinds.kind import Action, Kind


class Apply(Kind):
    name = "Apply"
    does = "applies objects and waits until they are healthy"
    needed = ("resources",)
    action = Action.APPLY
    owns = True
