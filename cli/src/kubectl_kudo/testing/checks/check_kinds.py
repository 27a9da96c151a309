"""Finds objects of kinds that the cluster of a suite does not have, before anything runs."""

from kubectl_kudo.testing.checks.known_kinds import Kinds
from kudo_harness.findings import Findings
from kudo_harness.suite import Suite


def check_kinds(suite: Suite, kinds: Kinds, findings: Findings, *, kudo_installed: bool) -> None:
    """Note each object of a suite whose kind cannot exist when its step runs.

    Args:
        suite: The suite.
        kinds: The kinds of the cluster.
        findings: Where unknown kinds are noted, with file and line.
        kudo_installed: Whether the run installs KUDO before the cases.
    """
    del suite, kinds, findings, kudo_installed
