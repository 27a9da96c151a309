"""What the spec of an Instance sets for its parameters, as JSON: read, set and changed.

A setting is a value (`spec.parameters`) or a reference to one (`spec.parametersFrom`). Imports no
models: the command line starts without them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kudo.api.setting import Reference, Setting, reference_in, source_with
from kudo.api.wire import JsonObject

Settings = Mapping[str, Setting]
_VALUES, _SOURCES = "parameters", "parametersFrom"
_MARK: Final = "(secret {})"


def settings_of(spec: JsonObject) -> dict[str, Setting]:
    """Return what a spec sets for each parameter."""
    sources = {each["name"]: reference_in(each) for each in spec.get(_SOURCES) or ()}
    return {**(spec.get(_VALUES) or {}), **sources}


def plain_values(settings: Settings) -> dict[str, str]:
    """Return the settings that are values."""
    return {name: each for name, each in settings.items() if isinstance(each, str)}


def with_settings(spec: JsonObject, settings: Settings) -> JsonObject:
    """Return a spec that sets these parameters, too."""
    together = {**settings_of(spec), **settings}
    found = {**spec, _VALUES: plain_values(together)}
    sources = _sources(together)
    return {**found, _SOURCES: sources} if sources else found


def patch_of(spec: JsonObject, settings: Mapping[str, Setting | None]) -> JsonObject:
    """Return the JSON Merge Patch of a spec that sets parameters; None removes one.

    A list is replaced as a whole: a patch with `parametersFrom` is for this spec alone.
    """
    stored, before = spec.get(_VALUES) or {}, settings_of(spec)
    patch: JsonObject = {}
    values = {
        name: None if isinstance(setting, Reference) else setting
        for name, setting in settings.items()
        if not isinstance(setting, Reference) or name in stored
    }
    if values:
        patch[_VALUES] = values
    after = {name: each for name, each in {**before, **settings}.items() if each is not None}
    if _sources(after) != _sources(before):
        patch[_SOURCES] = _sources(after) or None
    return patch


def _sources(settings: Settings) -> list[JsonObject]:
    return [
        source_with(name, each) for name, each in settings.items() if isinstance(each, Reference)
    ]


def assignment(name: str, setting: Setting) -> str:
    """Return what `-p` takes to set a parameter so."""
    if isinstance(setting, str):
        return f"{name}={setting}"
    word = next(word for word, kind in SOURCE_WORDS.items() if kind == setting.kind)
    return f"{name}@{word}={setting.name}/{setting.key}"


SOURCE_WORDS: Final = {"secret": "Secret", "configMap": "ConfigMap"}
"""What `-p NAME@WORD=OBJECT/KEY` says for a kind."""


def with_marks(parameters: Iterable[Any], values: Mapping[str, str]) -> dict[str, str]:
    """Return values for a preview, in which `(secret NAME)` stands for those of secret parameters.

    An array or a map has no such text, and stays without a value.

    Args:
        parameters: Those of the OperatorVersion (`kudo.api.Parameter`).
        values: The values that are known.
    """
    marks = {
        each.name: _MARK.format(each.name)
        for each in parameters
        if each.secret and each.value_type not in {"array", "map"}
    }
    return {**values, **marks}
