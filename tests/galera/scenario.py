"""The scenarios: what an administrator does with a database in its life, while rows are written."""

import asyncio
import time

from tests.galera import chaos, database, package
from tests.galera.beside import beside
from tests.galera.database import Server
from tests.galera.instance import SECRETS, Database
from tests.galera.observer import Node
from tests.galera.recording import Recording
from tests.galera.refusals import refusals
from tests.galera.returning import BACKUP, Rows, come_back, external, rows
from tests.galera.run import Asked, Run
from tests.support.cluster.waiting import wait_until

_SECONDS = 120.0
_PASSWORDS = {
    "app": "by-reference-'app'",
    "root": 'by-reference-"root"',
    "sst": r"by-reference-\sst",
}
"""By key of the Secret that the database is installed with; quotes test the quoting of scripts."""


async def short(run: Run) -> None:
    """Deploy, scale up and down, and clean up; the reconciler dies in the middle of each."""
    await _deploy(run)
    await _scale(run, 5)
    await _scale(run, 3)
    await run.count_rows()
    await run.clean_up("cleanup")


async def long(run: Run) -> None:
    """All that the package can do, with crashes of services, of a node and of the whole cluster."""
    await _deploy(run)
    await _scale(run, 5, webhook=True)
    await _scale(run, 3)
    await _update(run)
    await _upgrade(run)
    await external(run)
    backup = await _back_up_and_restore(run)
    await _crash(run)
    await come_back(run, backup)


async def crashes(run: Run) -> None:
    """Deploy, and then only the crashes and the refusals of the long one."""
    await _deploy(run)
    await _crash(run)
    await run.clean_up("cleanup")


async def _crash(run: Run) -> None:
    await _kill_one(run)
    await _kill_all(run)
    await _lose_all(run)
    run.report.notes += await refusals(run)
    await run.count_rows()


async def _deploy(run: Run) -> None:
    await _create_passwords(run, "given")
    references = {f"{key.upper()}_PASSWORD@secret": f"given/{key}" for key in _PASSWORDS}
    await run.plan("deploy 3", "deploy", lambda: run.db.install(**references))
    assert {key: await run.db.password(key) for key in _PASSWORDS} == _PASSWORDS
    await run.start_writer()


async def _create_passwords(run: Run, name: str) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": _PASSWORDS,
    }
    await run.db.admin.create(SECRETS, secret, namespace=run.db.world.namespace)


async def _scale(run: Run, count: int, *, webhook: bool = False) -> None:
    asked = Asked(webhook=webhook)
    # A node that leaves takes its restarts along: only those that stay are looked at.
    await run.plan(f"scale {count}", "scale", lambda: run.db.update(NODE_COUNT=str(count)), asked)
    assert len(await run.members()) == count


async def _update(run: Run) -> None:
    fragment = "max_connections = 123"
    await run.plan("update", "update", lambda: run.db.update(CONFIG=fragment), Asked(replaced=1))
    await _expect_setting(run, "max_connections", "123")


async def _upgrade(run: Run) -> None:
    newer = package.newer(run.directory / "newer", {"CPU": "120m"})
    await run.plan(
        "upgrade", "upgrade", lambda: run.db.kudo("upgrade", str(newer)), Asked(replaced=1)
    )


async def _expect_setting(run: Run, name: str, value: str) -> None:
    password = await run.db.password()
    for node in await run.members():
        with Server(node.address, password=password).cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES LIKE %s", (name,))
            assert dict(cursor.fetchall()) == {name: value}, f"{node.name}: {name} is another"


async def _back_up_and_restore(run: Run) -> Rows:
    """Make a backup, let a second Instance begin with it, and return the rows in it."""
    assert run.writer is not None
    before = run.writer.acknowledged[-1].number
    await run.plan("backup", "backup", lambda: run.db.trigger("backup", NAME=BACKUP))
    second = Database(run.db.world, run.db.admin, "second")
    async with Run.on(second, run.directory, run.say) as other:
        claim = f"{run.db.name}-backups"
        await other.plan(
            "restore into a second Instance", "deploy",
            lambda: second.install(RESTORE_CLAIM=claim, RESTORE_BACKUP=BACKUP),
        )  # fmt: skip
        run.report.plans += other.report.plans
        await _compare(run, second, before)
        found = await rows(other)
        await second.uninstall()
    return found


async def _compare(run: Run, second: Database, before: int) -> None:
    """Compare the rows of a restored database with those of the first one."""
    theirs = Server(await second.address(), password=await second.password())
    found = await asyncio.to_thread(database.numbers, theirs)
    last = max(found)
    assert last >= before, f"row {before} was written before the backup, which ends with {last}"
    ours = Server(await run.db.address(), password=await run.db.password())
    sums = [await asyncio.to_thread(database.checksum, one, last) for one in (ours, theirs)]
    assert sums[0] == sums[1], f"rows to {last}: {sums[0]}, restored: {sums[1]}"
    run.report.notes.append(f"restored: {len(found)} rows, checksum equal to that of the first")


async def _kill_one(run: Run) -> None:
    """Kill the server of one node, and wait until the cluster is whole again."""
    nodes = await run.members()
    await _kill_servers(run, "one server killed", nodes, nodes[-1:])


async def _kill_all(run: Run) -> None:
    """Kill the servers of all nodes at once: they know their last cluster, and resume it."""
    nodes = await run.members()
    await _kill_servers(run, "all servers killed", nodes, nodes)
    await run.until_written()


async def _kill_servers(run: Run, title: str, nodes: list[Node], victims: list[Node]) -> None:
    began = time.monotonic()
    killed = chaos.kill_servers(_containers(victims))
    assert killed == len(victims), f"{killed} servers of {len(victims)} nodes were killed"
    before = {node.name: node.restarts for node in victims}

    async def whole() -> bool:
        found = {node.name: node.restarts for node in await run.members()}
        again = all(found.get(name, 0) > count for name, count in before.items())
        return again and len(found) == len(nodes)

    await wait_until(whole, lambda: f"{', '.join(before)} to be back", _SECONDS)
    run.note(title, began, Asked(excused=list(before), kills=list(before)))


def _containers(nodes: list[Node]) -> list[str]:
    return [container for node in nodes for container in node.containers]


async def _lose_all(run: Run) -> None:
    """Lose all pods at once, as with their machines, and recover.

    The StatefulSet makes only the first pod anew, which knows of no peer: it waits for an
    administrator.
    """
    nodes = await run.members()
    # Deleted pods are not started again, so no server resumes the cluster before the others die.
    await asyncio.gather(*(run.delete_at_once(node) for node in nodes))
    chaos.kill_servers(_containers(nodes))
    asked = Asked(excused=[node.name for node in nodes], kills=["all pods"])
    recording = Recording(run.db)
    async with beside(recording.run()):
        await run.plan("recover", "recover", lambda: run.db.trigger("recover"), asked)
        await run.until_written()
    run.report.recording += recording.lines
