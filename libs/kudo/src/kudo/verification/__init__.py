"""Verification of a package: finds what would fail when it is installed and run.

    for finding in verify(read_package("./web")):
        print(finding.severity, finding.problem)

The checks are those of KUDO 0.19, in its order and its words, without its false alarms: templates
are analysed by meaning, not by pattern. No cluster is needed.

    verify_dependencies(locate("./web"))

does the same with the packages that the package brings along.
"""

from kudo.verification.checks import CHECKS, Check, verify
from kudo.verification.dependencies import check_installable, verify_dependencies
from kudo.verification.finding import Finding, Severity, softened

__all__ = [
    "CHECKS",
    "Check",
    "Finding",
    "Severity",
    "check_installable",
    "softened",
    "verify",
    "verify_dependencies",
]
