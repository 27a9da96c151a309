"""The family "deleted meanwhile": the user deletes the Instance after each write of each stage.

What it leads to is not compared with the stage: the Instance goes, with all that is its own, each
run has one start and one end event, and each Job was created once in a run.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from kudo.api.names import LABEL_INSTANCE
from kudo.objects.adoption import retained_by
from kudo_reconciler.common.keys import INSTANCES
from tests.faults.cells.lives import NEVER_STRUCK
from tests.faults.cells.matrix import Cell, Group, Places
from tests.faults.cells.owned import RIVAL
from tests.faults.cells.story import Place, Stage
from tests.faults.injection.faults import DELETIONS, WATCH, Rule
from tests.unit.reconciler.lives.rest import assert_events
from tests.unit.reconciler.matrix.world import SETTLE_SECONDS, World

DELETED: Final = Group("deleted meanwhile", (*DELETIONS,), full=0, part=3, workers=1)


def deletion_cells(places: Places) -> list[Cell]:
    """Return the cells of the family."""
    return [
        Cell(stage, label, fault)
        for fault in DELETIONS
        for stage, labels in places.items()
        for label in labels
        if not label.startswith(WATCH)
    ]


async def delete_meanwhile(world: World, stage: Stage, cell: Cell) -> list[str]:
    """Go through a stage in which the Instance is deleted; return what is wrong afterwards."""
    assert cell.fault is not None
    life, shared = world.life, world.life.shared
    rule = Rule(life.namespace, cell.label, cell.fault)
    shared.rules.arm(life.namespace, rule)
    await stage.trigger(Place(shared.user, shared.admin, life.namespace))
    view, namespace = shared.view, life.namespace
    gone = await view.until(
        namespace,
        lambda: bool(rule.struck) and view.instance(namespace) is None,
        shared.plan_seconds,
    )
    await asyncio.sleep(SETTLE_SECONDS)
    shared.rules.withdraw(namespace)
    problems = [] if rule.struck else [NEVER_STRUCK]
    problems += [] if gone else ["the Instance is not gone"]
    return [*problems, *_left(world), *_events_missing(world)]


def _left(world: World) -> Iterator[str]:
    """Yield what is left that is not retained, and does not belong to the Instance that stays."""
    for (_, plural), obj in world.cluster.server.storage.everything():
        metadata = obj["metadata"]
        label = (metadata.get("labels") or {}).get(LABEL_INSTANCE)
        ours = label is not None or plural == INSTANCES.plural
        if ours and RIVAL not in (label, metadata["name"]) and retained_by(metadata) is None:
            yield f"{plural} {metadata['name']} is left"


def _events_missing(world: World) -> Iterator[str]:
    try:
        assert_events(world.observed)
    except AssertionError as missing:
        yield str(missing)
