"""Finds the folder of the package that the author is working on."""

from pathlib import Path

from kubectl_kudo.core.errors import CliError
from kudo.packages.files import OPERATOR_FILE

_HINT = "change to the folder of a package, or to the one above it"


def package_folder() -> Path:
    """Return the working directory if it is a package, else the only folder in it that is one.

    Raises:
        CliError: there is none, or more than one.
    """
    here = Path()
    if (here / OPERATOR_FILE).is_file():
        return here
    found = sorted(path.parent for path in here.glob(f"[!.]*/{OPERATOR_FILE}") if path.is_file())
    if not found:
        raise CliError(f"no operator folder discovered; {_HINT}")
    if len(found) > 1:
        names = ", ".join(map(str, found))
        raise CliError(f"multiple operator folders discovered: {names}; change to one of them")
    return found[0]
