"""`kubectl kudo test --clean`: deletes what runs left that were killed."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubectl_kudo.commands.test.host import HOST
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.output import say
from kudo_harness.host import HarnessError
from kudo_harness.running.cleanup import NoRecord, clean_run, is_clean
from kudo_harness.running.record import read_record

PREFIX: Final = "kudo-test-"
"""What the names of temporary folders of runs begin with."""


def records(folder: Path) -> Iterator[Path]:
    """Yield the folders of the runs of a command that have left something."""
    yield from (run for run in (folder, *sorted(folder.glob("*"))) if not is_clean(run))


def clean(args: Args) -> None:
    """Delete what is left of the runs with these folders, or of all that were killed.

    Raises:
        CliError: something could not be deleted, or a folder is not that of a run.
    """
    given = [Path(text) for text in args.arguments]
    # A folder without a record is named in the error.
    folders = [run for path in given for run in list(records(path)) or [path]] or list(_killed())
    if not folders:
        say("nothing is left of any run")
    left = [folder for folder in folders if not _clean(folder)]
    if left:
        raise CliError(f"not everything could be deleted: {', '.join(map(str, left))}")


def _clean(folder: Path) -> bool:
    say(f"deleting what is left of the run with the folder {folder}")
    try:
        done = asyncio.run(clean_run(folder, HOST.user_agent, say))
    except NoRecord as error:
        raise CliError(str(error), code=ExitCode.NOT_FOUND) from None
    except HarnessError as error:
        raise CliError(str(error)) from error
    session = next((path for path in (folder, folder.parent) if path.name.startswith(PREFIX)), None)
    if done and session is not None and not any(records(session)):
        shutil.rmtree(session, ignore_errors=True)
    return done


def _killed() -> Iterator[Path]:
    """Yield the folders of runs of this user that have ended and left something."""
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        # The kubeconfig of a record can start programs, so that of somebody else is not used.
        if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
            yield from (run for run in records(folder) if not _still_runs(run))


def _still_runs(folder: Path) -> bool:
    try:
        return read_record(folder).runs
    except (OSError, ValueError):
        # Cleaning it tells why it cannot be read.
        return False
