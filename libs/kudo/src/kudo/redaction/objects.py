"""Removes secrets from Kubernetes objects: by the kind of the object, by names, by known values.

What is redacted in one object is collected first (`learn`), so that it can be replaced in all of
them, and in logs, whatever they call it.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kudo.api.known_secrets import COPIES, MARK, SECRET_FIELDS, KnownValues, is_sensitive
from kudo.redaction.texts import parameters_of_secrets, redact_template, redact_text, secrets_in

Json = Any
JsonObject = dict[str, Any]

# Below Python's limit of recursion.
_DEEPEST: Final = 60
_LONGEST_JSON: Final = 2**20
_TOO_DEEP: Final = "(nested too deeply)"
_LEFT_OUT: Final = "(left out: it repeats the object)"
_ENTRIES: Final = {
    ("ConfigMap", "data"),
    ("ConfigMap", "binaryData"),
    ("Instance", "parameters"),
    ("Instance", "runParameters"),
    ("", "parameters"),
    ("", "runParameters"),
}
"""Kind, and field with keys that users choose."""
_ASSIGNED: Final = re.compile(
    r"^[ \t]*[\w.-]{1,128}[ \t]*[:=][ \t]*[\"']?([^\s\"'][^\n\"']{7,})", re.MULTILINE
)
"""Values of at least eight characters in files such as `.env` and `.properties`."""
_MOST_ASSIGNED: Final = 100
_FLAG: Final = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]{0,64})")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands.

    Attributes:
        kind: Kind of the object.
        by_kubernetes: Whether the fields of the object are those of Kubernetes or KUDO.
        of_user: Whether users choose the names at this place.
        sensitive: Whether all that stands here is secret.
        depth: How many levels are above.
    """

    kind: str = ""
    by_kubernetes: bool = True
    of_user: bool = False
    sensitive: bool = False
    depth: int = 0

    def below(self, *, of_user: bool = False, sensitive: bool = False) -> "_Place":
        inherited = self.sensitive or sensitive
        return _Place(self.kind, self.by_kubernetes, of_user, inherited, self.depth + 1)


_EMBEDDED: Final = _Place(by_kubernetes=False)


def _declared_secrets(version: JsonObject) -> set[str]:
    """Return the parameters that an OperatorVersion declares as secret."""
    listed = (version.get("spec") or {}).get("parameters")
    items = listed if isinstance(listed, list) else []
    parameters = [each for each in items if isinstance(each, Mapping)]
    return {str(each.get("name")) for each in parameters if each.get("secret")}


@dataclass(slots=True)
class Redactor:
    """Redacts objects.

    Attributes:
        known: The values that were found to be secret.
        parameters: Names of parameters that are secret, or that templates write into Secrets.
    """

    known: KnownValues = field(default_factory=KnownValues)
    parameters: set[str] = field(default_factory=set)

    def learn(self, objects: Iterable[JsonObject]) -> None:
        """Collect the secret values of objects, all of them before the first is redacted."""
        # Kept, since they are gone through twice: templates name the parameters that are secret.
        collected = list(objects)
        for obj in collected:
            if obj.get("kind") == "OperatorVersion":
                templates = (obj.get("spec") or {}).get("templates")
                if isinstance(templates, Mapping):
                    self.parameters |= parameters_of_secrets(templates)
                self.parameters |= _declared_secrets(obj)
        # After all OperatorVersions: the first Instance may use one that comes last.
        walk = _Walk(self.parameters, self._note, self._learn_text)
        for obj in collected:
            walk.object(obj)

    def redact(self, obj: JsonObject) -> JsonObject:
        """Return a copy of an object, or of a list of objects, without secrets."""
        walk = _Walk(self.parameters, lambda _: MARK, self.text)
        if isinstance(obj.get("items"), list):
            items = [walk.object(item) if isinstance(item, dict) else MARK for item in obj["items"]]
            return {**obj, "items": items}
        return walk.object(obj)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        document = _json_in(text)
        if document is None:
            return redact_text(text, self.known)
        walk = _Walk(self.parameters, lambda _: MARK, lambda text: redact_text(text, self.known))
        return json.dumps(walk.value(document, _EMBEDDED), ensure_ascii=False)

    def _learn_text(self, text: str) -> str:
        for value in secrets_in(text):
            self.known.add(value)
        document = _json_in(text)
        if document is not None:
            _Walk(self.parameters, self._note, lambda text: text).value(document, _EMBEDDED)
        return text

    def _note(self, value: Json) -> Json:
        self.known.add(str(value))
        return MARK


