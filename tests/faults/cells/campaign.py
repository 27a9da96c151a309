"""The whole of it: a cluster's reconcilers behind the proxy, the recording, the cells, the results.

A life goes from stage to stage with one cell in each. Where a cell failed the life ends, because
what follows would be compared with a state that it cannot have; the other cells get another life.
A fault may fail to strike because a crash of another cell changed the order of the writes: then the
cell is tried once more.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster.installation import Installation
from tests.faults.cells.lives import NEVER_STRUCK, Life, Lives
from tests.faults.cells.matrix import GROUPS, Cell, Group, Result, Sample, choose, failure_line
from tests.faults.cells.oracle import Outcome, compare
from tests.faults.cells.stages import STORIES
from tests.faults.cells.story import Stage, Story
from tests.faults.cells.view import View
from tests.faults.injection.faults import LEADERS, Rules
from tests.faults.injection.proxy import Proxy
from tests.faults.injection.reconcilers import Reconcilers
from tests.faults.injection.strikes import Strikes

_RECORDINGS = 2
_TRIES = 4

Say = Callable[[str], None]


@dataclass
class Campaign:
    """Records the lives without faults, then runs cells."""

    lives: Lives
    reconcilers: Reconcilers
    proxy: Proxy
    say: Say
    expected: dict[str, Outcome] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def on(cls, installation: Installation, say: Say) -> AsyncIterator["Campaign"]:
        """Yield a campaign on an installation whose own reconciler does not run."""
        cluster, rules = installation.cluster, Rules()
        reconcilers = Reconcilers(installation)
        strikes = Strikes(reconcilers)

        upstream = load_config(cluster.kubeconfig("reconciler"))
        async with (
            Client(load_config(cluster.kubeconfig("user"))) as user,
            Client(load_config(cluster.kubeconfig("admin"))) as admin,
            View.of(admin) as view,
            Proxy(upstream, rules, strikes) as proxy,
            asyncio.TaskGroup() as group,
        ):
            keeping = group.create_task(reconcilers.keep(), name="keeper")
            await reconcilers.start("one", await proxy.listen("one"))
            try:
                yield cls(Lives(user, admin, view, rules, strikes), reconcilers, proxy, say)
            finally:
                keeping.cancel()
                await reconcilers.stop(reconcilers.names)

    async def record(self) -> None:
        """Lead lives without faults, and take down what all of them had in common."""
        await asyncio.gather(*map(self._record, STORIES))

    async def _record(self, story: Story) -> None:
        lives = [await self.lives.new(story) for _ in range(_RECORDINGS)]
        for stage in story.stages:
            found = await asyncio.gather(*(life.record(stage) for life in lives))
            for other in found[1:]:
                assert not compare(found[0], other), (stage.name, compare(found[0], other))
            self.expected[stage.name] = found[0]
            assert found[0].status == stage.ends, found[0]
            if stage.faulty:
                common = set(found[0].seen).intersection(*(one.seen for one in found[1:]))
                # In the order in which they first came by.
                self.places[stage.name] = [label for label in found[0].seen if label in common]

    async def run(self, sample: Sample, *, groups: set[str]) -> list[Result]:
        """Run the chosen cells of the groups with these names."""
        chosen, results = choose(self.places, sample), list[Result]()
        for group in (group for group in GROUPS if group.name in groups):
            results += await self.run_group(group, chosen[group.name])
        return results

    async def run_group(self, group: Group, cells: Sequence[Cell]) -> list[Result]:
        """Run cells in parallel lives; where leaders are paused, beside a second reconciler."""
        began = time.monotonic()
        if group.faults == LEADERS:
            await self.reconcilers.start("two", await self.proxy.listen("two"))
        todo = _Todo(cells)
        results: list[Result] = []

        async def work() -> None:
            while todo:
                results.extend(await self._life(todo, lasting=group.lasting))

        async with asyncio.TaskGroup() as workers:
            for _ in range(min(group.workers, len(cells))):
                workers.create_task(work())
        if group.faults == LEADERS:
            await self.reconcilers.stop(["two"])
        passed = sum(result.passed for result in results)
        seconds = time.monotonic() - began
        self.say(f"{group.name}: {passed} of {len(results)} passed in {seconds:.0f} s")
        return results

    async def _life(self, todo: "_Todo", *, lasting: bool) -> list[Result]:
        """Lead one life as far as there are cells for it and all goes well."""
        results: list[Result] = []
        story = next(one for one in STORIES if todo.left_of(one))
        life = await self.lives.new(story)
        suspect: Result | None = None
        for stage in story.stages:
            if not todo.left_of(story) and suspect is None:
                break
            cell = None if suspect is not None else todo.take(stage.name)
            result = await self._stage(life, stage, cell or Cell(stage.name, "", None))
            if suspect is not None:
                suspect.problems += [f"{stage.name} after it: {p}" for p in result.problems]
                break
            if (cell is None and result.passed) or todo.again(result):
                continue
            results.append(result)
            if not result.passed:
                break
            suspect = result if lasting else None
        return results

    async def _stage(self, life: Life, stage: Stage, cell: Cell) -> Result:
        began, crashes = time.monotonic(), self.lives.strikes.killed
        problems = await life.suffer(stage, cell, self.expected[stage.name])
        met = self.lives.strikes.killed - crashes
        result = Result(cell, problems, met, time.monotonic() - began)
        if problems:
            self.say(f"{life.namespace}: {failure_line(result)}")
        return result


class _Todo:
    """The cells that are left, by stage."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._left: defaultdict[str, deque[Cell]] = defaultdict(deque)
        self._tries: Counter[Cell] = Counter()
        for cell in cells:
            self._left[cell.stage].append(cell)

    def __bool__(self) -> bool:
        return any(self._left.values())

    def left_of(self, story: Story) -> bool:
        return any(self._left[stage.name] for stage in story.stages)

    def take(self, stage: str) -> Cell | None:
        return self._left[stage].popleft() if self._left[stage] else None

    def again(self, result: Result) -> bool:
        """Put a cell back whose fault did not strike; return whether it was."""
        self._tries[result.cell] += 1
        if result.problems != [NEVER_STRUCK] or self._tries[result.cell] >= _TRIES:
            return False
        self._left[result.cell.stage].append(result.cell)
        return True
