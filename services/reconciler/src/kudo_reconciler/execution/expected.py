"""Finds out what tasks apply without running them, for one task or for all plans.

The Inventory records the task that applied an object last, not which others would apply it:
`deploy` and `update` often apply the same ones. So it is an orphan only if no plan applies it.

What a task applies whose templates use outputs of other tasks is known in its run alone. So what
it has applied, and objects of the kinds that its templates name, are taken for what it applies.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubeio.leader_election.elector import NotLeading
from kubeio.resource import Resource
from kudo.api import Instance
from kudo.api.task_kinds import (
    FatalTaskError,
    TaskError,
    TaskPath,
    TransientTaskError,
    check_task,
    templates_of,
)
from kudo.objects.inventory.record import Place
from kudo.plans.execution import step_of, steps_of
from kudo.tasks.rendering import OUTPUTS_UNKNOWN, Manifest
from kudo.tasks.usage import kinds_named
from kudo_reconciler.common.concurrency import paced
from kudo_reconciler.common.errors import described
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.run_values import NO_VALUES
from kudo_reconciler.execution.task_context import RenderContext, RunMemory
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.run_context import place_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Expected:
    """An object that a task applies.

    Attributes:
        manifest: As the template gives it; None if only its name is known.
    """

    resource: Resource
    name: str
    manifest: Manifest | None = None


Expects = Callable[[RenderContext, Resolver], Awaitable[Sequence[Expected]]]
"""Returns what a task of a kind applies; raises TaskError if that cannot be known now."""


@dataclass(frozen=True, slots=True)
class ExpectedObjects:
    """Finds out what tasks apply.

    Attributes:
        resolver: Finds the kinds of objects.
        kinds: What each kind expects.
    """

    resolver: Resolver
    kinds: Mapping[str, Expects]

    async def objects(self, context: RenderContext) -> Sequence[Expected]:
        """Return what a task applies; nothing for one that only deletes, or does nothing.

        Raises:
            TaskError: that cannot be known now.
        """
        check_task(context.task)
        return await self.kinds[context.task.kind](context, self.resolver)


@dataclass(frozen=True, slots=True)
class EveryPlan:
    """Renders the tasks of all plans of an OperatorVersion, in worker processes."""

    expected: ExpectedObjects
    renderer: Renderer

    async def applied(
        self, candidates: Mapping[Place, str], instance: Instance, memory: RunMemory
    ) -> frozenset[Place]:
        """Return those of the candidates that a task of any plan applies, or may apply.

        Args:
            candidates: The objects that may be orphans, with the task that is on record.
            instance: The Instance, with the parameters of its run.
            memory: The memory of the run, with its OperatorVersion.

        Raises:
            TaskError: a task cannot be rendered, or the OperatorVersion lacks it.
        """
        undecided, namespace = dict(candidates), instance.metadata.namespace
        kinds, in_runs = KindsNamed(), set[str]()
        for context in _task_contexts(instance, memory, self.renderer):
            if not undecided:
                break
            if context.task.name in in_runs:
                continue
            try:
                # Only places are kept: the manifests of all plans at a time could fill the memory.
                async for expected in paced(await self.expected.objects(context)):
                    undecided.pop(place_of(expected.resource, namespace, expected.name), None)
            except TaskError as error:
                if error.reason != OUTPUTS_UNKNOWN:
                    raise
                in_runs.add(context.task.name)
                async for place in paced(list(kinds.may_be_of(context, undecided))):
                    del undecided[place]
            except NotLeading:
                raise
            except Exception as fault:
                # A bug in rendering must not keep the run from its end: the caller takes a
                # TaskError as "not known", and makes no orphans.
                log.error(
                    "rendering crashed", extra={"task": str(context.path), **described(fault)}
                )
                text = f"internal error ({type(fault).__name__})"
                raise TransientTaskError("TaskRenderingError", text) from fault
            # A task that applies nothing awaits nothing, and there may be thousands of them.
            await asyncio.sleep(0)
        return frozenset(candidates) - undecided.keys()


@dataclass(frozen=True, slots=True)
class KindsNamed:
    """The kinds of objects that templates name, by template: several steps may run a task."""

    known: dict[str, frozenset[str] | None] = field(default_factory=dict)

    def may_be_of(self, context: RenderContext, places: Mapping[Place, str]) -> Iterator[Place]:
        """Yield the objects that a task has applied last, or that its templates may name."""
        kinds = self.of(context)
        for place, task in places.items():
            if task == context.task.name or kinds is None or place.kind in kinds:
                yield place

    def of(self, context: RenderContext) -> frozenset[str] | None:
        """Return the kinds that the templates of a task name; None for any kind."""
        texts, named = context.version.spec.templates or {}, frozenset[str]()
        for use in templates_of(context.task):
            if use.name not in self.known:
                self.known[use.name] = kinds_named(texts.get(use.name, ""))
            kinds = self.known[use.name]
            if kinds is None:
                return None
            named |= kinds
        return named


def _task_contexts(
    instance: Instance, memory: RunMemory, renderer: Renderer
) -> Iterator[RenderContext]:
    """Yield the context of each task in each step of each plan.

    Raises:
        FatalTaskError: the OperatorVersion lacks a task of one of its plans.
    """
    version = memory.version
    for plan_name, plan in version.plans.items():
        for step in steps_of(plan):
            for task_name in step_of(plan, step).tasks:
                task = version.task(task_name)
                path = TaskPath(instance.key, plan_name, step.phase, step.step, task_name)
                if task is None:
                    raise FatalTaskError("UnknownTaskName", f"missing task {path}")
                yield RenderContext(
                    instance,
                    version,
                    memory.uid,
                    path,
                    step,
                    task,
                    renderer,
                    outputs=None,
                    values=memory.values or NO_VALUES,
                    run_parameters=None,
                )
