"""Bad input: the package refuses it, and says in words what is wrong."""

import base64
from collections.abc import Awaitable, Callable, Mapping

from tests.galera.instance import SECRETS, Database, explain
from tests.galera.returning import BACKUP
from tests.galera.run import Run
from tests.support import instances
from tests.support.cluster.commands import Done

_SECONDS = 150.0


async def refusals(run: Run) -> list[str]:
    """Try what must be refused, retry what failed for a passing reason, and return lines of both.

    Raises:
        AssertionError: something was accepted.
    """
    lines = [
        _refused("an even number of nodes", await run.db.update(NODE_COUNT="4")),
        _refused("a restore of no backup", await run.db.trigger("restore")),
        _refused("a name that none can be", await run.db.trigger("backup", NAME="../x")),
        await _failed(
            "a restore onto a running cluster", run.db, "restore",
            lambda: run.db.trigger("restore", NAME=BACKUP),
        ),
        await _wrong_password(run.db),
        await _retried(run.db, "check"),
    ]  # fmt: skip
    backup = {"RESTORE_CLAIM": f"{run.db.name}-backups", "RESTORE_BACKUP": "missing"}
    lines.append(await _not_installed(run, "a backup that does not exist", backup))
    lines.append(await _not_installed(run, "a claim that is too small", {"STORAGE_SIZE": "16Mi"}))
    return lines


async def _not_installed(run: Run, what: str, parameters: Mapping[str, str]) -> str:
    """Expect that an Instance with these parameters is not deployed, and remove it."""
    other = Database(run.db.world, run.db.admin, "refused")
    line = await _failed(what, other, "deploy", lambda: other.install(**parameters))
    await other.uninstall()
    return line


def _refused(what: str, done: Done) -> str:
    assert done.code != 0, f"{what} was accepted"
    return f"refused: {what}: {done.output.strip().splitlines()[-1]}"


async def _failed(what: str, db: Database, plan: str, start: Callable[[], Awaitable[Done]]) -> str:
    """Expect that a plan ends in FATAL_ERROR, or is refused at once."""
    before = await db.run_id(plan)
    done = await start()
    if done.code != 0:
        return _refused(what, done)
    ended = await db.until_ended(plan, before, _SECONDS)
    assert instances.status_of(ended, plan) == "FATAL_ERROR", f"{what}: {explain(ended, plan)}"
    words = _words(instances.messages(ended, plan))
    assert words, f"{what}: no step says why: {explain(ended, plan)}"
    return f"refused: {what}: {words}"


def _words(messages: str) -> str:
    """Return what the container of a failed Job says, by the message of its step."""
    return messages.partition(" says: ")[2].partition("; see its log: ")[0]


async def _wrong_password(db: Database) -> str:
    """Change a password in the Secret but not in the database, check, and undo it."""
    right = await db.password()
    try:
        await _set_password(db, "wrong")
        return await _failed("a wrong password", db, "check", lambda: db.trigger("check"))
    finally:
        await _set_password(db, right)


async def _retried(db: Database, plan: str) -> str:
    """Go on with a plan that failed, now that its reason is gone."""
    before = await db.run_id(plan)
    done = await db.kudo("plan", "retry", "--name", plan)
    assert done.code == 0, done.output
    ended = await db.until_ended(plan, before, _SECONDS)
    assert instances.status_of(ended, plan) == "COMPLETE", explain(ended, plan)
    return f"retried: {plan}, with the right password: COMPLETE"


async def _set_password(db: Database, value: str) -> None:
    data = {"data": {"app": base64.b64encode(value.encode()).decode()}}
    await db.admin.merge_patch(
        SECRETS, f"{db.name}-credentials", data, namespace=db.world.namespace
    )
