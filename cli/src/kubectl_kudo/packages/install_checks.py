"""Checks of `install` and `upgrade` before they create anything: names, values, verification."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kubectl_kudo.packages.findings import located_message
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, listed
from kubectl_kudo.session.naming import name_fault
from kubectl_kudo.session.output import talk
from kubectl_kudo.session.suggestions import did_you_mean
from kubectl_kudo.session.terminal import word
from kubeio.names import MAX_LABEL, MAX_SUBDOMAIN
from kudo.api import OperatorVersion
from kudo.api.names import PLAN_DEPLOY
from kudo.api.problems import MOST_PROBLEMS, Problem
from kudo.packages.convert import PackageObjects
from kudo.packages.location import Located
from kudo.packages.resolution import Resolution
from kudo.parameters.check import check_value, missing_required
from kudo.verification import softened, verify, verify_dependencies
from kudo.verification.codes import OF_NEW_INSTANCES

_VERSION: Final = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.\d+)?(?:[-+][0-9A-Za-z.+-]*)?", re.ASCII)

MinorVersion = tuple[int, int]


def check_package(objects: PackageObjects) -> None:
    """Check that the objects can be created at all.

    Raises:
        CliError: names are invalid, or the package lacks its version.
    """
    problems = [
        *_name("operator", objects.operator.metadata.name, "operator.yaml: name", MAX_LABEL),
        *_package_version(objects.operator_version),
    ]
    if problems:
        raise CliError(listed("the package cannot be installed:", problems), code=ExitCode.INVALID)


def check_instance(name: str, version: OperatorVersion, values: Mapping[str, str]) -> None:
    """Check an Instance to be created, by the rules of the admission webhook and stricter ones.

    A parameter that the package does not declare is an error here: it is probably misspelt.

    Raises:
        CliError: something is wrong; the text lists all problems.
    """
    missing = [
        p.name
        for p in version.parameters
        if missing_required([p], values)  # one by one, for the names alone
    ]
    if missing:
        names = word(",".join(missing))
        raise CliError(
            f"missing required parameters during installation: {names}", code=ExitCode.DENIED
        )
    problems = [
        *_name("instance", name, "--instance", MAX_LABEL),
        *_undeclared(version, values),
        *_invalid(version, values),
        *_without_deploy(version),
    ]
    if problems:
        raise CliError(listed("the instance cannot be created:", problems), code=ExitCode.DENIED)


def check_kubernetes(required: str | None, server: Mapping[str, str]) -> None:
    """Check the lowest version of Kubernetes that a package names against that of the server.

    A server whose version cannot be read is taken to be new enough.

    Raises:
        CliError: the server is older, or the package names no version.
    """
    if not required:
        return
    lowest = minor_version(required)
    if lowest is None:
        raise CliError(f"unable to parse operators kubernetes version: {required}")
    found = minor_version(server.get("gitVersion") or "")
    if found is not None and found < lowest:
        raise CliError(
            f"expected kubernetes version of {required} is not supported with version: "
            f"{server['gitVersion']}"
        )


def minor_version(text: str) -> MinorVersion | None:
    """Return major and minor of a version as packages write it; None if it is not a version."""
    match = _VERSION.fullmatch(text)
    return (int(match[1]), int(match[2] or 0)) if match else None


def _name(what: str, name: str, where: str, longest: int) -> Iterator[Problem]:
    fault = name_fault(what, name, longest)
    if fault:
        yield Problem("InvalidName", fault, where)


def _package_version(version: OperatorVersion) -> Iterator[Problem]:
    if not version.spec.version:
        text = "the package does not name its version"
        yield Problem("VersionMissing", text, "operator.yaml: operatorVersion")
        return
    where = "operator.yaml: operatorVersion, appVersion"
    yield from _name("operatorversion", version.metadata.name, where, MAX_SUBDOMAIN)


def _undeclared(version: OperatorVersion, values: Mapping[str, str]) -> Iterator[Problem]:
    declared = [parameter.name for parameter in version.parameters]
    for name in values:
        if name not in declared:
            text = f'parameter "{name}" is not declared by the package; {_hint(name, declared)}'
            yield Problem("ParameterUnknown", text, f"spec.parameters[{name}]")


def _hint(name: str, declared: Iterable[str]) -> str:
    return did_you_mean(name, declared) or word(f"it declares {', '.join(declared) or 'none'}")


def _invalid(version: OperatorVersion, values: Mapping[str, str]) -> Iterator[Problem]:
    for parameter in version.parameters:
        problem = check_value(parameter, values.get(parameter.name, ""))
        if problem is not None:
            yield problem


def _without_deploy(version: OperatorVersion) -> Iterator[Problem]:
    if PLAN_DEPLOY not in version.plans:
        text = f"the package has no '{PLAN_DEPLOY}' plan, which a new instance runs"
        yield Problem("DeployPlanMissing", text, "operator.yaml: plans")


def verify_before_install(args: Args, located: Located, resolution: Resolution) -> None:
    """Refuse a package that has errors, and say how many warnings it has.

    Args:
        args: The command line, with `--skip-verify`.
        located: The package.
        resolution: The package with all that is installed with it.

    Raises:
        CliError: the package or a dependency has errors; the text lists them.
    """
    if args.skip_verify:
        return
    findings = softened((*verify(located.package), *verify_dependencies(located, resolution)))
    errors = [
        finding for finding in findings if finding.is_error and finding.code not in OF_NEW_INSTANCES
    ]
    if errors:
        texts = [located_message(finding) for finding in errors[:MOST_PROBLEMS]]
        more = len(errors) - len(texts)
        texts += [f"and {more} more"] if more else []
        lines = "\n  ".join("\n".join(texts).split("\n"))
        raise CliError(
            f"the package has {_counted(len(errors), 'error')}, so nothing is changed; correct "
            f"that, or leave the verification out with --skip-verify:\n  {lines}",
            code=ExitCode.INVALID,
        )
    tolerated = [finding for finding in findings if finding.tolerated]
    for finding in tolerated[:MOST_PROBLEMS]:
        talk(f"Warning: {located_message(finding)}")
    warnings = sum(not finding.is_error for finding in findings)
    if warnings > len(tolerated[:MOST_PROBLEMS]):
        counted = _counted(warnings, "warning")
        talk(f"Package verification: {counted}; kubectl kudo package verify shows them")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
