"""Writes the parameters of an Instance: values, and references to values."""

from typing import Final

from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import Conflict
from kudo.parameters.settings import Settings, patch_of

_ATTEMPTS: Final = 5


async def set_parameters(
    session: Session, before: JsonObject, settings: Settings, spec: JsonObject
) -> JsonObject:
    """Set parameters and other fields of an Instance; return it.

    Args:
        session: The connection.
        before: The Instance.
        settings: What to set; parameters that are not named stay as they are.
        spec: Other fields of the spec.

    Raises:
        CliError: it is another Instance by now, or others write to it all the time.
    """
    name, uid = before["metadata"]["name"], before["metadata"]["uid"]
    for _ in range(_ATTEMPTS):
        changed = patch_of(before["spec"], settings)
        patch: JsonObject = {"spec": {**spec, **changed}}
        # The list is replaced as a whole: it may not undo what somebody else has written.
        is_whole = "parametersFrom" in changed
        if is_whole:
            patch["metadata"] = {key: before["metadata"][key] for key in ("uid", "resourceVersion")}
        try:
            return await session.writes.merge_patch(INSTANCES, session.namespace, name, patch)
        except Conflict:
            if not is_whole:
                raise
            before = await session.existing_instance(name)
            if before["metadata"]["uid"] != uid:
                key = key_of(before)
                text = f"instance {key} was deleted and created again meanwhile"
                raise CliError(text) from None
    raise CliError(f"others change instance {key_of(before)} all the time; try again")
