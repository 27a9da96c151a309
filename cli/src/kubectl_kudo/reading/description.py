"""What is known about one Instance, its parameters included, and its form as data."""

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_kudo.reading.events import Event
from kubectl_kudo.reading.instance_state import (
    account_name,
    condition,
    is_suspended,
    last_plan,
    orphans_of,
    owner_name,
    pending,
    version_key,
)
from kubectl_kudo.reading.owned import Member, OwnedObject
from kubectl_kudo.reading.parameter_sources import SourceState
from kubectl_kudo.reading.runs import TIMED_OUT, active, entries, status_of, timed_out
from kubectl_kudo.session.output import JsonObject
from kudo.api.known_secrets import is_sensitive
from kudo.api.names import LABEL_OPERATOR
from kudo.api.setting import Reference
from kudo.api.value_bounds import WORDS, ValueBounds
from kudo.parameters.bound_texts import bounds_text
from kudo.parameters.settings import settings_of

SET, DEFAULT, NONE, UNDECLARED = "set", "default", "none", "undeclared"
"""Where a value is from. Of an undeclared one the OperatorVersion says nothing, so no plan uses
it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an Instance.

    Attributes:
        name: Its name.
        value: The value in use, None if it has neither value nor default, or comes from elsewhere.
        source: One of `set`, `default`, `none` and `undeclared`.
        declaration: That of the OperatorVersion, empty if there is none.
        reference: Where the value stands, if it is not in the Instance.
    """

    name: str
    value: str | None
    source: str
    declaration: JsonObject
    reference: Reference | None = None

    @property
    def is_secret(self) -> bool:
        """Whether its declaration or its name says that its value is a secret."""
        return bool(self.declaration.get("secret")) or is_sensitive(self.name, of_user=True)

    @property
    def bounds(self) -> str:
        """The bounds of its value in words; empty if it has none."""
        bounds = ValueBounds.of(self.declaration)
        return "" if bounds is None else bounds_text(bounds)

    def to_data(self) -> JsonObject:
        shown = ("required", "immutable", "secret", "trigger", "type", "description")
        declared = {
            key: self.declaration[key] for key in (*shown, *WORDS) if key in self.declaration
        }
        default = self.declaration.get("default")
        return {
            "name": self.name,
            # A secret that its package declares as such is shown nowhere.
            "value": None if self.declaration.get("secret") else self.value,
            "source": self.source,
            **({} if self.reference is None else {"from": str(self.reference)}),
            **({} if default is None else {"default": default}),
            **declared,
        }


def parameters_of(instance: JsonObject, version: JsonObject | None) -> list[Parameter]:
    """Return the parameters in the order of their names.

    Without the OperatorVersion, all that is known are the values that are set.
    """
    given = settings_of(instance.get("spec") or {})
    listed = ((version or {}).get("spec") or {}).get("parameters") or []
    declared = {str(declaration.get("name")): declaration for declaration in listed}
    parameters = []
    for name in sorted({*declared, *given}):
        declaration, value = declared.get(name, {}), given.get(name)
        if name not in declared:
            source = SET if version is None else UNDECLARED
        elif value is not None:
            source = SET
        else:
            value = declaration.get("default")
            source = NONE if value is None else DEFAULT
        reference = value if isinstance(value, Reference) else None
        text = None if value is None or reference is not None else str(value)
        parameters.append(Parameter(name, text, source, declaration, reference))
    return parameters


