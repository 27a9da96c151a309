"""The folder of the package that the author works on: finds it, and writes changed files.

Nothing is written before the package with the changes was verified.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kubectl_kudo.session.errors import CliError, listed
from kubectl_kudo.session.files import write_file
from kudo.api.problems import InvalidInput
from kudo.authoring.edit import check_change
from kudo.packages.files import OPERATOR_FILE, PackageFiles

_HINT = "change to the folder of a package, or to the one above it"


def package_folder() -> Path:
    """Return the working directory if it is a package, else the only folder in it that is one.

    Raises:
        CliError: there is none, or more than one.
    """
    here = Path()
    if (here / OPERATOR_FILE).is_file():
        return here
    folders = sorted(path.parent for path in here.glob(f"[!.]*/{OPERATOR_FILE}") if path.is_file())
    if not folders:
        raise CliError(f"no operator folder discovered; {_HINT}")
    if len(folders) > 1:
        names = ", ".join(map(str, folders))
        raise CliError(f"multiple operator folders discovered: {names}; change to one of them")
    return folders[0]


def write_changes(folder: Path, before: PackageFiles, changes: Mapping[str, str]) -> None:
    """Verify the package with the changes, then write them.

    Raises:
        CliError: the changes bring errors, or a file cannot be written.
    """
    check_changes(folder, before, changes)
    # Files that are new come first: a crash leaves a package that does not use them yet.
    ordered = sorted(changes, key=lambda path: path in before.files)
    try:
        for path in ordered:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            write_file(target, changes[path].encode())
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Verify a new package, then create its folder with everything in it.

    Raises:
        CliError: the package has errors, or cannot be written.
    """
    check_changes(folder, PackageFiles(str(folder), {}), files)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # In the same file system, so that the rename is atomic.
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        for path, text in files.items():
            (beside / path).parent.mkdir(parents=True, exist_ok=True)
            (beside / path).write_text(text, encoding="utf-8")
        # `mkdtemp` makes a folder for the user alone; the umask can only be read by setting it.
        umask = os.umask(0o077)
        os.umask(umask)
        beside.chmod(0o777 & ~umask)
        beside.rename(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def check_changes(folder: Path, before: PackageFiles, changes: Mapping[str, str]) -> None:
    """Verify the package with the changes.

    Raises:
        CliError: the changes bring errors.
    """
    try:
        check_change(folder, before, changes)
    except InvalidInput as error:
        headline = "nothing is written, since the package would have errors:"
        raise CliError(listed(headline, error.problems)) from error


def _unwritable(folder: Path, error: OSError) -> CliError:
    return CliError(f"cannot write {error.filename or folder}: {error.strerror or error}")
