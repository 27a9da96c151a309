"""Checks of what `operator.yaml` says of the package as a whole: name and versions."""

from collections.abc import Callable, Iterator

from gotemplate import VersionError
from kubeio.names import MAX_LABEL, MAX_SUBDOMAIN, is_subdomain
from kudo.api.names import operator_version_name
from kudo.api.problems import shown_name
from kudo.api.semver import read_version
from kudo.packages.model import Package
from kudo.verification.finding import Finding, Place, error, in_operator, tolerated


def versions_are_semantic(package: Package) -> Iterator[Finding]:
    operator = package.operator
    yield from _version("operatorVersion", operator.operator_version, required=True)
    yield from _version("kubernetesVersion", operator.kubernetes_version, required=True, make=error)
    yield from _version("appVersion", operator.app_version)
    yield from _version("kudoVersion", operator.kudo_version)


def _version(
    field: str,
    text: str,
    *,
    required: bool = False,
    make: Callable[[str, str, Place], Finding] = tolerated,
) -> Iterator[Finding]:
    if not text and required:
        message = f'"{field}" is required and must be semver'
        yield error("VersionMissing", message, in_operator(field))
    elif text:
        try:
            read_version(text)
        except VersionError as fault:
            message = f'unable to parse "{field}": {fault}'
            yield make("VersionInvalid", message, in_operator(field))


def the_name_can_be_used(package: Package) -> Iterator[Finding]:
    """Objects and labels are named after the operator."""
    name = package.operator.name
    if len(name) > MAX_LABEL or not is_subdomain(name):
        message = (
            f'operator name "{name[: 2 * MAX_LABEL]}" is not a DNS-1123 name, so it cannot be '
            f'installed: use at most {MAX_LABEL} lower-case letters, digits, "-" and ".", with a '
            "letter or digit at both ends"
        )
        yield error("InvalidName", message, in_operator("name"))


def the_version_can_be_named(package: Package) -> Iterator[Finding]:
    """The OperatorVersion is named after the operator and its versions."""
    file = package.operator
    name = operator_version_name(file.name, file.operator_version, file.app_version)
    if not file.operator_version or not is_subdomain(file.name):  # which other checks report
        return
    if len(name) > MAX_SUBDOMAIN or not is_subdomain(name):
        at_fault = "operatorVersion" if not is_subdomain(file.operator_version) else "appVersion"
        message = (
            f'the OperatorVersion would be named "{shown_name(name)}", which no object can be: use '
            f'lower-case letters, digits, "-" and "." in operatorVersion and appVersion, and at '
            f"most {MAX_SUBDOMAIN} characters in all"
        )
        yield error("InvalidName", message, in_operator(at_fault))
