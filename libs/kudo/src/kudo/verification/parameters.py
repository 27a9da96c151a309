"""Checks of what `params.yaml` declares, by itself: names, types, enums, defaults and groups.

A number without quotes is as good as the text of it, where no digit can get lost: an integer for
`integer`, `number` and `string`, a fraction for `number`.
"""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from goyaml import DumpError
from kudo.api import Parameter
from kudo.api.problems import InvalidInput, path_text, shown_name
from kudo.packages.files import PARAMETERS_FILE
from kudo.packages.model import Package, PackageParameter
from kudo.packages.source import source_of
from kudo.parameters.definitions import definition_faults
from kudo.parameters.sources import go_text, to_text
from kudo.parameters.template import template_values
from kudo.parameters.types import TYPES, ValueType, is_container
from kudo.parameters.values import check_value, read_fully
from kudo.verification.finding import Edit, Finding, at_group, at_parameter, error, tolerated
from kudo.verification.operator import repeated

_SHOWN: Final = 200


def type_fault(value: object, value_type: str) -> str | None:
    """Return why a value is none of that type, in the original's words; None if it is.

    Unknown types accept anything.
    """
    declared_type = TYPES.get(value_type)
    if (
        declared_type is None
        or (value is None and declared_type.container)
        or declared_type.accepts(value)
    ):
        return None
    if isinstance(value, str):
        return _text_fault(declared_type, value)
    if declared_type.container is not None:
        if isinstance(value, declared_type.container):
            return None
        expected = (
            f"an {declared_type.name}"
            if declared_type.name[0] in "aeiou"
            else f"a {declared_type.name}"
        )
        return f'type is "{declared_type.name}" but value {_shown(value)} is not {expected}'
    if declared_type.fault is None:
        return f'type is "{declared_type.name}" but format is invalid: {_shown(value)}'
    return f'type is "{declared_type.name}" but format of {_shown(value)} is invalid'


def enum_fault(parameter: PackageParameter, value: object) -> str | None:
    """Return why a value is none of those that the parameter allows; None if it is."""
    if parameter.enum is None:
        return None
    text = stored(parameter, value)
    allowed = [stored(parameter, value_of) or "" for value_of in parameter.enum]
    if text is None or text in allowed:
        return None
    shown = _shortened(" ".join(allowed))
    return f'value is "{_shortened(text)}", but only allowed values are [{shown}]'


def bounds_fault(parameter: PackageParameter, value: object) -> str | None:
    """Return which bound a value breaks; None if none, or if it is of another type."""
    text, bounds = stored(parameter, value), declared(parameter).bounds
    # As of an Instance: an empty value is none, unless the bounds say that it is too short.
    if bounds is None or text is None or not (text or bounds.min_length):
        return None
    fault = read_fully(parameter.type, text, bounds)
    return fault.detail if fault is not None and fault.bound else None


def stored(parameter: PackageParameter, value: object) -> str | None:
    """Return the text that installing stores for a value; None for no value."""
    try:
        return to_text(value, parameter.type)
    except DumpError:
        return None


def declared(parameter: PackageParameter) -> Parameter:
    """Return the parameter as installing declares it, without its default."""
    enum = parameter.enum
    return Parameter(
        name=parameter.name,
        value_type=parameter.type,
        enum=None
        if enum is None
        else tuple(stored(parameter, value_of) or "" for value_of in enum),
        **parameter.bounds,
    )


def _text_fault(declared_type: ValueType, text: str) -> str | None:
    """Check a text as the value of an Instance is checked."""
    if declared_type.container is None and declared_type.fault is None:
        return None
    if not text:
        fault = f'type is "{declared_type.name}" but format of "" is invalid: invalid syntax'
        return None if declared_type.container else fault
    problem = check_value(Parameter(value_type=declared_type.name), text)
    if problem is None:
        return None
    # The quotes of the value in front of it are escaped, so this is where the reason begins.
    return problem.message[problem.message.index(f'type is "{declared_type.name}"') :]


