"""Lives of namespaces: recorded without faults, then led again with one fault a stage."""

import asyncio
import uuid
from collections import Counter
from dataclasses import dataclass

from kubeio.client import Client
from kudo.api.names import HERITAGE, LABEL_HERITAGE
from tests.faults.cells.matrix import Cell
from tests.faults.cells.oracle import (
    STATE,
    Outcome,
    State,
    canonical,
    compare,
    differences,
    event_texts,
    has_orphans,
    same_events,
)
from tests.faults.cells.owned import ROLES
from tests.faults.cells.story import Place, Stage, Story
from tests.faults.cells.view import View, run_uid
from tests.faults.injection.faults import WATCHES, Rule, Rules
from tests.faults.injection.reconcilers import WATCH_SILENCE
from tests.faults.injection.strikes import Strikes
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.resources import EVENTS, NAMESPACES

PLAN_SECONDS = 180.0
"""More than a run takes that is hit by the crashes of all lives, one after another."""
SETTLE_SECONDS = 60.0
"""Kubernetes takes its time to remove what an Instance owned."""
_WATCH_SECONDS = 2 * WATCH_SILENCE
_POLL = 0.2
_STATE_POLL = 0.5
"""Each look lists every kind of object."""
_UNCHANGED = 2
"""Looks at a state without a difference, after which it counts as final."""

NEVER_STRUCK = "the fault never struck"


@dataclass(frozen=True, slots=True)
class Lives:
    """What all lives share.

    Attributes:
        user: Who triggers the plans.
        admin: Who looks at the result; neither goes through the proxy.
        plan_seconds: How long a plan may take.
        settle_seconds: How long what follows from it may take.
    """

    user: Client
    admin: Client
    view: View
    rules: Rules
    strikes: Strikes
    plan_seconds: float = PLAN_SECONDS
    settle_seconds: float = SETTLE_SECONDS

    async def new(self, story: Story) -> "Life":
        name = f"faults-{uuid.uuid4().hex[:10]}"
        self.view.follow(name, story.instance)
        await self.user.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
        return Life(self, name)


