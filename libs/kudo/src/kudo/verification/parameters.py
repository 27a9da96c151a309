"""Checks of what `params.yaml` declares, by itself."""

from collections.abc import Iterator
from typing import Final

from kudo.packages import Package, PackageParameter
from kudo.verification.finding import Finding, at_group, at_parameter, error
from kudo.verification.tasks import repeated
from kudo.verification.values import enum_fault, type_fault

_NOT_IN_NAMES: Final = ";,"


def names_are_unique(package: Package) -> Iterator[Finding]:
    """Names that differ in case only are one name to people."""
    seen: set[str] = set()
    for parameter in package.parameters:
        name = parameter.name.lower()
        if name in seen:
            yield _error(parameter, "has a duplicate", "ParameterDuplicate")
        seen.add(name)


def names_can_be_typed(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        for character in parameter.name:
            if character in _NOT_IN_NAMES:
                text = f"contains invalid character '{character}'"
                yield _error(parameter, text, "ParameterNameInvalid")


def immutable_ones_get_a_value(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if parameter.immutable and not parameter.required and not _has_default(parameter):
            text = "is immutable but is not marked as required or has a default value"
            yield _error(parameter, text)


def enums_are_valid(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if parameter.enum == ():
            yield _error(parameter, "is an enum but has no allowed values")
        for value in parameter.enum or ():
            fault = type_fault(value, parameter.type)
            if fault:
                yield _error(parameter, f"has an invalid enum value: {fault}")


def defaults_are_valid(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if not _has_default(parameter):
            continue
        value = parameter.default
        fault = type_fault(value, parameter.type) or enum_fault(parameter, value)
        if fault:
            yield _error(parameter, f"has an invalid default value: {fault}")


def groups_of_parameters_are_valid(package: Package) -> Iterator[Finding]:
    defined = {group.name for group in package.groups}
    for parameter in package.parameters:
        if "/" in parameter.group:
            yield _error(parameter, "has a group with invalid character '/'")
        if parameter.group and parameter.group not in defined:
            text = f'has a group "{parameter.group}" that is not defined in the group section'
            yield _error(parameter, text)


def advanced_ones_need_no_value(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if parameter.advanced and parameter.required and not _has_default(parameter):
            text = (
                "is marked as advanced, but also as required and has no default. An advanced "
                "parameter must either be optional or have a default value"
            )
            yield _error(parameter, text)


def groups_are_valid(package: Package) -> Iterator[Finding]:
    for group in package.groups:
        if "/" in group.name:
            text = f"parameter group \"{group.name}\" contains invalid character '/'"
            yield error("ParameterGroupInvalid", text, at_group(group.name))
    for name in repeated(group.name for group in package.groups):
        text = f'parameter group "{name}" is duplicated'
        yield error("ParameterGroupInvalid", text, at_group(name))


def _has_default(parameter: PackageParameter) -> bool:
    return parameter.default is not None


def _error(parameter: PackageParameter, text: str, reason: str = "ParameterInvalid") -> Finding:
    return error(reason, f'parameter "{parameter.name}" {text}', at_parameter(parameter.name))
