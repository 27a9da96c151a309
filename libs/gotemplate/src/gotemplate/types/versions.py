"""Semantic versions, as values with methods.

Versions are pointers in Go: two are equal if they are the same object, and deeply equal if they
were written alike. The methods `Inc…` and `Set…` return values, which have fewer methods.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.golang.literals import UINT_MAX, quote
from gotemplate.golang.values import Uint64
from gotemplate.types.signature import STRING, Function, Param, Refused, refused

_IDENTIFIERS: Final = r"[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*"
_VERSION: Final = re.compile(
    rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?",
    re.ASCII,
)
_LABEL: Final = re.compile(r"[0-9A-Za-z\-]*", re.ASCII)
_LEADING_ZERO: Final = re.compile("0[0-9]+", re.ASCII)
_NUMBER: Final = re.compile("[0-9]{1,40}", re.ASCII)

_LabelKey = tuple[int, int, str]
Precedence = tuple[tuple[int, int, int], bool, tuple[_LabelKey, ...]]


class VersionError(ValueError):
    """The text is not a semantic version; the error's text is that of Masterminds/semver."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version: three numbers, labels of a prerelease, labels that do not count.

    Attributes:
        original: how it was written.
        pointer: whether Go has a pointer to it, which only names of types tell.
    """

    major: int
    minor: int = 0
    patch: int = 0
    prerelease: str = ""
    metadata: str = ""
    original: str = ""
    pointer: bool = True

    def __str__(self) -> str:
        pre = f"-{self.prerelease}" if self.prerelease else ""
        metadata = f"+{self.metadata}" if self.metadata else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}{metadata}"

    def compare(self, other: "Version") -> int:
        """Return -1, 0 or 1: before, equal to or after another version; metadata does not count."""
        mine, theirs = self.precedence, other.precedence
        return (mine > theirs) - (mine < theirs)

    @property
    def precedence(self) -> Precedence:
        """The sort key of semver.org's precedence: a release comes after its prereleases."""
        # Metadata is left out: semver.org orders nothing by it.
        numbers = self.major, self.minor, self.patch
        return numbers, not self.prerelease, _prerelease_key(self.prerelease)

    def go_type(self) -> str:
        return "*semver.Version" if self.pointer else "semver.Version"

    def go_text(self) -> str:
        return str(self)

    def go_json(self) -> object:
        return str(self)

    def go_method(self, name: str) -> Function | None:
        if name in _FIELDS:
            problem = f"{name} is an unexported field of struct type {self.go_type()}"
            return Refused(name, refused, problem=problem)
        if name not in _METHODS or (not self.pointer and name in _OF_POINTERS):
            return None
        call, params = _METHODS[name]
        return Function(name, lambda *args: call(self, *args), params)


def _prerelease_key(labels: str) -> tuple[_LabelKey, ...]:
    """Return the sort key of a prerelease: label by label, numbers before texts."""
    return tuple(_label_key(label) for label in labels.split("."))


def _label_key(label: str) -> _LabelKey:
    # A number that Go cannot read is a text there, and comes after all numbers.
    if _NUMBER.fullmatch(label) and int(label) <= UINT_MAX:
        return 0, int(label), ""
    return 1, 0, label


