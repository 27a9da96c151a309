"""Finds out what tasks apply without running them.

The templates of Apply tasks, and of Toggles that are on, are rendered. What KudoOperator and Pipe
tasks make has names that are known: no parameter file is rendered and no pod runs for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubeio.kinds import CONFIG_MAPS, SECRETS
from kubeio.resource import Resource
from kudo.api import PipeFile
from kudo.children import child_of
from kudo.pipe import PipeNames
from kudo.rendering import Manifest
from kudo.tasks import check_task
from kudo_reconciler.execution.task_context import TaskContext
from kudo_reconciler.execution.toggles import is_on
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.pacing import paced
from kudo_reconciler.resources import INSTANCES


@dataclass(frozen=True, slots=True)
class Expected:
    """An object that a task applies.

    Attributes:
        manifest: As the template gives it; None if only its name is known.
    """

    resource: Resource
    name: str
    manifest: Manifest | None = None


@dataclass(frozen=True, slots=True)
class Ahead:
    """Finds out what tasks apply.

    Attributes:
        resolver: Finds the kinds of objects.
    """

    resolver: Resolver

    async def objects(self, context: TaskContext) -> Sequence[Expected]:
        """Return what a task applies; nothing for one that only deletes, or does nothing.

        Raises:
            TaskError: that cannot be known now.
        """
        check_task(context.task)
        match context.task.kind:
            case "Apply":
                return await self._rendered(context)
            case "Toggle" if is_on(context):
                return await self._rendered(context)
            case "KudoOperator":
                child = child_of(context.task, context.instance, context.version, {})
                return [Expected(INSTANCES, child.name)]
            case "Pipe":
                return [Expected(resource, name) for resource, name in artifacts_of(context)]
            case _:
                return ()

    async def _rendered(self, context: TaskContext) -> Sequence[Expected]:
        found = []
        async for manifest in paced(await context.manifests()):
            resolved = await self.resolver.resolve(manifest, context, "look ahead")
            name = str(manifest.object["metadata"]["name"])
            found.append(Expected(resolved.resource, name, manifest))
        return found


def pipe_names(context: TaskContext) -> PipeNames:
    """Return the names of what a Pipe task makes."""
    return PipeNames(
        context.instance.metadata.name,
        context.path.plan,
        context.ref.phase,
        context.ref.step,
        context.task.name,
    )


def artifacts_of(context: TaskContext) -> Iterator[tuple[Resource, str]]:
    """Yield kind and name of each artifact of a Pipe task."""
    names = pipe_names(context)
    for file in context.task.spec.pipe or ():
        yield resource_of(file), names.artifact(file.key or "")


def resource_of(file: PipeFile) -> Resource:
    """Return the kind of the artifact of a file."""
    return SECRETS if file.kind == "Secret" else CONFIG_MAPS
