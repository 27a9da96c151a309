"""Finds out which objects the plans of an OperatorVersion apply, whether they run or not.

An object that one plan no longer applies may be that of another one, so nothing is an orphan before
all of them were asked. It is known which tasks applied an object last, not which others would.
"""

import asyncio
import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kubeio.leader_election.elector import NotLeading
from kudo.api import Instance
from kudo.api.task_kinds import FatalTaskError, TaskError, TaskPath, TransientTaskError
from kudo.objects.inventory.record import Place
from kudo.plans.execution import StepRef, step_of, steps_of
from kudo_reconciler.common.errors import described
from kudo_reconciler.common.pacing import paced
from kudo_reconciler.execution.expected.ahead import Ahead
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.task_context import RenderContext, RunMemory
from kudo_reconciler.objects.places import place_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EveryPlan:
    """Renders the tasks of all plans; worker processes are charged to the namespace as usual."""

    ahead: Ahead
    renderer: Renderer

    async def applied(
        self, wanted: Collection[Place], instance: Instance, memory: RunMemory
    ) -> frozenset[Place]:
        """Return which objects tasks of any plan of the version of a run apply.

        Places are kept, never what was rendered. Nothing is rendered once all were found.

        Args:
            wanted: The objects that are in question.
            instance: With the parameters of the run.
            memory: Of the run.

        Raises:
            TaskError: what a task applies cannot be known now.
        """
        looked_for, found = frozenset(wanted), set[Place]()
        for context in _contexts(instance, memory, self.renderer):
            if len(found) == len(looked_for):
                break
            try:
                found |= looked_for & await self._places(context)
            except (TaskError, NotLeading):
                raise
            except Exception as fault:
                # A bug must not keep the run from its end.
                log.error(
                    "rendering crashed", extra={"task": str(context.path), **described(fault)}
                )
                text = f"internal error ({type(fault).__name__})"
                raise TransientTaskError("TaskRenderingError", text) from fault
            # Tasks that apply nothing wait for nothing, and there may be thousands.
            await asyncio.sleep(0)
        return frozenset(found)

    async def _places(self, context: RenderContext) -> set[Place]:
        namespace, places = context.instance.metadata.namespace, set[Place]()
        async for one in paced(await self.ahead.objects(context)):
            places.add(place_of(one.resource, namespace, one.name))
        return places


def _contexts(instance: Instance, memory: RunMemory, renderer: Renderer) -> Iterator[RenderContext]:
    """Yield the context of each task in each step of each plan.

    Raises:
        FatalTaskError: the OperatorVersion lacks a task of one of its plans.
    """
    version = memory.version
    for plan, ref, name in _uses(memory):
        task = version.task(name)
        path = TaskPath(instance.key, plan, ref.phase, ref.step, name)
        if task is None:
            raise FatalTaskError("UnknownTaskName", f"missing task {path}")
        yield RenderContext(instance, version, memory.uid, path, ref, task, renderer)


def _uses(memory: RunMemory) -> Iterator[tuple[str, StepRef, str]]:
    for name, plan in memory.version.plans.items():
        for ref in steps_of(plan):
            for task in step_of(plan, ref).tasks:
                yield name, ref, task
