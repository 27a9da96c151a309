"""Constraints on versions, in the grammar of Masterminds' semver.

A constraint is one or more groups with `||` between; a version fits when it fits every part of a
group. A part is an operator and a version, in which `x`, `X`, `*` or nothing stand for any number;
`1.2 - 2.3` is a range. Prereleases fit only parts that name one. Texts are taken apart by RE2, in
linear time.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gotemplate.golang.regex import compile_regex
from gotemplate.golang.values import clean, from_bytes, to_bytes
from gotemplate.types.versions import Version, VersionError, parse_version

_IDENTIFIERS: Final = r"[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*"
_NUMBER: Final = r"[0-9|x|X|\*]+"
_NUMBERS: Final = rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?"
_PATTERN: Final = rf"{_NUMBERS}(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?"
# Of operators the first that matches is taken, not the longest, and the next one when what follows
# does not fit.
_OPERATORS: Final = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^"
_ONE: Final = rf"(?:{_OPERATORS})\s*(?:{_PATTERN})"
_PART: Final = rf"({_OPERATORS})\s*({_PATTERN})"
_RANGE: Final = rf"\s*({_PATTERN})\s+-\s+({_PATTERN})\s*"
_GROUP: Final = rf"^\s*{_ONE}\s*(?:(?:\s+|,\s*){_ONE}\s*)*$"
_SPLIT: Final = re.compile(
    rf"v?({_NUMBER})(\.{_NUMBER})?(\.{_NUMBER})?((?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?)",
    re.ASCII,
)
_AS_TWO: Final = ">= ${1}, <= ${2} "
_ANY: Final = frozenset({"x", "X", "*", "", ".x", ".X", ".*"})


class ConstraintError(ValueError):
    """The text is not a version constraint; the error's text is that of Masterminds/semver."""


@dataclass(frozen=True, slots=True)
class Part:
    """An operator and a version.

    Attributes:
        version: any number in it is 0.
        given: how many of the three numbers were given, from the left.
    """

    operator: str
    version: Version
    given: int

    def fits(self, version: Version) -> bool:
        """Return whether a version fits."""
        dirty = self.given < len(("major", "minor", "patch"))
        hidden = version.prerelease and not self.version.prerelease
        if hidden and (dirty or self.operator != "!="):
            return False
        return _CHECKS[self.operator](self, version)


def _equal(part: Part, version: Version) -> bool:
    if part.given < 3:
        return _tilde(part, version)
    return version.compare(part.version) == 0


def _not_equal(part: Part, version: Version) -> bool:
    if part.given == 3:
        return version.compare(part.version) != 0
    if part.version.major != version.major:
        return True
    if part.given == 0:
        return _same_numbers_differ(part, version)
    if part.given == 1:
        return False
    if part.version.minor != version.minor:
        return True
    return version.prerelease != part.version.prerelease


def _same_numbers_differ(part: Part, version: Version) -> bool:
    if part.version.minor != version.minor or part.version.patch != version.patch:
        return True
    return version.compare(part.version) != 0


def _greater(part: Part, version: Version) -> bool:
    if part.given in (0, 3) or version.major != part.version.major:
        return version.compare(part.version) > 0
    return part.given == 2 and version.minor > part.version.minor


def _less(part: Part, version: Version) -> bool:
    return version.compare(part.version) < 0


def _greater_equal(part: Part, version: Version) -> bool:
    return version.compare(part.version) >= 0


def _less_equal(part: Part, version: Version) -> bool:
    if part.given == 3:
        return version.compare(part.version) <= 0
    if version.major != part.version.major:
        return version.major < part.version.major
    return part.given == 1 or version.minor <= part.version.minor


def _tilde(part: Part, version: Version) -> bool:
    expected = part.version
    if version.compare(expected) < 0:
        return False
    zero = expected.major == expected.minor == expected.patch == 0
    if zero and part.given in (0, 3):
        return True
    if version.major != expected.major:
        return False
    return part.given == 1 or version.minor == expected.minor


def _caret(part: Part, version: Version) -> bool:
    expected = part.version
    if version.compare(expected) < 0:
        return False
    if expected.major > 0 or part.given == 1:
        return version.major == expected.major
    if version.major > 0:
        return False
    if expected.minor > 0 or part.given == 2:
        return version.minor == expected.minor
    return version.minor == 0 and version.patch == expected.patch


_CHECKS: Final[dict[str, Callable[[Part, Version], bool]]] = {
    "": _equal,
    "=": _equal,
    "!=": _not_equal,
    ">": _greater,
    "<": _less,
    ">=": _greater_equal,
    "=>": _greater_equal,
    "<=": _less_equal,
    "=<": _less_equal,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}


def parse_constraint(text: str) -> Sequence[Sequence[Part]]:
    """Read a constraint: groups, one of which a version has to fit whole.

    Raises:
        ConstraintError: the text is not a constraint.
    """
    return [_group(group) for group in _without_ranges(to_bytes(text)).split(b"||")]


def fits(groups: Sequence[Sequence[Part]], version: Version) -> bool:
    """Return whether a version fits a constraint."""
    return any(all(part.fits(version) for part in group) for group in groups)


def _without_ranges(data: bytes) -> bytes:
    pattern = compile_regex(_RANGE)
    return b"".join(pattern.replace(data, lambda match: pattern.expand(_AS_TWO, data, match)))


def _group(data: bytes) -> Sequence[Part]:
    if compile_regex(_GROUP).search(data) is None:
        raise ConstraintError(f"improper constraint: {clean(from_bytes(data))}")
    parts = (match.spans for match in compile_regex(_PART).matches(data))
    return [
        _part(data[slice(*spans[1])].decode(), data[slice(*spans[2])].decode()) for spans in parts
    ]


def _part(operator: str, text: str) -> Part:
    match = _SPLIT.match(text)
    assert match is not None
    numbers: list[str] = []
    for number in match.groups()[:3]:
        if (number or "") in _ANY:
            break
        numbers.append(number.strip("."))
    given = len(numbers)
    try:
        version = parse_version(".".join([*numbers, "0", "0", "0"][:3]) + match[4])
    except VersionError:
        raise ConstraintError("constraint Parser Error") from None
    return Part(operator, version, given)
