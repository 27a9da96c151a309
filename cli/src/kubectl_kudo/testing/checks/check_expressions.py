"""Compiles the expressions of a suite, before a cluster is needed."""

from kudo_harness.cel import Expressions
from kudo_harness.findings import Findings
from kudo_harness.suite import Suite


def check_expressions(suite: Suite, findings: Findings) -> None:
    """Note each CEL expression of a suite that cannot be compiled, with file and line."""
    for folder in suite.test_dirs:
        for case in folder.cases:
            for step in case.steps:
                if step.assert_options is not None:
                    Expressions.compile(step.assert_options, findings)
