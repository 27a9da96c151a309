"""Reads what decisions need: parts of submitted and stored Instances, and OperatorVersions.

Pydantic creates an error for each wrong item, however many there are. To bound that, the wrong
items of a map or a list are counted first, and only the first of them are passed to it.
"""

from collections.abc import Callable, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kudo.api import Instance, Json, JsonObject, OperatorVersion
from kudo.api.problems import (
    MOST_PROBLEMS,
    InvalidInput,
    KudoError,
    Problem,
    first_problems,
    shown,
    shown_name,
)

_METADATA = ("name", "deletionTimestamp", "finalizers")
# Metadata that decisions need; the namespace is that of the request.
_TEXTS = ("labels", "annotations")
_RUN = ("uid", "status", "retryOf", "retried")
_RECORD = ("plan", "uid", "operatorVersion", "configuration", "cause")
_PATH_PARTS = 10

NAMELESS = "(generated name)"
OBJECT_NAME = 320
"""Characters of the namespace and the name of an object; a longer one has not been validated."""


class InstanceReader:
    """Reads the objects of one request.

    Args:
        namespace: Namespace of the request.
        name: Name in the request; empty where the API server is to make one.
    """

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self._name = name
        self._left_out = 0

    def submitted(self, raw: JsonObject) -> Instance:
        """Return a submitted Instance without its status, which never counts.

        Raises:
            InvalidInput: it does not match the schema of an Instance.
        """
        return self._read(raw)

    def stored(self, raw: JsonObject, *, history: bool = False) -> Instance:
        """Return a stored Instance with the uids and states of its runs.

        Args:
            raw: The object.
            history: Whether to read the history of its runs as well.

        Raises:
            InvalidInput: it does not match the schema of an Instance.
        """
        status = raw.get("status") or {}
        if not isinstance(status, dict):
            return self._read(raw, status)
        last = self._trimmed_in(status.get("lastRun"), "parameters", _is_text)
        plans = status.get("planStatus")
        if isinstance(plans, dict):
            # Phases, steps and tasks are most of a status, and decide nothing.
            fields = (*_RUN, "runParameters") if history else _RUN
            plans = {plan: _narrowed(entry, fields) for plan, entry in plans.items()}
        runs = self._trimmed_in({"planStatus": plans, "lastRun": last}, "planStatus", _is_run)
        if history:
            records = status.get("history")
            if isinstance(records, list):
                records = [_narrowed(entry, _RECORD) for entry in records]
                for record in records:
                    if isinstance(record, dict) and isinstance(record.get("cause"), dict):
                        record["cause"] = {"retryOf": record["cause"].get("retryOf")}
            runs = self._trimmed_in({**runs, "history": records}, "history", _is_record)
        return self._read(raw, runs)

    def _read(self, raw: JsonObject, status: Json = None) -> Instance:
        narrow = {"metadata": self._metadata(raw.get("metadata") or {})}
        if status is not None:
            narrow["status"] = status
        if "spec" in raw:
            spec = self._trimmed_in(raw["spec"], "parameters", _is_text)
            if isinstance(spec, dict) and isinstance(spec.get("planExecution"), dict):
                run = self._trimmed_in(spec["planExecution"], "parameters", _is_text)
                if run is not spec["planExecution"]:
                    spec = {**spec, "planExecution": run}
            narrow["spec"] = self._trimmed_in(spec, "parametersFrom", _is_source)
        try:
            return Instance.from_wire(narrow)
        except ValidationError as error:
            # Without the input, which may be a secret.
            entries = error.errors(include_url=False, include_input=False)
            problems = (self._unreadable(entry) for entry in entries)
            raise InvalidInput(first_problems(problems, beside=self._left_out)) from error

    def _metadata(self, metadata: Json) -> Json:
        if not isinstance(metadata, dict):
            return metadata
        kept = {field: metadata[field] for field in _METADATA if field in metadata}
        kept = self._trimmed_in(kept, "finalizers", _is_text)
        for field in _TEXTS:
            if field in metadata:
                # The API server stores no other values than texts in these.
                values = metadata[field] if isinstance(metadata[field], dict) else {}
                kept[field] = {name: text for name, text in values.items() if _is_text(text)}
        # A submitted object need not repeat the name and the namespace of the request.
        return {"name": self._name, **kept, "namespace": self._namespace}

    def _trimmed_in(self, owner: Json, field: str, right: Callable[[Json], bool]) -> Json:
        """Return an object whose map or list in `field` holds no more than 20 wrong items."""
        items = owner.get(field) if isinstance(owner, dict) else None
        if not isinstance(items, dict | list) or len(items) <= MOST_PROBLEMS:
            return owner
        values = items.values() if isinstance(items, dict) else items
        wrong = sum(not right(item) for item in values)
        if wrong <= MOST_PROBLEMS:
            return owner
        self._left_out += wrong - MOST_PROBLEMS
        # Nothing but wrong items: the object cannot be read anyway.
        if isinstance(items, list):
            return {**owner, field: [item for item in items if not right(item)][:MOST_PROBLEMS]}
        names = [name for name, item in items.items() if not right(item)][:MOST_PROBLEMS]
        return {**owner, field: {name: items[name] for name in names}}

    def _unreadable(self, entry: ErrorDetails) -> Problem:
        field = ".".join(shown_name(str(part)) for part in entry["loc"][:_PATH_PARTS])
        hint = "; put it in quotes" if entry["type"] == "string_type" else ""
        key = shown(f"{self._namespace}/{self._name or NAMELESS}", OBJECT_NAME)
        text = f"failed to read Instance {key}: {field}: {entry['msg']}{hint}"
        return Problem("InstanceUnreadable", text, field)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_source(entry: Json) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    for selector in (entry.get("secretKeyRef"), entry.get("configMapKeyRef")):
        if not isinstance(selector, dict | None):
            return False
        if selector is not None and not all(
            isinstance(selector.get(f), str) for f in ("name", "key")
        ):
            return False
    return True


def _narrowed(entry: Json, fields: Sequence[str]) -> Json:
    if not isinstance(entry, dict):
        return entry
    return {field: entry[field] for field in fields if field in entry}


def _is_run(entry: Json) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("status", ""), str):
        return False
    given = entry.get("runParameters") or {}
    if not isinstance(given, dict) or not all(map(_is_text, given.values())):
        return False
    uids = (entry.get("uid"), entry.get("retryOf"), entry.get("retried"))
    return all(isinstance(uid, str | None) for uid in uids)


def _is_record(entry: Json) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("cause", {}), dict | None):
        return False
    required = (entry.get("plan", ""), entry.get("uid", ""))
    retry_of = (entry.get("cause") or {}).get("retryOf")
    optional = (entry.get("operatorVersion"), entry.get("configuration"), retry_of)
    return all(isinstance(text, str) for text in required) and all(
        isinstance(text, str | None) for text in optional
    )


class VersionMalformed(KudoError):
    """An OperatorVersion that does not match its schema; the message says where."""


def parse_version(raw: JsonObject) -> OperatorVersion:
    """Parse an OperatorVersion that is within `kudo.api.bounds`; it takes up to 10 ms then.

    Raises:
        VersionMalformed: it does not match the schema.
    """
    try:
        return OperatorVersion.from_wire(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(shown_name(str(part)) for part in first["loc"])
        raise VersionMalformed(f"{where}: {first['msg']}") from error
