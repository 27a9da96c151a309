"""Compares asserts with objects and shows the smallest difference first."""

from kudo_harness.matching.difference import ABSENT, Difference, Mismatch, path_text
from kudo_harness.matching.objects import Match, best_match, difference_lines
from kudo_harness.matching.subset import Comparison, TooLargeToCompare

__all__ = [
    "ABSENT",
    "Comparison",
    "Difference",
    "Match",
    "Mismatch",
    "TooLargeToCompare",
    "best_match",
    "difference_lines",
    "path_text",
]
