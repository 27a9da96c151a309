"""Corrects the files of a package: `package verify --fix`."""

from collections.abc import Sequence
from pathlib import Path

from goyaml import decode
from kubectl_kudo.core.errors import CliError
from kubectl_kudo.core.files import write_file
from kubectl_kudo.core.output import say, talk
from kudo.packages import Located, PackageFiles, parse_package
from kudo.packages.source import Position
from kudo.problems import InvalidInput
from kudo.verification import Finding, verify
from kudo.verification.finding import Edit
from kudo.verification.fixes import apply, edits_of


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
        edits = _acceptable(files, findings, edits)
    for path, text in apply(files, edits).items():
        try:
            write_file(folder / path, text.encode())
        except OSError as error:
            raise CliError(f"cannot write {folder / path}: {error.strerror or error}") from error
    for edit in edits:
        line = Position.in_text(decode(files.files[edit.file]), edit.start).line
        (talk if quiet else say)(f"fixed {edit.file}:{line}: {edit.summary}")


def _acceptable(
    files: PackageFiles, findings: Sequence[Finding], edits: Sequence[Edit]
) -> tuple[Edit, ...]:
    """Return the edits that can be made together."""
    accepted: tuple[Edit, ...] = ()
    for edit in edits:
        if _is_better(files, findings, (*accepted, edit)):
            accepted = (*accepted, edit)
        else:
            talk(f"left as it is: {edit.file}: {edit.summary}, because of other errors then")
    return accepted


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
