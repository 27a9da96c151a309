"""Deletes what a killed run has left, for `kubectl kudo test --clean`."""

from collections.abc import Callable
from pathlib import Path

from kubectl_kudo.core.errors import CliError, ExitCode
from kubectl_kudo.testing.running.cleanup import Cleanup, tell_left
from kubectl_kudo.testing.running.objects.clusters import Clusters
from kubectl_kudo.testing.running.processes.groups import Processes, stop_left
from kubectl_kudo.testing.running.record import NAME, Left, Record, read_record


def is_clean(folder: Path) -> bool:
    """Return whether nothing is left of the run with this temporary folder."""
    return not (folder / NAME).exists()


async def clean_run(
    folder: Path, say: Callable[[str], None], *, wait_until_gone: bool = True
) -> bool:
    """Delete what the run with this temporary folder has left.

    Namespaces and objects are deleted by their uids, so nothing is deleted that somebody else has
    created since. A process group is killed only while its first process runs: later, its number
    may be that of another one.

    Args:
        folder: The temporary folder of the run, as it was printed.
        say: Is told what is done.
        wait_until_gone: Whether to wait until namespaces are gone.

    Returns:
        Whether nothing is left.

    Raises:
        CliError: there is no record in the folder, or the run has not ended.
    """
    left = _read(folder)
    record = left.record
    for group in record.groups_of(None):
        if stop_left(group):
            say(f"killed the process group {group.group}")
        record.gone(group)
    for made in record.objects_of(None):
        say(f"deleting {made}")
    async with Clusters(folder) as clusters:
        cleanup = Cleanup(record, clusters, Processes(record), wait_until_gone)
        for fault in await cleanup.clean(None):
            say(fault)
    return end_record(record, say)


def end_record(record: Record, say: Callable[[str], None]) -> bool:
    """Remove the record if nothing is left, else tell what is; return whether nothing is."""
    if record.is_empty:
        (record.folder / NAME).unlink(missing_ok=True)
        return True
    say(f"these are left; kubectl kudo test --clean {record.folder} deletes them, or:")
    tell_left(record, say)
    return False


def _read(folder: Path) -> Left:
    try:
        left = read_record(folder)
    except FileNotFoundError:
        text = f"{folder} has no record of a run, so nothing is left of one"
        raise CliError(text, code=ExitCode.NOT_FOUND) from None
    except (OSError, ValueError) as error:
        raise CliError(f"cannot read what the run has left: {error}") from error
    if left.runs:
        raise CliError(f"the run still runs as process {left.process}; interrupt it instead")
    return left
