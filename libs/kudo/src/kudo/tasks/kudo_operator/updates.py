"""The next update of a child that exists, and the fields of it that we own.

Decided from the state of the cluster alone, so it is the same after a crash. Each update is one
request, to which the admission rules apply; the next is sent when the child has finished its run:

    parameters that become immutable -> the version -> everything else

An upgrade comes with the values that only the new version knows. Those that both versions know stay
as they are in that request, since an upgrade together with an update that runs a plan of its own is
denied; they follow once the upgrade is COMPLETE.

The API server removes a parameter that the parent no longer sets only if `managedFields` says that
we applied it. KUDO 0.19 wrote its children by merge patches, as the manager `manager`. Of these
writes the parameters and the OperatorVersion become ours, and nothing else: the run in progress,
finalizers and changes by users keep their owners.
"""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import orjson

from kudo.api import Instance, JsonObject, OperatorVersion, Setting, names, new_run
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.managed_fields import Writer, entries_of, united, writer_of
from kudo.tasks.kudo_operator.child import Child, VersionKey

_RUNS = uuid.UUID("5f1ce8fa-6d0c-4f0c-9d0a-3d8f3c1b7a52")
"""Namespace of the uids of runs that a parent starts."""


@dataclass(frozen=True, slots=True)
class ChildUpdate:
    """The next update.

    Attributes:
        version: The OperatorVersion that the child gets.
        parameters: The parameters that it gets from us; what we had set and is missing here goes.
        last: Whether the child then is as the task wants it.
    """

    version: VersionKey
    parameters: Mapping[str, Setting]
    last: bool


def next_update(
    child: Child,
    existing: Instance,
    owned: Collection[str],
    before: OperatorVersion | None,
    after: OperatorVersion,
) -> ChildUpdate:
    """Return what is to be applied to an existing child, whether or not it changes anything.

    Args:
        child: What the task wants.
        existing: The child as it is.
        owned: The parameters that we have set.
        before: The OperatorVersion of `existing`; None if it is gone.
        after: The OperatorVersion that the task wants.

    Raises:
        FatalTaskError: the task sets a parameter that the new version dropped.
    """
    if existing.operator_version_key == child.version:
        return ChildUpdate(child.version, child.parameters, last=True)
    declared_before: Collection[str] = () if before is None else before.declared
    # Before the upgrade: after it, the parameter would be denied, and the child left upgraded.
    dropped = sorted(
        name for name in child.parameters if name in declared_before and name not in after.declared
    )
    if dropped:
        raise FatalTaskError(
            "TaskRenderingError",
            f"the parameter file of task {child.task} sets {', '.join(dropped)}, and "
            f"{after.metadata.name} no longer declares it; remove it from the file",
        )
    settled = _becoming_immutable(child, existing, before, after)
    ours = {name: existing.settings[name] for name in owned if name in existing.settings}
    if settled:
        return ChildUpdate(existing.operator_version_key, {**ours, **settled}, last=False)
    kept = {
        name: value
        for name, value in ours.items()
        if name in after.declared and (name in declared_before or name not in child.parameters)
    }
    new = {name: value for name, value in child.parameters.items() if name not in declared_before}
    parameters = {**kept, **new}
    return ChildUpdate(child.version, parameters, last=parameters == child.parameters)


def _becoming_immutable(
    child: Child, existing: Instance, before: OperatorVersion | None, after: OperatorVersion
) -> dict[str, Setting]:
    """Return new values of parameters that cannot be changed once the new version is in force."""
    if before is None:
        return {}
    return {
        name: value
        for name, value in child.parameters.items()
        if existing.settings.get(name) != value
        and (old := before.parameter(name)) is not None
        and (new := after.parameter(name)) is not None
        and new.immutable
        and not old.immutable
    }


def differs(existing: Instance, update: ChildUpdate, owned: Collection[str]) -> bool:
    """Return whether an update changes the spec of a child.

    Args:
        existing: The child as it is.
        update: What would be applied.
        owned: The parameters that we have set; none to leave out what we no longer set.
    """
    return (
        existing.operator_version_key != update.version
        or any(existing.settings.get(n) != v for n, v in update.parameters.items())
        or not set(owned) <= update.parameters.keys()
    )


def differs_in_account(child: Child, existing: Instance, owned: bool) -> bool:
    """Return whether an apply changes the account that a child names.

    Args:
        child: What the task wants.
        existing: The child as it is.
        owned: Whether we have applied the name of the account.
    """
    if child.account is None:
        return owned
    return existing.spec.service_account_name != child.account


