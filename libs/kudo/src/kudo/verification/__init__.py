"""Verification of a package: what would go wrong when it is installed and run, told beforehand.

    for finding in verify(read_package("./web")):
        print(finding.severity, finding.problem)

The checks are those of KUDO 0.19, in its order and its words, without its false alarms: a template
is judged by what its expressions mean, not by how they look. Nothing is asked of a cluster.

    verify_dependencies(locate("./web"))

does the same with the packages that the package brings along.
"""

from kudo.verification.checks import CHECKS, Check, verify
from kudo.verification.dependencies import verify_dependencies
from kudo.verification.finding import Finding, Severity

__all__ = ["CHECKS", "Check", "Finding", "Severity", "verify", "verify_dependencies"]