def parse_version(text: str) -> Version:
    """Read a version; a `v` before it and missing numbers are allowed.

    Raises:
        VersionError: the text is not a version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise VersionError("Invalid Semantic Version")
    prerelease, metadata = match[4] or "", match[5] or ""
    version = Version(
        _segment(match[1]), _segment(match[2]), _segment(match[3]), prerelease, metadata, text
    )
    _check_prerelease(prerelease)
    return version


def _segment(digits: str | None) -> int:
    # Cut behind 21 digits, which is too large already: Python refuses to read thousands.
    number = int((digits or "0").lstrip("0")[:21] or 0)
    if number > UINT_MAX:
        raise VersionError(
            "Error parsing version segment: strconv.ParseUint: "
            f"parsing {quote(digits or '')}: value out of range"
        )
    return number


def _check_prerelease(labels: str) -> None:
    for label in labels.split("."):
        if _LEADING_ZERO.fullmatch(label):
            raise VersionError("Version segment starts with 0")
        if not _LABEL.fullmatch(label):
            raise VersionError("Invalid Prerelease string")


def _check_metadata(labels: str) -> None:
    if not all(_LABEL.fullmatch(label) for label in labels.split(".")):
        raise VersionError("Invalid Metadata string")


def _value(version: Version, **parts: object) -> Version:
    """Return a version that is not a pointer in Go, with a `v` in front if the original has one."""
    changed = replace(version, pointer=False, **parts)  # type: ignore[arg-type]
    v = "v" if version.original.startswith("v") else ""
    return replace(changed, original=v + str(changed))


def _next_major(version: Version) -> Version:
    return _value(version, major=version.major + 1, minor=0, patch=0, prerelease="", metadata="")


def _next_minor(version: Version) -> Version:
    return _value(version, minor=version.minor + 1, patch=0, prerelease="", metadata="")


def _next_patch(version: Version) -> Version:
    # The patch version after 1.2.3-rc1 is 1.2.3 itself.
    patch = version.patch + (not version.prerelease)
    return _value(version, patch=patch, prerelease="", metadata="")


def _with_prerelease(version: Version, labels: str) -> Version:
    _or_fail(_check_prerelease, labels)
    return _value(version, prerelease=labels)


def _with_metadata(version: Version, labels: str) -> Version:
    _or_fail(_check_metadata, labels)
    return _value(version, metadata=labels)


def _or_fail(check: Callable[[str], None], labels: str) -> None:
    try:
        check(labels)
    except VersionError as error:
        raise FunctionError(str(error)) from error


def _compare(version: Version, other: Version | None) -> int:
    if other is None:
        raise FunctionError("runtime error: invalid memory address or nil pointer dereference")
    return version.compare(other)


class _PointerParam(Param):
    """A parameter of type *semver.Version; a semver.Version is refused."""

    __slots__ = ()

    def convert(self, value: object) -> object:
        if isinstance(value, Version) and not value.pointer:
            raise FunctionError(
                "wrong type for value; expected *semver.Version; got semver.Version"
            )
        return Param.convert(self, value)


_POINTER: Final = _PointerParam("*semver.Version", types=(Version,), nil=True)

_FIELDS: Final = frozenset({"major", "minor", "patch", "pre", "metadata", "original"})
_OF_POINTERS: Final = frozenset(
    {
        *("Original", "Compare", "Equal", "LessThan", "LessThanEqual", "GreaterThan"),
        "GreaterThanEqual",
    }
)
_METHODS: Final[Mapping[str, tuple[Callable[..., object], tuple[Param, ...]]]] = MappingProxyType(
    {
        "Major": (lambda version: Uint64(version.major), ()),
        "Minor": (lambda version: Uint64(version.minor), ()),
        "Patch": (lambda version: Uint64(version.patch), ()),
        "Prerelease": (lambda version: version.prerelease, ()),
        "Metadata": (lambda version: version.metadata, ()),
        "Original": (lambda version: version.original, ()),
        "String": (str, ()),
        "IncMajor": (_next_major, ()),
        "IncMinor": (_next_minor, ()),
        "IncPatch": (_next_patch, ()),
        "SetPrerelease": (_with_prerelease, (STRING,)),
        "SetMetadata": (_with_metadata, (STRING,)),
        "Compare": (_compare, (_POINTER,)),
        "Equal": (
            lambda version, other: other is not None and version.compare(other) == 0,
            (_POINTER,),
        ),
        "LessThan": (lambda version, other: _compare(version, other) < 0, (_POINTER,)),
        "LessThanEqual": (lambda version, other: _compare(version, other) <= 0, (_POINTER,)),
        "GreaterThan": (lambda version, other: _compare(version, other) > 0, (_POINTER,)),
        "GreaterThanEqual": (lambda version, other: _compare(version, other) >= 0, (_POINTER,)),
    }
)
