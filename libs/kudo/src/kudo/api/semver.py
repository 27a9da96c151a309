"""Semantic versions of operators and their software, as Masterminds/semver 3.1 reads them.

A leading `v` and one or two missing numbers are fine, and so are numbers with leading zeros.
"""

from typing import Any, Final

from gotemplate import Precedence, Version, VersionError, parse_version

_LONGEST: Final = 256


def read_version(text: str) -> Version:
    """Return the version that a text of a package is.

    Raises:
        VersionError: it is none, or has more than 256 characters.
    """
    if len(text) > _LONGEST:
        raise VersionError("Invalid Semantic Version")
    return parse_version(text)


def precedence(text: str) -> Precedence | None:
    """Return what a version is sorted by, None if the text is no version."""
    try:
        return read_version(text).precedence
    except VersionError:
        return None


def rank(text: str) -> tuple[bool, Any]:
    """Return the sort key of any text: versions by precedence, above all texts that are none."""
    parsed = precedence(text)
    return (False, text) if parsed is None else (True, parsed)
