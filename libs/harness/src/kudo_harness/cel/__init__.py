"""Compiles and evaluates the CEL expressions of asserts.

The library for CEL is optional: without it, each expression of a suite is an error of the suite.
"""

from kudo_harness.cel.expressions import Expressions, FailedExpression

__all__ = ["Expressions", "FailedExpression"]
