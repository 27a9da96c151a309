"""Converts one object to the version that is served today."""

from kudo.api import JsonObject
from kudo.objects.removed_apis.catalogue import REMOVED, Gone
from kudo.objects.removed_apis.errors import NoSuccessor, NotMechanical
from kudo.objects.removed_apis.shapes import copied


def modernized(obj: JsonObject) -> JsonObject | None:
    """Return a new object in the version served today, or None if no successor is known.

    To be asked only where the server does not serve the version of the object. Of a malformed
    object, what is not understood stays as it is.

    Raises:
        NoSuccessor: the kind is known and was removed, and the change is not mechanical; the text
            says what to change.
    """
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    fate = REMOVED.get((api_version, kind))
    if fate is None:
        return None
    if isinstance(fate, Gone):
        raise NoSuccessor(api_version, kind, fate.release, fate.advice)
    target: JsonObject = copied(obj)
    target["apiVersion"] = fate.api_version
    try:
        fate.convert(target)
    except NotMechanical as error:
        raise NoSuccessor(api_version, kind, fate.release, str(error)) from error
    return target


def removed_in(api_version: str, kind: str) -> str | None:
    """Return the Kubernetes release, such as `1.25`, that no longer serves a kind in a version.

    None means that it is served, or not known here.
    """
    fate = REMOVED.get((api_version, kind))
    return None if fate is None else fate.release
