"""The summary of what was collected, for people: what looks wrong, and what could not be read."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_kudo.diagnostics.finding import Finding
from kubectl_kudo.diagnostics.installation import FOLDER
from kubectl_kudo.diagnostics.reading import Failure
from kubectl_kudo.session.terminal import clean, word

SUMMARY: Final = "SUMMARY.txt"

_MOST_FINDINGS: Final = 100
_MOST_FAILURES: Final = 50
_LONGEST_LINE: Final = 200


def summary(
    instances: Sequence[str],
    findings: Sequence[Finding],
    failures: Sequence[Failure],
    now: datetime,
) -> str:
    """Return the text of the summary."""
    return clean("\n".join(_lines(instances, findings, failures, now)))


def _lines(
    instances: Sequence[str],
    findings: Sequence[Finding],
    failures: Sequence[Failure],
    now: datetime,
) -> Iterator[str]:
    names = ", ".join(instances[:20]) + (", ..." if len(instances) > 20 else "")
    yield f"Instances: {names or 'none'}; collected on {now:%Y-%m-%d %H:%M:%S} UTC"
    yield ""
    if findings:
        yield "What looks wrong:"
        for finding in findings[:_MOST_FINDINGS]:
            yield from _of(finding)
        yield from _more(len(findings) - _MOST_FINDINGS)
    else:
        yield "Nothing looks wrong."
    if failures:
        yield ""
        yield "What could not be read:"
        # A user with few rights cannot list most kinds, and a cluster may have hundreds of them.
        ours_first = sorted(failures, key=lambda failure: not failure.path.startswith(FOLDER))
        for failure in ours_first[:_MOST_FAILURES]:
            yield f"  {failure.path}: {_cut(failure.text)}"
        yield from _more(len(failures) - _MOST_FAILURES)


def _of(finding: Finding) -> Iterator[str]:
    yield word(f"* {finding.subject}: {finding.text}")
    if finding.advice:
        yield word(f"    {finding.advice}")
    for line in finding.lines:
        yield f"    | {_cut(line)}"


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"... and {number} more"


def _cut(text: str) -> str:
    flat = word(" ".join(text.split()))
    return flat if len(flat) <= _LONGEST_LINE else f"{flat[:_LONGEST_LINE]}..."
