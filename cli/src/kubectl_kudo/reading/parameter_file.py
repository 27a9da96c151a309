"""The parameters of an Instance as a file to edit: values, and comments that say what they are.

The values are read like those of a parameter file (`-P`). A parameter that is not set has its
default as a comment. What is compared are the values of two such files, never their texts: YAML has
many spellings of a value.

Anybody may have written the texts of a package, so each of them stays in its comment.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from goyaml import YamlError, load
from kubectl_kudo.reading.runs import JsonObject, key_of
from kubectl_kudo.session.blocks import printable
from kudo.api.problems import InvalidInput, listed
from kudo.api.setting import Reference, Setting
from kudo.api.value_bounds import ValueBounds
from kudo.packages.readable_yaml import dump
from kudo.parameters.bound_texts import bounds_text
from kudo.parameters.settings import settings_of
from kudo.parameters.sources import parse_parameter_file
from kudo.parameters.types import is_container

_COLUMNS: Final = 96
_LONGEST: Final = 60
_LONGEST_BOUNDS: Final = 1000
"""Characters of the bounds of a value, which may have many definitions in them."""
_FAULT: Final = "#! "
"""What lines begin with that say what is wrong; all others are of the user."""
_LINE: Final = re.compile(r"\bline (\d+)")

Values = Mapping[str, str]


def parameter_file(instance: JsonObject, version: JsonObject) -> str:
    """Return the text of the file.

    Args:
        instance: The Instance.
        version: Its OperatorVersion.
    """
    stored, spec = settings_of(instance.get("spec") or {}), version.get("spec") or {}
    declared = {str(each.get("name")): each for each in spec.get("parameters") or ()}
    others = {name: value for name, value in stored.items() if name not in declared}
    version_name = printable(str(version["metadata"]["name"]))
    head = (
        f"# The parameters of instance {key_of(instance)}, which has version {version_name}.\n"
        "# Remove the # before a parameter to set it; put one there to go back to the default.\n"
        "# Save no change, or an empty file, to leave everything as it is.\n"
    )
    sections = [head, *(_section(each, stored.get(name)) for name, each in declared.items())]
    if others:
        sections.append(
            "# The OperatorVersion does not declare what follows, and nothing uses it.\n"
            + "".join(_undeclared(name, setting) for name, setting in sorted(others.items()))
        )
    return "\n".join(sections)


def read_values(text: str, file: str) -> dict[str, str]:
    """Return the values that a file sets.

    Args:
        text: Its text.
        file: Its name, for messages.

    Raises:
        InvalidInput: it cannot be read.
    """
    return parse_parameter_file(file, text, spelling=True, single=True)


def differences(before: Values, after: Values) -> dict[str, str | None]:
    """Return the values that differ between two files; None for what only the first one sets."""
    removed: dict[str, str | None] = {name: None for name in before if name not in after}
    return removed | {name: value for name, value in after.items() if before.get(name) != value}


def with_fault(text: str, fault: str, *, in_file: bool) -> str:
    """Return the text of a file with what is wrong with it on top.

    Args:
        text: The text, as `without_fault` returns it.
        fault: What is wrong.
        in_file: Whether its line numbers are those of the text.
    """
    lines = ["Nothing was sent. Correct this, or save no change to give up:", *fault.split("\n")]
    if in_file:
        lines = [_LINE.sub(lambda match: f"line {int(match[1]) + len(lines)}", s) for s in lines]
    return "".join(f"{_FAULT}{printable(line)}\n" for line in lines) + text


def without_fault(text: str) -> str:
    """Return the text of a file without what `with_fault` has put on top."""
    lines = text.splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if not line.startswith(_FAULT)), len(lines))
    return "".join(lines[first:])


def _undeclared(name: str, setting: Setting) -> str:
    return _assignment(name, setting) if isinstance(setting, str) else _comment(name, setting)


def _comment(name: str, reference: Reference) -> str:
    """Return what stands in the place of a value that is not in the Instance."""
    text = printable(f"{name} comes from {reference}", 2 * _LONGEST)
    return f"# {text}. A value here takes its place.\n#{_key(name)}\n"


def _section(parameter: JsonObject, value: Setting | None) -> str:
    name, kind = str(parameter.get("name")), str(parameter.get("value-type") or "string")
    default = parameter.get("default")
    comments = [*_about(parameter), _facts(parameter, kind, is_set=value is not None)]
    text = "".join(f"# {line}\n" for each in comments for line in _wrapped(each))
    if isinstance(value, Reference):
        return text + _comment(name, value)
    if value is not None:
        return text + _assignment(name, value, kind)
    # What has no default has no value either, and cannot be set to none.
    line = f"{_key(name)}\n" if default is None else _assignment(name, str(default), kind)
    return text + "".join(f"#{part}\n" for part in line.splitlines())


def _about(parameter: JsonObject) -> Iterator[str]:
    title, text = (str(parameter.get(key) or "") for key in ("displayName", "description"))
    yield from filter(None, (printable(line) for line in (title, *text.split("\n"))))


def _facts(parameter: JsonObject, kind: str, *, is_set: bool) -> str:
    """Return type, bounds and default of a parameter in words."""
    default, trigger = parameter.get("default"), parameter.get("trigger")
    choices = listed([str(each) for each in parameter.get("enum") or ()], most=_LONGEST)
    bounds = ValueBounds.of(parameter)
    # Of what is not set, the default stands below.
    shown = "" if default is None or not is_set else printable(str(default), _LONGEST) or '""'
    facts = [
        f"type {kind}",
        f"one of {choices}" if choices else "",
        printable(bounds_text(bounds), _LONGEST_BOUNDS) if bounds else "",
        f"default {shown}" if shown else "",
        "required" if parameter.get("required") and default is None else "",
        "secret" if parameter.get("secret") else "",
        "cannot be changed once it is set" if parameter.get("immutable") else "",
        f"runs plan {trigger}" if trigger else "",
    ]
    return printable("; ".join(filter(None, facts)))


def _wrapped(line: str) -> Iterable[str]:
    return textwrap.wrap(line, _COLUMNS, break_long_words=False, break_on_hyphens=False)


def _assignment(name: str, value: str, kind: str = "string") -> str:
    """Return the lines that set a parameter: the most readable ones that are read as the value.

    A value that no file can have, such as half a character, is left out, and stays as it is.
    """
    content = _container(value) if is_container(kind) else None
    spellings = [] if content is None else [dump({name: content})]
    if content is None and kind not in {"string", "array", "map"}:
        spellings.append(f"{_key(name)} {value}\n")
    spellings.append(dump({name: value}))
    left_out = f"# {printable(name)} has a value that no file can have; it stays as it is.\n"
    return next((text for text in spellings if _sets(text, name, value, content)), left_out)


def _sets(text: str, name: str, value: str, content: object) -> bool:
    try:
        values = read_values(text, name)
    except InvalidInput:
        return False
    is_equal = content is not None and _container(values.get(name, "")) == content
    return values.keys() == {name} and (is_equal or values[name] == value)


def _container(text: str) -> object:
    """Return the mapping or list that a text is in YAML; None if it is none."""
    try:
        content = load(text)
    except YamlError:
        return None
    return content if isinstance(content, dict | list) else None


def _key(name: str) -> str:
    return dump({name: None}).removesuffix(" null\n")