def _shown(value: object) -> str:
    return _shortened(json.dumps(value) if isinstance(value, str) else go_text(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_NOT_IN_NAMES: Final = ";,"
_ALIASES: Final = {alias: one.name for one in TYPES.values() for alias in one.aliases}


def names_are_unique(package: Package) -> Iterator[Finding]:
    """Names that differ in case only are one name to people."""
    seen: dict[str, list[str]] = {}
    for parameter in package.parameters:
        before = seen.setdefault(parameter.name.lower(), [])
        if before:
            place = at_parameter(parameter.name, occurrence=before.count(parameter.name))
            message = f'parameter "{parameter.name}" has a duplicate'
            yield tolerated("ParameterDuplicate", message, place, "remove or rename one of them")
        before.append(parameter.name)


def names_can_be_typed(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        for character in parameter.name:
            if character in _NOT_IN_NAMES:
                text = f"contains invalid character '{character}'"
                yield _error(parameter, text, "name", "ParameterNameInvalid")


def types_are_known(package: Package) -> Iterator[Finding]:
    """A value of an unknown type is taken as it is, and its checks never run."""
    for parameter in package.parameters:
        if parameter.type and parameter.type not in TYPES:
            text = f'has the unknown type "{shown_name(parameter.type)}"'
            folded = parameter.type.casefold()
            meant = folded if folded in TYPES else _ALIASES.get(folded, "")
            close = get_close_matches(folded, TYPES, n=1)
            suggestion = f"types are {', '.join(TYPES)}"
            if meant or close:
                suggestion = f'did you mean "{meant or close[0]}"?'
            yield tolerated(
                "ParameterTypeUnknown",
                f'parameter "{parameter.name}" {text}',
                at_parameter(parameter.name, "type"),
                suggestion,
                _type_edit(package, parameter, meant),
            )


def _type_edit(package: Package, parameter: PackageParameter, meant: str) -> Edit | None:
    """Return the edit of a type that is another name of a known one."""
    source = source_of(package.files.files.get(PARAMETERS_FILE, b""))
    node = source.value(("parameters", package.parameters.index(parameter), "type"))
    if not meant or node is None or source.plain(node) is None:
        return None
    summary = f'changed type "{parameter.type}" of parameter "{parameter.name}" to "{meant}"'
    start = node.start_mark.index
    return Edit(PARAMETERS_FILE, start, start + len(parameter.type), meant, summary)


def immutable_ones_get_a_value(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        # A secret has no default, so one that is optional and immutable is set at once or never.
        if parameter.immutable and not (
            parameter.required or parameter.secret or _has_default(parameter)
        ):
            text = "is immutable but is not marked as required or has a default value"
            yield _error(parameter, text, "immutable")


def enums_are_valid(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if parameter.enum == ():
            yield _error(parameter, "is an enum but has no allowed values", "enum")
        for value in parameter.enum or ():
            fault = type_fault(value, parameter.type)
            breach = None if fault else bounds_fault(parameter, value)
            if fault:
                yield _error(parameter, f"has an invalid enum value: {fault}", "enum")
            elif breach:
                text = f'parameter "{parameter.name}" has an enum value that it does not allow'
                place = at_parameter(parameter.name, "enum")
                yield error("ParameterInvalid", f"{text}: {_shown(value)}: {breach}", place)


def defaults_are_valid(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if not _has_default(parameter):
            continue
        value = parameter.default
        fault = type_fault(value, parameter.type) or enum_fault(parameter, value)
        if fault:
            text = f"has an invalid default value: {fault}"
            # A run cannot read such a default; of another type it is a text like any other.
            if is_container(parameter.type) and _unreadable(parameter):
                place = at_parameter(parameter.name, "default")
                yield error("ParameterInvalid", f'parameter "{parameter.name}" {text}', place)
            else:
                yield _error(parameter, text, "default")
        elif breach := bounds_fault(parameter, value):
            text = f'parameter "{parameter.name}" has a default that it does not allow: {breach}'
            place = at_parameter(parameter.name, "default")
            yield error("ParameterInvalid", text, place)


def bounds_can_hold(package: Package) -> Iterator[Finding]:
    """Bounds of another type, bounds that contradict each other, and patterns that are none.

    KUDO 0.19 knows no bounds, so none of it is tolerated.
    """
    for parameter in package.parameters:
        bounds = declared(parameter).bounds
        for path, fault in definition_faults(parameter.type, bounds) if bounds else ():
            where = path_text(path)
            about = f'bound "{where}" of parameter "{shown_name(parameter.name)}"'
            place = at_parameter(parameter.name, *path)
            yield error("ParameterBoundInvalid", f"{about}: {fault}", place)


def groups_of_parameters_are_valid(package: Package) -> Iterator[Finding]:
    defined = {group.name for group in package.groups}
    for parameter in package.parameters:
        if "/" in parameter.group:
            yield _error(parameter, "has a group with invalid character '/'", "group")
        if parameter.group and parameter.group not in defined:
            text = f'has a group "{parameter.group}" that is not defined in the group section'
            yield _error(parameter, text, "group")


def advanced_ones_need_no_value(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if parameter.advanced and parameter.required and not _has_default(parameter):
            text = (
                "is marked as advanced, but also as required and has no default. An advanced "
                "parameter must either be optional or have a default value"
            )
            yield _error(parameter, text, "advanced")


def groups_are_valid(package: Package) -> Iterator[Finding]:
    for group in package.groups:
        if "/" in group.name:
            text = f"parameter group \"{group.name}\" contains invalid character '/'"
            yield tolerated("ParameterGroupInvalid", text, at_group(group.name))
    for name in repeated(group.name for group in package.groups):
        text = f'parameter group "{name}" is duplicated'
        yield tolerated("ParameterGroupInvalid", text, at_group(name, occurrence=1))


def _unreadable(parameter: PackageParameter) -> bool:
    value = Parameter(
        name=parameter.name,
        value_type=parameter.type,
        default=stored(parameter, parameter.default),
    )
    try:
        template_values([value], {})
    except InvalidInput:
        return True
    return False


def _has_default(parameter: PackageParameter) -> bool:
    return parameter.default is not None


def _error(
    parameter: PackageParameter, text: str, field: str, reason: str = "ParameterInvalid"
) -> Finding:
    place = at_parameter(parameter.name, field)
    return tolerated(reason, f'parameter "{parameter.name}" {text}', place)
