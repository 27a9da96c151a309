"""`kubectl kudo package verify`: checks a package, without a cluster."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from goyaml import decode
from kubectl_kudo.packages.findings import print_findings
from kubectl_kudo.packages.sources import found, is_local, resolve_without_cluster
from kubectl_kudo.session.arguments import REPOSITORY, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import check_format, say, talk
from kudo.api.problems import InvalidInput
from kudo.packages.files import PackageFiles
from kudo.packages.location import Located, locate
from kudo.packages.reader import parse_package
from kudo.packages.resolution import depends_by_name
from kudo.packages.source import Position
from kudo.verification import Finding, Severity, softened, verify, verify_dependencies
from kudo.verification.finding import Edit, apply, edits_of, place_of
from kudo.verification.parameter_texts import NAMES, verify_parameter_texts

_SARIF = "sarif"


def run(args: Args) -> None:
    """Print what was found, and fail if the package is not valid.

    Raises:
        CliError: the package is not valid, or flags are wrong.
    """
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    if args.output != _SARIF:
        check_format(args.output)
    checks = _parameter_checks(args.param_checks)
    argument = args.arguments[0]
    try:
        # A bare word is the folder of that name, if there is one: nothing is installed from it.
        is_path = is_local(argument) or Path(argument).exists()
        located = locate(argument) if is_path else found(args)
    except InvalidInput as error:
        if args.output == _SARIF:
            # Code scanning shows findings alone, not the text of an error.
            problems = error.problems
            unreadable = [Finding(Severity.ERROR, each, place_of(each.field)) for each in problems]
            _report(unreadable, args.output, Path(argument))
        raise
    if args.fix:
        folder = Path(argument)
        if not folder.is_dir():
            raise CliError("--fix needs the folder of a package, which it can write to")
        fix_package(folder, located, quiet=bool(args.output))
        located = locate(folder)
    findings = [*verify(located.package), *_of_dependencies(args, located)]
    if checks:
        findings += verify_parameter_texts(located.package, checks)
    _report(findings, args.output, Path(located.package.origin))


COMMAND = Command(
    run,
    "<folder|tgz|url|name>",
    (
        Flag(
            ("--output", "-o"),
            "yaml, json or sarif: print the findings in this format",
            "format",
        ),
        Flag(
            ("--param-checks",),
            "warn of parameters without texts for people: display, hint, desc, type, hasgroup, "
            "groups, all; comma-separated or repeated",
            "checks",
            repeat=True,
        ),
        Flag(("--fix",), "correct what has only one correction; comments stay", default=False),
        *REPOSITORY,
    ),
    more="Errors keep a package from being installed or its plans from running; warnings do not.\n"
    "Templates are rendered with the defaults of the parameters. With errors the command fails.\n\n"
    "install, upgrade and package create make the same checks first; --skip-verify leaves them "
    "out.",
    examples=(
        ("Check the package in a folder", "package verify ./web"),
        ("For tools: errors, warnings, valid and findings", "package verify ./web -o json"),
        ("For code scanning in CI", "package verify ./web -o sarif"),
        ("Correct misspelt fields, missing quotes and more", "package verify ./web --fix"),
        ("Are all parameters described?", "package verify ./web --param-checks desc,display"),
    ),
)


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


def _parameter_checks(given: Iterable[str]) -> list[str]:
    names = [name.strip() for text in given for name in text.split(",")]
    if not names:
        return []
    for name in names:
        if name not in NAMES:
            raise CliError(f"unknown parameter check: {name}, must be one of [{' '.join(NAMES)}]")
    return names


def _of_dependencies(args: Args, located: Located) -> tuple[Finding, ...]:
    """Return the findings of dependencies: at paths, and by name if the repository has them."""
    if not depends_by_name(located.package):
        return verify_dependencies(located)
    try:
        resolution = asyncio.run(resolve_without_cluster(located, args))
        return verify_dependencies(located, resolution)
    except InvalidInput as error:
        cause = str(error).partition("\n")[0]
        talk(f"Dependencies that are not at a path were not verified: {cause}")
    return verify_dependencies(located)


def fix_package(folder: Path, located: Located, *, quiet: bool) -> None:
    """Apply the edits of findings, and print them.

    Edits that would bring errors that the package does not have are left out. Each file is written
    whole or not at all.

    Args:
        folder: The folder of the package.
        located: The package.
        quiet: Whether stdout is for data.

    Raises:
        CliError: a file cannot be written.
    """
    files, findings = located.package.files, verify(located.package)
    edits = edits_of(findings)
    if not _is_better(files, findings, edits):
        # Some bring errors: one after the other is tried beside those that were accepted.
        accepted: tuple[Edit, ...] = ()
        for edit in edits:
            if _is_better(files, findings, (*accepted, edit)):
                accepted = (*accepted, edit)
            else:
                talk(f"left as it is: {edit.file}: {edit.summary}, because of other errors then")
        edits = accepted
    for path, text in apply(files, edits).items():
        try:
            write_file(folder / path, text.encode())
        except OSError as error:
            raise CliError(f"cannot write {folder / path}: {error.strerror or error}") from error
    for edit in edits:
        line = Position.in_text(decode(files.files[edit.file]), edit.start).line
        (talk if quiet else say)(f"fixed {edit.file}:{line}: {edit.summary}")


def _is_better(files: PackageFiles, findings: Sequence[Finding], edits: Sequence[Edit]) -> bool:
    """Return whether the package can be read and has no new errors after edits."""
    changes = {path: text.encode() for path, text in apply(files, edits).items()}
    try:
        after = verify(parse_package(PackageFiles(files.origin, {**files.files, **changes})))
    except InvalidInput:
        return False
    return _errors(after) <= _errors(findings)


def _errors(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(finding.code, finding.problem.message) for finding in findings if finding.is_error}
