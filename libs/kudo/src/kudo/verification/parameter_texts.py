"""Optional checks of what `params.yaml` tells people: `--param-checks` of `package verify`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kudo.packages.model import Package
from kudo.verification.checks import located
from kudo.verification.finding import Finding, Place, at_group, at_parameter, warning

ALL: Final = "all"
NAMES: Final = ("display", "hint", "desc", "type", "hasgroup", "groups", ALL)
"""What `--param-checks` takes, in the order of KUDO 0.19's error."""
_REASON: Final = "ParameterText"
_ENDS: Final = (".", "!", "?", ")")


def verify_parameter_texts(package: Package, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the warnings of the checks of these names, in the order of KUDO 0.19."""
    selected = set(names)
    checks = [check for name, check in _CHECKS.items() if name in selected or ALL in selected]
    return tuple(located(finding, package) for check in checks for finding in check(package))


def _descriptions(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        for fault in _description_faults(parameter.description):
            yield _of_parameter(parameter.name, fault, "description")


def _hints(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if not parameter.hint:
            yield _of_parameter(parameter.name, "has no hint", "hint")
        elif not parameter.hint.endswith("."):
            yield _of_parameter(parameter.name, "has a hint that does not end with '.'", "hint")


def _display_names(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        for fault in _display_faults(parameter.display_name):
            yield _of_parameter(parameter.name, fault, "displayName")


def _have_group(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if not parameter.group:
            yield _of_parameter(parameter.name, "has no group", "group")


def _have_type(package: Package) -> Iterator[Finding]:
    for parameter in package.parameters:
        if not parameter.type:
            yield _of_parameter(parameter.name, "has no explicit type assigned", "type")


def _groups(package: Package) -> Iterator[Finding]:
    for group in package.groups:
        subject = f'parameter group "{group.name}"'
        for fault in _display_faults(group.display_name):
            yield _warning(subject, fault, at_group(group.name, "displayName"))
        for fault in _description_faults(group.description):
            yield _warning(subject, fault, at_group(group.name, "description"))


_CHECKS: Final[dict[str, Callable[[Package], Iterator[Finding]]]] = {
    "desc": _descriptions,
    "hint": _hints,
    "display": _display_names,
    "hasgroup": _have_group,
    "type": _have_type,
    "groups": _groups,
}


def _description_faults(text: str) -> Iterator[str]:
    if not text:
        yield "has no description"
        return
    if not text.rstrip("\n").endswith(_ENDS):
        yield f"has a description that does not end with one of {''.join(_ENDS)}"
    if text[0].islower():
        yield "has a description that starts with a lower-case letter"


def _display_faults(text: str) -> Iterator[str]:
    if not text:
        yield "has no displayName"
        return
    if text.endswith(":"):
        yield "has a displayName that ends with ':'"
    if text[0].islower():
        yield "has a displayName that starts with a lower-case letter"


def _of_parameter(name: str, fault: str, field: str) -> Finding:
    return _warning(f'parameter "{name}"', fault, at_parameter(name, field))


def _warning(subject: str, fault: str, place: Place) -> Finding:
    return warning(_REASON, f"{subject} {fault}", place)