@dataclass(frozen=True, slots=True)
class Description:
    """An Instance and what belongs to it.

    Attributes:
        instance: The Instance.
        version: Its OperatorVersion, None if there is none.
        children: The Instances that it owns, with theirs.
        objects: The objects that its plans applied, and those made of them.
        events: Its recent events, and Warnings of its objects.
        unlisted: Kinds that could not be listed.
        sources: Secrets and ConfigMaps that are not as the last run read them.
    """

    instance: JsonObject
    version: JsonObject | None
    children: tuple[Member, ...]
    objects: tuple[OwnedObject, ...]
    events: tuple[Event, ...]
    unlisted: tuple[str, ...]
    sources: tuple[SourceState, ...] = ()

    @property
    def metadata(self) -> JsonObject:
        metadata: JsonObject = self.instance["metadata"]
        return metadata

    @property
    def version_spec(self) -> JsonObject:
        return (self.version or {}).get("spec") or {}

    @property
    def operator(self) -> str:
        """Return the operator's name, from the version, the last run or the label."""
        run = (self.instance.get("status") or {}).get("lastRun") or {}
        labels = self.metadata.get("labels") or {}
        declared = (self.version_spec.get("operator") or {}).get("name")
        return str(declared or run.get("operator") or labels.get(LABEL_OPERATOR) or "")

    @property
    def scheduled(self) -> str:
        """Return the plan that runs or has to run; empty if none."""
        run = active(self.instance)
        return run.plan if run else ""

    @property
    def parameters(self) -> list[Parameter]:
        return parameters_of(self.instance, self.version)

    def plans(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield name and entry of each plan, also of one that the version has no more."""
        recorded = entries(self.instance)
        for name in sorted({*recorded, *(self.version_spec.get("plans") or {})}):
            yield name, recorded.get(name) or {}

    def plan_state(self, name: str, entry: JsonObject) -> str:
        """Return the state of a plan; a run that nobody has begun is PENDING."""
        plan, state = last_plan(self.instance)
        return state if plan == name else status_of(entry)

    def to_data(self) -> JsonObject:
        namespace, version = version_key(self.instance)
        ready = condition(self.instance)
        return {
            "name": self.metadata["name"],
            "namespace": self.metadata["namespace"],
            "uid": self.metadata["uid"],
            "creationTimestamp": self.metadata.get("creationTimestamp"),
            "deleting": "deletionTimestamp" in self.metadata,
            "operator": self.operator,
            "operatorVersion": {
                "name": version,
                "namespace": namespace,
                "exists": self.version is not None,
                "version": self.version_spec.get("version") or "",
                "appVersion": self.version_spec.get("appVersion") or "",
            },
            "parent": owner_name(self.instance),
            **({"serviceAccountName": account} if (account := account_name(self.instance)) else {}),
            "ready": {key: ready.get(key) for key in ("status", "reason", "message")},
            "scheduledPlan": self.scheduled,
            **self._suspension(),
            **({"notInForce": waiting} if (waiting := pending(self.instance)) else {}),
            **self._orphans(),
            **({"sources": [each.to_data() for each in self.sources]} if self.sources else {}),
            "parameters": [parameter.to_data() for parameter in self.parameters],
            "plans": [self._plan(name, entry) for name, entry in self.plans()],
            "children": [_child(member) for member in self.children],
            "objects": [obj.to_data() for obj in self.objects],
            "events": [event.to_data() for event in self.events],
            "notListed": list(self.unlisted),
        }

    def _plan(self, name: str, entry: JsonObject) -> JsonObject:
        times = ("startedAt", "finishedAt", "lastUpdatedTimestamp")
        return {
            "name": name,
            "status": self.plan_state(name, entry),
            **{key: entry[key] for key in (*times, "retryOf", "runParameters") if entry.get(key)},
            **({"reason": TIMED_OUT} if timed_out(self.instance, entry) else {}),
            "message": entry.get("message") or "",
        }

    def _orphans(self) -> JsonObject:
        orphans, left_out = orphans_of(self.instance)
        if not orphans:
            return {}
        return {"orphans": orphans, **({"orphansLeftOut": left_out} if left_out else {})}

    def _suspension(self) -> JsonObject:
        if not is_suspended(self.instance):
            return {}
        since = (self.instance.get("status") or {}).get("suspendedAt")
        return {"suspended": True, **({"suspendedAt": since} if since else {})}


def _child(member: Member) -> JsonObject:
    plan, state = last_plan(member.instance)
    return {
        "name": member.instance["metadata"]["name"],
        "operatorVersion": version_key(member.instance)[1],
        "lastPlan": plan,
        "planStatus": state,
        "ready": condition(member.instance).get("status"),
        "children": [_child(child) for child in member.children],
    }
