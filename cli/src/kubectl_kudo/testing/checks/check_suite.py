"""Checks a whole suite against its cluster: kinds, and expressions."""

from kubectl_kudo.testing.checks.check_kinds import check_kinds
from kubectl_kudo.testing.checks.known_kinds import Kinds
from kudo_harness.cel import Expressions
from kudo_harness.findings import Findings
from kudo_harness.suite import Suite


def check_suite(suite: Suite, kinds: Kinds, findings: Findings, *, kudo_installed: bool) -> None:
    """Note what cannot work in any case of a suite, with file and line.

    Args:
        suite: The suite.
        kinds: The kinds of the cluster.
        findings: Where problems are noted; `findings.check()` then raises.
        kudo_installed: Whether the run installs KUDO before the cases.
    """
    check_kinds(suite, kinds, findings, kudo_installed=kudo_installed)
    for folder in suite.test_dirs:
        for case in folder.cases:
            for step in case.steps:
                if step.assert_options is not None:
                    Expressions.compile(step.assert_options, findings)
