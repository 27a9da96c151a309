"""Applies the edits of findings to the texts of a package."""

from collections.abc import Iterable, Mapping

from goyaml import decode
from kudo.packages.files import PackageFiles
from kudo.verification.finding import Edit, Finding


def edits_of(findings: Iterable[Finding]) -> tuple[Edit, ...]:
    """Return the edits of findings, each once; of two that overlap the first."""
    found: list[Edit] = []
    for finding in findings:
        edit = finding.edit
        if edit is not None and not any(_overlap(edit, other) for other in found):
            found.append(edit)
    return tuple(found)


def apply(files: PackageFiles, edits: Iterable[Edit]) -> Mapping[str, str]:
    """Return the new texts by the path of the file; what is not edited stays as it is written."""
    texts: dict[str, str] = {}
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = texts.get(edit.file, "") or decode(files.files[edit.file])
        texts[edit.file] = text[: edit.start] + edit.text + text[edit.end :]
    return texts


def _overlap(left: Edit, right: Edit) -> bool:
    if left.file != right.file:
        return False
    if left.start == right.start:
        return True
    first, second = sorted((left, right), key=lambda edit: edit.start)
    return second.start < first.end