def restart(existing: JsonObject, plan: str, execution: str) -> JsonObject:
    """Return a run that retries a failed plan of a child, once for each run of the parent.

    Its uid is derived from both, so that sending it twice has no further effect.

    Args:
        existing: The child.
        plan: Its plan that failed.
        execution: uid of the run of the parent.
    """
    uid = uuid.uuid5(_RUNS, f"{execution}/{existing['metadata']['uid']}")
    return new_run(plan, str(uid))


# Ownership of fields

_ORIGINAL = Writer("manager", "Update", "")
_OURS = Writer(names.FIELD_MANAGER, "Apply", "")
_VERSION, _PARAMETERS, _SOURCES = "f:operatorVersion", "f:parameters", "f:parametersFrom"


def owned_parameters(metadata: JsonObject) -> frozenset[str]:
    """Return the names of the parameters that we have applied, as values or as references."""
    specs = [_mapping(fields, "f:spec") for fields in _fields_of(metadata, _OURS)]
    values = [key for spec in specs for key in _mapping(spec, _PARAMETERS) if key[:2] == "f:"]
    sources = [key for spec in specs for key in _mapping(spec, _SOURCES) if key[:2] == "k:"]
    return frozenset(
        [*(key[2:] for key in values), *(str(orjson.loads(key[2:])["name"]) for key in sources)]
    )


def owns_account(metadata: JsonObject) -> bool:
    """Return whether we have applied `spec.serviceAccountName`."""
    ours = _fields_of(metadata, _OURS)
    return any("f:serviceAccountName" in _mapping(fields, "f:spec") for fields in ours)


def handed_over(metadata: JsonObject, kept: Collection[str]) -> list[JsonObject] | None:
    """Return the `managedFields` of a child with what the original set in our name.

    Args:
        metadata: Of the child as the API server gives it.
        kept: Parameters that stay as they are, since removing them would be denied: those that are
            immutable. The webhook of the original filled some in under the same name.

    Returns:
        None if the original set nothing, or it is ours already.
    """
    entries = entries_of(metadata)
    original = [entry for entry in entries if writer_of(entry) == _ORIGINAL]
    ours = [entry for entry in entries if writer_of(entry) == _OURS]
    halves = [_split(_mapping(entry, "fieldsV1"), kept) for entry in original]
    taken = [mine for mine, _ in halves if mine]
    if not taken:
        return None
    merged: JsonObject = {
        "manager": names.FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": names.API_VERSION,
        "time": max(str(entry.get("time") or "") for entry in (*original, *ours)),
        "fieldsType": "FieldsV1",
        "fieldsV1": united([*_fields_of(metadata, _OURS), *taken]),
    }
    left = [
        {**entry, "fieldsV1": rest}
        for entry, (_, rest) in zip(original, halves, strict=True)
        if rest
    ]
    others = [entry for entry in entries if writer_of(entry) not in (_ORIGINAL, _OURS)]
    return [merged, *left, *others]


def _split(fields: JsonObject, kept: Collection[str]) -> tuple[JsonObject, JsonObject]:
    """Return a set of fields as what becomes ours and what does not."""
    spec = _mapping(fields, "f:spec")
    parameters, stays = _mapping(spec, _PARAMETERS), {f"f:{name}" for name in kept}
    ours = {key: below for key, below in parameters.items() if key not in stays}
    theirs = {key: below for key, below in parameters.items() if key in stays}
    taken = _with({k: v for k, v in spec.items() if k == _VERSION}, _PARAMETERS, ours)
    rest = {k: v for k, v in spec.items() if k not in {_VERSION, _PARAMETERS}}
    others = {key: below for key, below in fields.items() if key != "f:spec"}
    return _with({}, "f:spec", taken), _with(others, "f:spec", _with(rest, _PARAMETERS, theirs))


def _with(fields: JsonObject, key: str, below: JsonObject) -> JsonObject:
    return {**fields, key: below} if below else fields


def _fields_of(metadata: JsonObject, writer: Writer) -> list[JsonObject]:
    entries = entries_of(metadata)
    return [_mapping(entry, "fieldsV1") for entry in entries if writer_of(entry) == writer]


def _mapping(fields: JsonObject, key: str) -> JsonObject:
    below = fields.get(key)
    return below if isinstance(below, dict) else {}