@dataclass
class Life:
    """One namespace that goes through the stages."""

    shared: Lives
    namespace: str

    async def record(self, stage: Stage) -> Outcome:
        """Go through a stage without a fault."""
        began = await self._run(stage, None)
        await self._calm()
        return await self._outcome(stage, began, await self._state())

    async def suffer(self, stage: Stage, cell: Cell, expected: Outcome) -> list[str]:
        """Go through a stage with the fault of a cell; return what is wrong afterwards."""
        rule = None if cell.fault is None else Rule(self.namespace, cell.label, cell.fault)
        began = await self._run(stage, rule)
        state = await self._settled(expected) if began.ended else await self._state()
        problems = compare(expected, await self._told(stage, began, state, expected))
        if not began.ended:
            problems.insert(0, f"the plan did not end within {self.shared.plan_seconds:.0f} s")
        if not began.followed:
            problems.insert(0, "nobody took over from the leader that was paused")
        if rule is not None and not rule.struck:
            problems.insert(0, NEVER_STRUCK)
        return problems

    async def _run(self, stage: Stage, rule: Rule | None) -> "_Began":
        """Trigger the plan and wait until it has ended."""
        shared, view = self.shared, self.shared.view
        before = run_uid(view.last(self.namespace), stage.plan)
        known = {event["metadata"]["uid"] for event in await self._events()}
        shared.rules.arm(self.namespace, rule)
        await stage.trigger(Place(shared.user, shared.admin, self.namespace))
        ended = await view.until(
            self.namespace, lambda: self._ended(stage, before), shared.plan_seconds
        )
        followed = await shared.strikes.plan_ended(self.namespace, self.shared.settle_seconds)
        if rule is not None and rule.fault in WATCHES:
            await _struck(rule)
        if ended:
            await self._until_end_event(stage)
        return _Began(ended, followed, known, shared.rules.withdraw(self.namespace))

    async def _until_end_event(self, stage: Stage) -> None:
        """Wait for the end event, and for what else the stage ends with, or for a while.

        Events are written beside the plan, and some things are done when it has ended.
        """
        uid = instances.entry(self.shared.view.last(self.namespace), stage.plan).get("uid")
        deadline = _now() + self.shared.settle_seconds
        while _now() < deadline:
            events = await self._events()
            ended = any(e["metadata"]["name"].endswith(f".{uid}.finished") for e in events)
            if ended and (not stage.told or any(e["reason"] == stage.told for e in events)):
                return
            await asyncio.sleep(_POLL)

    def _ended(self, stage: Stage, before: str) -> bool:
        view = self.shared.view
        now = view.instance(self.namespace)
        if now is None:
            return stage.plan == "cleanup"
        known = instances.entry(now, stage.plan)
        terminal = known.get("status") in {"COMPLETE", "FATAL_ERROR"}
        return instances.idle(now) and terminal and known.get("uid") != before

    async def _calm(self) -> None:
        """Wait until Kubernetes has done what follows from the plan, too."""
        await self._until_ready()
        last: dict[str, object] = {}
        unchanged = 0
        while unchanged < _UNCHANGED:
            await asyncio.sleep(_STATE_POLL)
            now = await self._state()
            # The objects of an Instance that is gone go one after another, with pauses.
            leaving = self.shared.view.instance(self.namespace) is None and has_orphans(now)
            unchanged = 0 if leaving or differences(last, now) else unchanged + 1
            last = now

    async def _settled(self, expected: Outcome) -> dict[str, object]:
        """Wait for the expected state; return what there is after a while, if it does not come."""
        await self._until_ready()
        deadline = _now() + self.shared.settle_seconds
        state = await self._state()
        while differences(expected.state, state) and _now() < deadline:
            await asyncio.sleep(_STATE_POLL)
            state = await self._state()
        return state

    async def _until_ready(self) -> None:
        view = self.shared.view

        def is_ready() -> bool:
            now = view.instance(self.namespace)
            said = instances.ready(now or {})
            decided = said.get("status") == "True" or said.get("reason") == "PlanInFatalError"
            return now is None or decided

        await view.until(self.namespace, is_ready, self.shared.settle_seconds)

    async def _outcome(self, stage: Stage, began: "_Began", state: State) -> Outcome:
        run = instances.entry(self.shared.view.last(self.namespace), stage.plan)
        uid = str(run.get("uid") or "")
        new = [e for e in await self._events() if e["metadata"]["uid"] not in began.events]
        return Outcome(
            uid=uid,
            status=str(run.get("status") or "not begun"),
            jobs=self.shared.view.jobs_of(self.namespace, uid),
            events=[text.replace(self.namespace, "NAMESPACE") for text in event_texts(new, uid)],
            state=state,
            seen=began.seen,
        )

    async def _told(
        self, stage: Stage, began: "_Began", state: State, expected: Outcome
    ) -> Outcome:
        """Return the outcome once the expected events are there, or after a while.

        Events are written beside the plan; of a leader that is killed, the next one writes them.
        """
        deadline = _now() + self.shared.settle_seconds
        found = await self._outcome(stage, began, state)
        while began.ended and not same_events(expected.events, found.events) and _now() < deadline:
            await asyncio.sleep(_POLL)
            found = await self._outcome(stage, began, state)
        return found

    async def _events(self) -> list[Json]:
        return (await self.shared.admin.list(EVENTS, namespace=self.namespace)).items

    async def _state(self) -> dict[str, object]:
        lists = await asyncio.gather(
            *(self.shared.admin.list(kind, namespace=self.namespace) for kind in STATE)
        )
        objects: list[Json] = [
            {**item, "kind": kind.kind}
            for kind, found in zip(STATE, lists, strict=True)
            for item in found.items
        ]
        roles = await self.shared.admin.list(ROLES, label_selector=f"{LABEL_HERITAGE}={HERITAGE}")
        objects += [
            {**item, "kind": ROLES.kind}
            for item in roles.items
            if item["metadata"]["name"].startswith(f"{self.namespace}-")
        ]
        return canonical(objects, self.namespace)


def _now() -> float:
    """Return seconds by the clock that the lives are led by, which may be a simulated one."""
    return asyncio.get_running_loop().time()


async def _struck(rule: Rule) -> None:
    """Give a rule time: a watch that an earlier fault stopped may come after the plan's end."""
    deadline = _now() + _WATCH_SECONDS
    while not rule.struck and _now() < deadline:  # noqa: ASYNC110 - the proxy counts
        await asyncio.sleep(_POLL)


@dataclass(frozen=True, slots=True)
class _Began:
    """A plan that was triggered.

    Attributes:
        ended: Whether it ended in time.
        followed: Whether another leader took over from one that was paused.
        events: uids of the events that were there before.
        seen: How often each write and watch event came by.
    """

    ended: bool
    followed: bool
    events: set[str]
    seen: Counter[str]
