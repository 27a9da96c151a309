"""Which changes of an Instance need the grant of an OperatorVersion of another namespace.

Nothing here looks at the OperatorVersion: an answer that depended on it would tell tenants what
other namespaces have.
"""

from kudo.admission.change import Change
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.names import FINALIZER_CLEANUP, PLAN_CLEANUP

_LOOKED_AT = frozenset({"operator_version", "parameters", "plan_execution"})
"""Fields of a spec of which not every change needs the grant."""


def needs_grant(old: Instance | None, new: Instance) -> bool:
    """Return whether a change needs the grant: a creation, another reference, or a run.

    A change of parameters counts as a run, whichever plan it would trigger, and so does one of a
    field that is not looked at here. Without the grant a run can be cancelled, and an Instance that
    is being deleted is cleaned up.
    """
    if old is None or old.operator_version_key != new.operator_version_key:
        return True
    if old.parameters != new.parameters or old.spec.differing(new.spec) - _LOOKED_AT:
        return True
    change = Change(old, new, None, untold(new))
    return not change.deleting and change.direct is not None


def untold(instance: Instance) -> OperatorVersion:
    """Return an OperatorVersion that says no more than the Instance itself.

    It takes the place of one that is not granted, where a change needs no grant: it has a cleanup
    plan if the Instance has the finalizer for that.
    """
    namespace, name = instance.operator_version_key
    cleanup = FINALIZER_CLEANUP in (instance.metadata.finalizers or ())
    plans: JsonObject = {PLAN_CLEANUP: {}} if cleanup else {}
    metadata = {"namespace": namespace, "name": name}
    return OperatorVersion.from_wire({"metadata": metadata, "spec": {"plans": plans}})
