"""What a write changes of an Instance: its version and parameters, as one line each.

Lines show values: of secrets a mark, of long ones the beginning, all of them without control
characters. What is secret is told by names, by the templates of the OperatorVersion and by what a
text looks like (`kudo.redaction`), so without the OperatorVersion no value is shown.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from goyaml import YamlError, load
from kubectl_kudo.reading.runs import JsonObject
from kubectl_kudo.session.blocks import printable
from kudo.api.known_secrets import MARK, is_sensitive
from kudo.api.setting import Setting
from kudo.parameters.settings import Settings, settings_of
from kudo.parameters.types import is_container
from kudo.redaction.objects import Redactor

NOT_SET: Final = "(not set)"
_LONGEST: Final = 60
"""Characters of a value that are shown."""
_LONGEST_REFERENCE: Final = 120
_MOST: Final = 20
"""Lines that are shown."""
_MOST_KEYS: Final = 5
"""Entries of a map that are shown one by one."""
_LONGEST_YAML: Final = 2**16
"""Characters of a map or array that is read for its entries."""


def changed_values(before: JsonObject, values: Settings) -> dict[str, Setting]:
    """Return those of the values that an Instance does not have; a default is not one it has."""
    stored = settings_of(before.get("spec") or {})
    return {name: value for name, value in values.items() if stored.get(name) != value}


def changes(
    before: JsonObject, after: JsonObject, old: JsonObject | None, new: JsonObject | None
) -> list[str]:
    """Return what differs between two states of an Instance, a line for each field.

    An upgrade changes the defaults of parameters, too: those that the Instance does not set.

    Args:
        before: The Instance before the write.
        after: The Instance after it.
        old: The OperatorVersion that it had; None if it cannot be read.
        new: The OperatorVersion that it has; None if it cannot be read.
    """
    lines = [*_version(before, after, old, new), *_account(before, after)]
    lines += _Values.of(before, after, old, new).lines()
    more = len(lines) - _MOST
    return lines if more <= 0 else [*lines[:_MOST], f"and {more} more changes"]


def version_text(version: JsonObject, other: JsonObject) -> str:
    """Return how a version is called beside another one: with its appVersion if that differs."""
    spec, others = version.get("spec") or {}, other.get("spec") or {}
    text = str(spec.get("version") or "(none)")
    if spec.get("appVersion") == others.get("appVersion"):
        return printable(text, _LONGEST)
    return printable(f"{text} (app version {spec.get('appVersion') or 'none'})", 2 * _LONGEST)


def _version(
    before: JsonObject, after: JsonObject, old: JsonObject | None, new: JsonObject | None
) -> Iterator[str]:
    names = [(each["spec"].get("operatorVersion") or {}).get("name") for each in (before, after)]
    if names[0] == names[1]:
        return
    shown = [printable(str(name), _LONGEST) for name in names]
    if old is not None and new is not None:
        shown = [version_text(old, new), version_text(new, old)]
    yield f"version: {shown[0]} → {shown[1]}"


def _account(before: JsonObject, after: JsonObject) -> Iterator[str]:
    names = [str(each["spec"].get("serviceAccountName") or "") for each in (before, after)]
    if names[0] != names[1]:
        shown = [printable(name, _LONGEST) or NOT_SET for name in names]
        yield f"service account: {shown[0]} → {shown[1]}"


@dataclass(frozen=True, slots=True)
class _Side:
    """The values of one state of an Instance.

    Attributes:
        stored: What the Instance sets.
        declared: The parameters of its OperatorVersion, by name.
    """

    stored: Settings
    declared: Mapping[str, JsonObject]

    @classmethod
    def of(cls, instance: JsonObject, version: JsonObject | None) -> "_Side":
        parameters = ((version or {}).get("spec") or {}).get("parameters") or ()
        stored = settings_of(instance.get("spec") or {})
        return cls(stored, {str(each.get("name")): each for each in parameters})

    def value(self, name: str) -> Setting | None:
        """Return the value that templates get; None if there is none."""
        default = (self.declared.get(name) or {}).get("default")
        return self.stored.get(name, None if default is None else str(default))

    def is_secret(self, name: str) -> bool:
        return bool((self.declared.get(name) or {}).get("secret"))

    def kind(self, name: str) -> str:
        return str((self.declared.get(name) or {}).get("value-type") or "")


@dataclass(frozen=True, slots=True)
class _Values:
    """The parameters of two states of an Instance.

    Attributes:
        redactor: Has seen both, and their versions; None if a version cannot be read.
    """

    before: _Side
    after: _Side
    redactor: Redactor | None

    @classmethod
    def of(
        cls, before: JsonObject, after: JsonObject, old: JsonObject | None, new: JsonObject | None
    ) -> "_Values":
        redactor = None
        if old is not None and new is not None:
            redactor = Redactor()
            # Items of lists have no kind.
            versions = [{**version, "kind": "OperatorVersion"} for version in (old, new)]
            redactor.learn([*versions, *({**each, "kind": "Instance"} for each in (before, after))])
        return cls(_Side.of(before, old), _Side.of(after, new), redactor)

    def lines(self) -> Iterator[str]:
        before, after = self.before, self.after
        for name in sorted({*before.stored, *after.stored, *before.declared}):
            # A parameter that only one version declares comes and goes with it.
            is_gone = name not in {*after.declared, *after.stored}
            is_same = before.value(name) == after.value(name)
            if is_gone or (is_same and before.stored.get(name) == after.stored.get(name)):
                continue
            if name not in before.stored and self._is_pinned(name):
                continue
            yield from self._parameter(name)

    def _is_pinned(self, name: str) -> bool:
        """Return whether admission alone has set a parameter: to its default, as immutable."""
        declared = self.after.declared.get(name) or {}
        is_default = self.after.stored.get(name) == declared.get("default")
        is_same = self.before.value(name) in {None, declared.get("default")}
        return bool(declared.get("immutable")) and is_default and is_same

    def _parameter(self, name: str) -> Iterator[str]:
        label, before, after = printable(name, _LONGEST), self.before, self.after
        old, new = before.value(name), after.value(name)
        if self.redactor is None:
            yield f"{label}: changed"
            return
        is_secret = is_sensitive(name, of_user=True) or name in self.redactor.parameters
        is_secret = is_secret or any(side.is_secret(name) for side in (before, after))
        maps = None if is_secret else _maps(old, new, before.kind(name), after.kind(name))
        if maps is not None:
            yield from self._entries(label, *maps)
            return
        texts = []
        for side, value in ((before, old), (after, new)):
            text = self._shown(value, side.kind(name), is_secret=is_secret)
            is_default = value is not None and name not in side.stored
            texts.append(f"{text} (default)" if is_default else text)
        yield self._line(label, (old, new), texts)

    def _entries(self, label: str, old: JsonObject, new: JsonObject) -> Iterator[str]:
        for key in sorted({*old, *new}):
            if old.get(key) == new.get(key) and (key in old) == (key in new):
                continue
            values = [_json(each[key]) if key in each else None for each in (old, new)]
            is_secret = is_sensitive(key, of_user=True)
            texts = [self._shown(value, "", is_secret=is_secret) for value in values]
            yield self._line(f"{label}.{printable(key, _LONGEST)}", values, texts)

    def _line(self, label: str, values: Sequence[Setting | None], texts: Sequence[str]) -> str:
        if texts[0] != texts[1]:
            return f"{label}: {texts[0]} → {texts[1]}"
        # What differs is hidden, or comes behind what is shown.
        if MARK in texts[0]:
            return f"{label}: changed {MARK}"
        old, new = (len(str(value or "")) for value in values)
        return f"{label}: changed ({old} → {new} characters)"

    def _shown(self, value: Setting | None, kind: str, *, is_secret: bool) -> str:
        if value is None:
            return NOT_SET
        if not isinstance(value, str):
            return printable(str(value), _LONGEST_REFERENCE)
        if is_secret and value:
            return MARK
        assert self.redactor is not None, "without it no value is shown"
        content = _content(value) if is_container(kind) else None
        # Redacted as a whole and then cut: half a secret is not recognized.
        text = self.redactor.text(value if content is None else _json(content))
        return printable(text, _LONGEST) or '""'


def _maps(
    old: Setting | None, new: Setting | None, *kinds: str
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return two values as maps, if they are maps that differ in few entries."""
    if set(kinds) != {"map"} or not isinstance(old, str) or not isinstance(new, str):
        return None
    left, right = _content(old), _content(new)
    if not isinstance(left, dict) or not isinstance(right, dict):
        return None
    keys = {key for key in {*left, *right} if left.get(key) != right.get(key)}
    return (left, right) if 0 < len(keys) <= _MOST_KEYS else None


def _content(text: str) -> object:
    """Return what a text is in YAML; None if it is too long or not YAML."""
    if len(text) > _LONGEST_YAML:
        return None
    try:
        return load(text)
    except YamlError:
        return None


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
