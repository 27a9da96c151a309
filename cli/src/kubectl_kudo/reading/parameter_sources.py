"""Whether the Secrets and ConfigMaps that parameters come from are those that the last run read.

A Secret that changes starts nothing by itself: what it has now comes into force with a later run.
Only metadata are read, with the rights of the reader.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import Forbidden, NotFound
from kubeio.resource import CONFIG_MAPS, SECRETS, Resource
from kudo.api.setting import CONFIG_MAP, SECRET, Reference
from kudo.parameters.settings import settings_of

_KINDS: Final[Mapping[str, tuple[Resource, str]]] = {
    SECRET: (SECRETS, "secrets"),
    CONFIG_MAP: (CONFIG_MAPS, "configMaps"),
}
"""The resource of a kind, and the field of `lastRun` with what was read of it."""
_MOST: Final = 20
"""Objects that are looked at."""
_LONGEST: Final = 120

State = Literal["changed", "missing", "unknown"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source of parameters that is not, or may not be, as the last run read it.

    Attributes:
        kind: `Secret` or `ConfigMap`.
        name: Its name.
        parameters: The parameters that come from it.
        state: What is known of it; `unknown` if the reader may not read it.
    """

    kind: str
    name: str
    parameters: tuple[str, ...]
    state: State

    def __str__(self) -> str:
        what = f"{self.kind} {self.name}"
        names = printable(", ".join(self.parameters), _LONGEST)
        match self.state:
            case "changed":
                return (
                    f"{what} has changed since the last run, so {names} may have another value, "
                    "which is not in force"
                )
            case "missing":
                return f"{what} does not exist; the next run waits for it ({names})"
            case "unknown":
                plural = _KINDS[self.kind][0].plural
                return (
                    f"whether {what} has changed since the last run is unknown: you may not get "
                    f"{plural} ({names})"
                )

    def to_data(self) -> JsonObject:
        return {
            "kind": self.kind,
            "name": self.name,
            "parameters": list(self.parameters),
            "state": self.state,
        }


async def source_states(session: Session, instance: JsonObject) -> tuple[SourceState, ...]:
    """Return the sources that are not as the last run read them; most often there are none."""
    last = (instance.get("status") or {}).get("lastRun") or {}
    read: dict[tuple[str, str], dict[str, JsonObject]] = defaultdict(dict)
    for parameter, setting in settings_of(instance.get("spec") or {}).items():
        if isinstance(setting, Reference) and setting.kind:
            record = (last.get(_KINDS[setting.kind][1]) or {}).get(parameter)
            if record:
                read[setting.kind, setting.name][parameter] = record
    found: list[SourceState] = []
    for (kind, name), records in list(read.items())[:_MOST]:
        state = await _state(session, instance, kind, name, records)
        if state is not None:
            found.append(SourceState(kind, name, tuple(sorted(records)), state))
    return tuple(found)


async def _state(
    session: Session,
    instance: JsonObject,
    kind: str,
    name: str,
    records: Mapping[str, JsonObject],
) -> State | None:
    """Return what is known of an object; None if it is as each parameter was read."""
    namespace = instance["metadata"]["namespace"]
    try:
        stored = await session.client.get(
            _KINDS[kind][0], name, namespace=namespace, metadata_only=True
        )
    except NotFound:
        return "missing"
    except Forbidden:
        return "unknown"
    metadata = stored["metadata"]
    now = metadata.get("uid"), metadata.get("resourceVersion")
    same = all((each.get("uid"), each.get("resourceVersion")) == now for each in records.values())
    return None if same else "changed"
