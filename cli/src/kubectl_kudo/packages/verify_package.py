"""Prints what the verification of a package finds."""

from collections.abc import Iterable
from pathlib import Path

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError, ExitCode
from kubectl_kudo.core.output import check_format, talk
from kubectl_kudo.packages.findings import print_findings
from kubectl_kudo.packages.sources import found, is_local
from kudo.packages import Located, Resolution, depends_by_name, locate
from kudo.problems import InvalidInput
from kudo.verification import Finding, Severity, softened, verify, verify_dependencies

_SARIF = "sarif"


def verify_package(args: Args) -> None:
    """Print what was found, and fail if the package is not valid.

    Raises:
        CliError: the package is not valid, or flags are wrong.
    """
    if args.output != _SARIF:
        check_format(args.output)
    checks = _parameter_checks(args.param_checks)
    try:
        located = _located(args)
    except InvalidInput as error:
        if args.output == _SARIF:
            _report(_unreadable(error), args.output, Path(args.arguments[0]))
        raise
    if args.fix:
        located = _fixed(args, located)
    findings = [*verify(located.package), *_of_dependencies(args, located)]
    if checks:
        from kudo.verification.parameter_texts import verify_parameter_texts

        findings += verify_parameter_texts(located.package, checks)
    _report(findings, args.output, Path(located.package.origin))


def report(located: Located, output: str) -> None:
    """Print what the verification of a package with the dependencies at paths finds.

    Raises:
        CliError: the package cannot be installed, or no plan of it runs.
    """
    findings = (*verify(located.package), *verify_dependencies(located))
    _report(softened(findings), output, Path(located.package.origin))


def _report(findings: Iterable[Finding], output: str, root: Path) -> None:
    listed = [*findings]
    print_findings(listed, output, root)
    errors = sum(finding.is_error for finding in listed)
    if errors:
        text = f"found {errors} package verification errors"
        raise CliError(text, code=ExitCode.INVALID)


def _located(args: Args) -> Located:
    """Return the package; a bare word is the folder of that name, if there is one."""
    argument = args.arguments[0]
    return locate(argument) if is_local(argument) or Path(argument).exists() else found(args)


def _parameter_checks(given: Iterable[str]) -> list[str]:
    names = [name.strip() for text in given for name in text.split(",")]
    if not names:
        return []
    from kudo.verification.parameter_texts import NAMES

    for name in names:
        if name not in NAMES:
            known = " ".join(NAMES)
            raise CliError(f"unknown parameter check: {name}, must be one of [{known}]")
    return names


def _unreadable(error: InvalidInput) -> list[Finding]:
    from kudo.verification.finding import place_of

    return [Finding(Severity.ERROR, problem, place_of(problem.field)) for problem in error.problems]


def _fixed(args: Args, located: Located) -> Located:
    folder = Path(args.arguments[0])
    if not folder.is_dir():
        raise CliError("--fix needs the folder of a package, which it can write to")
    from kubectl_kudo.packages.fix_package import fix_package

    fix_package(folder, located, quiet=bool(args.output))
    return locate(folder)


def _of_dependencies(args: Args, located: Located) -> tuple[Finding, ...]:
    """Return the findings of dependencies: at paths, and by name if the repository has them."""
    if not depends_by_name(located.package):
        return verify_dependencies(located)
    try:
        return verify_dependencies(located, _from_repository(args, located))
    except InvalidInput as error:
        cause = str(error).partition("\n")[0]
        talk(f"Dependencies that are not at a path were not verified: {cause}")
    return verify_dependencies(located)


def _from_repository(args: Args, located: Located) -> Resolution:
    import asyncio

    from kubectl_kudo.packages.resolving import resolve_without_cluster

    return asyncio.run(resolve_without_cluster(located, args))
