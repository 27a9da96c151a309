"""Prints what the verification of a package finds."""

from collections.abc import Sequence
from pathlib import Path

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError, ExitCode
from kubectl_kudo.core.output import check_format, one, say
from kubectl_kudo.packages.sources import found, is_local
from kudo.packages import Located, locate
from kudo.verification import Finding, verify, verify_dependencies


def verify_package(args: Args) -> None:
    """Print what was found, and fail if the package is not valid."""
    check_format(args.output)
    report(_located(args), args.output)


def report(located: Located, output: str) -> None:
    """Print what the verification of a package finds.

    Raises:
        CliError: the package is not valid.
    """
    findings = (*verify(located.package), *verify_dependencies(located))
    errors = [finding for finding in findings if finding.is_error]
    warnings = [finding for finding in findings if not finding.is_error]
    if output:
        print(_data(errors, warnings, output), end="")
    else:
        _print(errors, warnings)
    if errors:
        raise CliError(f"found {len(errors)} package verification errors", code=ExitCode.INVALID)


def _located(args: Args) -> Located:
    """Return the package; a bare word is the folder of that name, if there is one."""
    argument = args.arguments[0]
    return locate(argument) if is_local(argument) or Path(argument).exists() else found(args)


def _data(errors: Sequence[Finding], warnings: Sequence[Finding], output: str) -> str:
    found = {"errors": _messages(errors), "warnings": _messages(warnings)}
    return one({**found, "valid": not found["errors"]}, output)


def _messages(findings: Sequence[Finding]) -> list[str]:
    return [finding.problem.message for finding in findings]


def _print(errors: Sequence[Finding], warnings: Sequence[Finding]) -> None:
    for title, findings in (("Warnings", warnings), ("Errors", errors)):
        if findings:
            say(title)
        for finding in findings:
            say(f"{finding.problem.message}  ({finding.problem.field})")
    if not errors:
        say("package is valid")