def _json_in(text: str) -> Json:
    """Return the mapping or list that a text is in JSON, None if it is none."""
    # Most texts are no JSON: this costs less than the error of the reader.
    if not text.lstrip().startswith(("{", "[")) or len(text) > _LONGEST_JSON:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through objects.

    Attributes:
        parameters: Names of parameters that are secret.
        secret: Called with each secret scalar; returns what takes its place.
        text: Called with every other text; returns it as it is to be shown.
    """

    parameters: Iterable[str]
    secret: Callable[[Json], Json]
    text: Callable[[str], str]

    def object(self, obj: JsonObject) -> JsonObject:
        """Return what becomes of an object."""
        kind = str(obj.get("kind") or "")
        place = _Place(kind, _by_kubernetes(str(obj.get("apiVersion") or "")))
        return {key: self._part(str(key), value, place) for key, value in obj.items()}

    def _part(self, key: str, value: Json, place: _Place) -> Json:
        """Return what becomes of a field at the top of an object."""
        if place.kind == "Secret" and key in SECRET_FIELDS:
            return self._data(value, encoded=key == "data")
        if key == "metadata" and isinstance(value, dict):
            return self._metadata(value, place)
        return self.field(key, value, place)

    def _data(self, data: Json, *, encoded: bool) -> Json:
        if not isinstance(data, dict):
            return self._secret(data)
        for value in data.values():
            for text in _decoded(value) if encoded else (str(value),):
                self._parts(text)
        return {key: self._secret(value) for key, value in data.items()}

    def _parts(self, text: str) -> None:
        """Tell `secret` a value of a Secret, and those within it if it is a file of values."""
        self.secret(text)
        document = _json_in(text)
        if document is not None:
            self.value(document, _Place(sensitive=True))
        # A Secret may hold a file of values: a log shows one of them, never the whole file.
        elif "\n" in text or "=" in text:
            for value in _ASSIGNED.findall(text[:_LONGEST_JSON])[:_MOST_ASSIGNED]:
                self.secret(value)

    def _metadata(self, metadata: JsonObject, place: _Place) -> JsonObject:
        # The names of its fields repeat keys of a Secret, and may quote values of lists.
        kept = {key: value for key, value in metadata.items() if key != "managedFields"}
        annotations = kept.get("annotations")
        if isinstance(annotations, dict):
            kept["annotations"] = {
                # kubectl apply keeps the whole object here, with all that is redacted elsewhere.
                key: _LEFT_OUT if key in COPIES else value
                for key, value in annotations.items()
            }
        below = _Place(place.kind, by_kubernetes=True, depth=1)
        return {key: self.field(key, value, below) for key, value in kept.items()}

    def field(self, key: str, value: Json, place: _Place) -> Json:
        """Return what becomes of the value of a field."""
        if (place.kind, key) in _ENTRIES and isinstance(value, dict):
            return self._entries(value, place)
        if place.kind == "OperatorVersion" and key == "templates" and isinstance(value, dict):
            return {
                name: self.text(redact_template(str(template), self.secret))
                for name, template in value.items()
            }
        if place.sensitive or is_sensitive(key, of_user=place.of_user):
            return self._sensitive(value, place)
        return self.value(value, place.below())

    def _sensitive(self, value: Json, place: _Place) -> Json:
        structured = isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(item, dict) for item in value)
        )
        if structured and place.by_kubernetes and not place.of_user and not place.sensitive:
            # Such as `secret: {secretName: ...}`, a volume: the secret itself is not there.
            return self.value(value, place.below())
        return self.value(value, place.below(sensitive=True))

    def _entries(self, entries: JsonObject, place: _Place) -> JsonObject:
        return {
            key: self.value(
                value,
                place.below(
                    of_user=True,
                    sensitive=is_sensitive(key, of_user=True) or self._is_parameter(key, place),
                ),
            )
            for key, value in entries.items()
        }

    def _is_parameter(self, name: str, place: _Place) -> bool:
        return place.kind in {"", "Instance", "OperatorVersion"} and name in self.parameters

    def value(self, value: Json, place: _Place) -> Json:
        """Return what becomes of a value."""
        # Left out and not shown as it is: what was not looked at may be secret.
        if place.depth > _DEEPEST:
            return _TOO_DEEP
        if isinstance(value, dict):
            named = self._named(value, place)
            return named or {
                self.text(str(key)): self.field(str(key), item, place)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return self._list(value, place)
        if place.sensitive:
            return self._secret(value)
        if isinstance(value, str):
            return self.text(value)
        return self._number(value)

    def _named(self, entry: JsonObject, place: _Place) -> JsonObject | None:
        """Return what becomes of a pair such as `name: DB_PASSWORD, value: ...`, else None."""
        name = entry.get("name")
        if not isinstance(name, str):
            return None
        secret = is_sensitive(name, of_user=True) or self._is_parameter(name, place)
        if not secret or not {"value", "default"} & entry.keys():
            return None
        return {
            key: self.value(value, place.below(sensitive=key in {"value", "default", "enum"}))
            for key, value in entry.items()
        }

    def _list(self, values: list[Json], place: _Place) -> list[Json]:
        """Return what becomes of a list; a value may follow its flag, as in `--password x`."""
        items: list[Json] = []
        secret_next = False
        for value in values:
            here = place.below(of_user=place.of_user, sensitive=secret_next)
            items.append(self.value(value, here))
            flag = _FLAG.fullmatch(value) if isinstance(value, str) else None
            secret_next = flag is not None and is_sensitive(flag[1], of_user=True)
        return items

    def _secret(self, value: Json) -> Json:
        if value is None or isinstance(value, bool) or value in ("", MARK):
            return value
        if isinstance(value, dict | list):
            return self.value(value, _Place(sensitive=True))
        return self.secret(value)

    def _number(self, value: Json) -> Json:
        if value is None or isinstance(value, bool):
            return value
        shown = self.text(str(value))
        return value if shown == str(value) else shown


def _by_kubernetes(api_version: str) -> bool:
    group = api_version.rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io") or group == "kudo.dev"


def _decoded(value: Json) -> Iterable[str]:
    """Return the text that a value of `data` stands for; none if it is no text."""
    try:
        return (base64.b64decode(str(value), validate=True).decode(),)
    except (binascii.Error, ValueError):
        return ()
