"""One run: a database, a writer, an observer, and the figures of each plan."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kudo_cluster.progress import Progress
from tests.galera import chaos, database
from tests.galera.acknowledged import longest_gap
from tests.galera.beside import beside
from tests.galera.database import Server
from tests.galera.instance import Database, explain
from tests.galera.observer import PODS, Node, Observer
from tests.galera.table import PlanFigures, Report
from tests.galera.writing import WriterProcess
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until

Start = Callable[[], Awaitable[Done]]
_SYNC_SECONDS = 60.0
_MIDDLE_SECONDS = 240.0


@dataclass(frozen=True)
class Asked:
    """What may happen while a plan runs.

    Attributes:
        replaced: How often each pod may be replaced.
        excused: Pods that were killed before or are killed meanwhile.
        crash: Kill the reconciler when half of the steps have ended.
        webhook: Kill the webhook as well.
        kills: What was killed already, for the table.
    """

    replaced: int = 0
    excused: Sequence[str] = ()
    crash: bool = True
    webhook: bool = False
    kills: Sequence[str] = ()


@dataclass
class Run:
    """A database, who writes to it, and what was counted.

    Attributes:
        db: The Instance.
        observer: Of its pods.
        directory: For files.
        say: Receives a line for each step.
        report: What was counted so far.
        writer: Who writes, from `start_writer` to `count_rows`.
    """

    db: Database
    observer: Observer
    directory: Path
    say: Progress
    report: Report = field(default_factory=Report)
    writer: WriterProcess | None = None

    @classmethod
    @asynccontextmanager
    async def on(cls, db: Database, directory: Path, say: Progress) -> AsyncIterator["Run"]:
        """Yield a run, and observe the pods of its Instance meanwhile.

        Args:
            db: The Instance, which does not exist yet.
            directory: For files.
            say: Receives a line for each step.
        """
        observer = Observer(db.admin, db.world.namespace, db.name)
        run = cls(db, observer, directory, say)
        async with beside(observer.run()):
            try:
                yield run
            finally:
                if run.writer is not None:
                    with run.writer:
                        run.writer = None

    async def plan(self, title: str, plan: str, start: Start, asked: Asked = Asked()) -> Json:
        """Run a plan to its successful end, and note its figures.

        Args:
            title: For the table.
            plan: Its name.
            start: Makes it run.
            asked: What may happen meanwhile.

        Raises:
            AssertionError: it was refused, failed, or did not end in time.
        """
        self.say(f"{title}: starting")
        before, began = await self.db.run_id(plan), time.monotonic()
        done = await start()
        assert done.code == 0, f"{title} was refused: {done.output}"
        kills = [*asked.kills, *await self._crash(plan, before, asked)]
        ended = await self.db.until_ended(plan, before)
        assert instances.status_of(ended, plan) == "COMPLETE", f"{title}: {explain(ended, plan)}"
        self.note(title, began, asked, kills)
        return ended

    async def clean_up(self, title: str) -> None:
        """Uninstall the Instance, and note the figures of its plan cleanup."""
        self.say(f"{title}: starting")
        before, began, asked = await self.db.run_id("cleanup"), time.monotonic(), Asked()
        done = await self.db.kudo("uninstall")
        assert done.code == 0, f"{title} was refused: {done.output}"
        kills = await self._crash("cleanup", before, asked)
        await self.db.until_gone()
        self.note(title, began, asked, kills)

    def note(
        self, title: str, began: float, asked: Asked, kills: Sequence[str] | None = None
    ) -> None:
        """Note the figures of what began at a moment and ends now."""
        figures = self._figures(title, began, asked.kills if kills is None else kills, asked)
        self.report.plans.append(figures)
        self.say("  ".join(figures.cells))

    async def _crash(self, plan: str, before: str, asked: Asked) -> list[str]:
        """Kill the services in the middle of a plan; return what was killed."""
        if not asked.crash:
            return []
        ended = False

        async def middle() -> bool:
            nonlocal ended
            found = await self.db.world.find(INSTANCES, self.db.name)
            if found is None:
                ended = True
                return True
            entry = instances.entry(found, plan)
            new = entry.get("uid", "") != before
            ended = new and entry.get("status") in {"COMPLETE", "FATAL_ERROR"}
            return ended or (new and chaos.half_done(found, plan))

        await wait_until(middle, lambda: f"the middle of {plan}", _MIDDLE_SECONDS)
        if ended:
            return []
        await chaos.crash_services(self.db.world.installation, webhook=asked.webhook)
        return ["reconciler", "webhook"] if asked.webhook else ["reconciler"]

    def _figures(self, title: str, began: float, kills: Sequence[str], asked: Asked) -> PlanFigures:
        now = time.monotonic()
        gap = None if self.writer is None else longest_gap(self.writer.acknowledged, began, now)
        return PlanFigures(
            title,
            now - began,
            gap,
            self.observer.sizes_between(began, now),
            kills,
            self.observer.unasked(began, now, replaced=asked.replaced, excused=asked.excused),
        )

    async def start_writer(self) -> None:
        """Create the table and start the writer; wait for its first row."""
        password = await self.db.password()
        self.observer.password = password
        server = Server(await self.db.address(), password=password)
        await asyncio.to_thread(database.retried, database.create_table, server)
        self.writer = WriterProcess(server, self.directory)
        await self.until_written()

    async def until_written(self) -> None:
        """Wait for the next row that is acknowledged."""
        assert self.writer is not None
        writer, before = self.writer, len(self.writer.acknowledged)

        async def more() -> bool:
            return len(writer.acknowledged) > before

        await wait_until(more, lambda: "a row to be acknowledged", _SYNC_SECONDS)

    async def members(self) -> list[Node]:
        """Return the ready nodes of the database."""
        return [node for node in await self.observer.nodes() if node.ready]

    async def delete_at_once(self, node: Node) -> None:
        """Delete a pod without grace, as one whose machine is gone."""
        await self.db.admin.delete(
            PODS, node.name, namespace=self.db.world.namespace, uid=node.uid, grace_period_seconds=0
        )

    async def count_rows(self) -> None:
        """Stop the writer, and compare what it has noted with the rows of every node."""
        assert self.writer is not None
        with self.writer as writer:
            written = writer.stop()
            noted = {one.number for one in writer.acknowledged}
        self.writer = None
        found = [await asyncio.to_thread(database.numbers, s) for s in await self.servers()]
        sums = [
            await asyncio.to_thread(database.checksum, server, written.tried)
            for server in await self.servers()
        ]
        assert found, "no node of the database is ready"
        report = self.report
        report.tried, report.acknowledged = written.tried, len(noted)
        everywhere, anywhere = found[0].intersection(*found), found[0].union(*found)
        report.lost = len(noted - everywhere)
        report.unsure = len(anywhere - noted)
        report.checksums = len(set(sums)) == 1
        report.notes.append(f"errors of the writer: {written.errors or 'none'}")
        report.notes.append(f"nodes compared: {len(found)}")

    async def servers(self) -> list[Server]:
        """Return the ready nodes of the database as servers."""
        password = await self.db.password()
        return [Server(node.address, password=password) for node in await self.members()]
