"""The Apply task."""

from kudo.tasks.kind import Action, Kind


class Apply(Kind):
    name = "Apply"
    does = "applies objects and waits until they are healthy"
    needed = ("resources",)
    action = Action.APPLY
    owns = True
