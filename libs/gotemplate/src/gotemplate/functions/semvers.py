"""Sprig's functions on semantic versions."""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.rendering import Rendering
from gotemplate.types import versions
from gotemplate.types.signature import STRING, Function


def semver(run: Rendering, text: str) -> versions.Version:
    """Read a version.

    Raises:
        FunctionError: the text is not a version.
    """
    run.check("pattern", len(text))
    try:
        return versions.parse_version(text)
    except versions.VersionError as error:
        raise FunctionError(str(error)) from error


def semver_compare(run: Rendering, constraint: str, text: str) -> bool:
    """Return whether a version fits a constraint.

    Raises:
        FunctionError: the constraint or the version cannot be parsed.
    """
    from gotemplate.types import constraints  # RE2 is loaded when it is needed

    run.check("pattern", len(constraint))
    run.charge(len(constraint))
    try:
        groups = constraints.parse_constraint(constraint)
    except constraints.ConstraintError as error:
        raise FunctionError(str(error)) from error
    return constraints.fits(groups, semver(run, text))


FUNCTIONS: Final = (
    Function("semver", semver, (STRING,), uses_rendering=True),
    Function("semverCompare", semver_compare, (STRING, STRING), uses_rendering=True),
)
