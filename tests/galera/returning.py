"""A database that comes back: after a stop, from its own backup, and after it was uninstalled."""

import asyncio
from dataclasses import dataclass
from typing import Final

from tests.galera import database
from tests.galera.database import Server
from tests.galera.run import Asked, Run
from tests.galera.volumes import Volumes

BACKUP: Final = "first"
"""Name of the backup that is made and restored."""
_ALL: Final = 2**62
_STARTED: Final = Asked(replaced=1)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a database: how many, and their checksum."""

    count: int
    checksum: int


async def rows(run: Run) -> Rows:
    """Return the rows of a database to which nobody writes; all its nodes have the same."""
    servers = await run.servers()
    found = {await asyncio.to_thread(database.checksum, one, _ALL) for one in servers}
    assert len(found) == 1, f"the nodes have different rows: {found}"
    return Rows(*found.pop())


async def external(run: Run) -> None:
    """Add the Service for clients outside, and remove it."""
    await run.plan("external on", "external", lambda: run.db.update(EXTERNAL_SERVICE="true"))
    address = await run.db.address("-external")
    server = Server(address, password=await run.db.password())
    assert (await asyncio.to_thread(database.retried, database.member, server)).primary
    await run.plan("external off", "external", lambda: run.db.update(EXTERNAL_SERVICE="false"))


async def come_back(run: Run, backup: Rows) -> None:
    """Stop and start a database, restore it in place, uninstall it and install it again.

    Args:
        run: Its database has all rows, and nobody writes any more.
        backup: The rows of its backup.
    """
    whole = await rows(run)
    await _stop(run)
    await run.plan("deploy after stop", "deploy", lambda: run.db.trigger("deploy"), _STARTED)
    assert await rows(run) == whole

    await _stop(run)
    await run.plan(
        "restore in place", "restore", lambda: run.db.trigger("restore", NAME=BACKUP), _STARTED
    )
    assert await rows(run) == backup
    run.report.notes.append(f"restored in place: {backup.count} rows, equal to the backup")

    await run.plan("ask for a final backup", "check", lambda: run.db.update(FINAL_BACKUP="true"))
    await run.clean_up("cleanup with a final backup")
    backups = _volumes(run).files(f"{run.db.name}-backups")
    assert [name.partition("-")[0] for name in backups] == ["final", BACKUP], backups
    await run.plan("deploy on the old volumes", "deploy", run.db.install, _STARTED)
    assert await rows(run) == backup
    run.report.notes.append(f"installed again on the old volumes: {backup.count} rows, equal")
    await run.clean_up("cleanup")


async def _stop(run: Run) -> None:
    await run.plan("stop", "stop", lambda: run.db.trigger("stop"))
    assert await run.members() == []


def _volumes(run: Run) -> Volumes:
    world = run.db.world
    return Volumes.of(run.db.admin, world.namespace, world.installation.cluster.directory)
