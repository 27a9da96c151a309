"""Sorts the keys of a mapping as go-yaml v2.3.0 does: in natural order, not bytewise.

`server.2` comes before `server.10`, digits and punctuation before letters. The relation is not
transitive for odd mixes of digits and letters (`a10`, `a1b`, `a2`, `a01`); there the original's
result depends on its sorting algorithm, and ours on Python's.
"""

from collections.abc import Iterable
from functools import cmp_to_key


def sorted_keys(keys: Iterable[str]) -> list[str]:
    """Return `keys` in natural order."""
    listed = list(keys)
    if all(map(str.isalpha, listed)):
        return sorted(listed)
    return sorted(listed, key=_natural)


def _compare(a: str, b: str) -> int:
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return _compare_from(index, a, b)
    return len(a) - len(b)


def _compare_from(index: int, a: str, b: str) -> int:
    x, y = a[index], b[index]
    if x.isalpha() and y.isalpha():
        return ord(x) - ord(y)
    if x.isalpha() or y.isalpha():
        return 1 if x.isalpha() else -1
    lead = "1" if "0" in (x, y) and _ends_in_a_number(a[:index]) else ""
    run_a, run_b = _digits(a, index), _digits(b, index)
    number_a, number_b = _as_int64(lead + run_a), _as_int64(lead + run_b)
    return number_a - number_b or len(run_a) - len(run_b) or ord(x) - ord(y)


_natural = cmp_to_key(_compare)


def _ends_in_a_number(prefix: str) -> bool:
    for char in reversed(prefix):
        if not char.isdecimal():
            return False
        if char != "0":
            return True
    return False


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[start:end]


def _as_int64(digits: str) -> int:
    number = 0
    for char in digits:
        # Go counts from the code of "0" and overflows silently; digits of other scripts do both.
        number = (number * 10 + ord(char) - ord("0")) & 0xFFFF_FFFF_FFFF_FFFF
    return number - (1 << 64) if number >> 63 else number
