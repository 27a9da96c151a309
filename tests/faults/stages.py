"""The life that a namespace of the matrix leads: plans of examples/lifecycle, one after another.

Every life is the same, so that the state after a stage can be compared with that of a life without
faults. Each stage triggers one plan; at most one fault strikes in it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kubeio.client import Client
from kudo.packages import read_package, to_objects
from tests.integration.support import INSTANCES, OPERATORS, VERSIONS, Json

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lifecycle"
NAME = "book"


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, as its user sees it."""

    client: Client
    namespace: str

    async def patch(self, spec: Json) -> None:
        await self.client.merge_patch(INSTANCES, NAME, {"spec": spec}, namespace=self.namespace)

    async def create_version(self, package: str) -> None:
        objects = _objects(package)
        await self.client.apply(
            OPERATORS,
            _in(objects["operator"], self.namespace),
            field_manager="faults",
            force=True,
        )
        await self.client.create(VERSIONS, _in(objects["version"], self.namespace))


async def _install(place: Place) -> None:
    await place.create_version("v1")
    instance = {
        **_objects("v1")["instance"],
        "metadata": {"name": NAME, "labels": {"kudo.dev/operator": "guestbook"}},
    }
    await place.client.create(INSTANCES, _in(instance, place.namespace))


async def _update(place: Place) -> None:
    await place.patch({"parameters": {"title": "Visitors"}})


async def _counter(place: Place) -> None:
    await place.patch({"parameters": {"counter": "true"}})


async def _backup(place: Place) -> None:
    await place.patch({"planExecution": {"planName": "backup"}})


async def _upgrade(place: Place) -> None:
    await place.create_version("v2")
    await place.patch(
        {"operatorVersion": {"name": "guestbook-0.2.0"}, "parameters": {"maxLength": "100"}}
    )


async def _delete(place: Place) -> None:
    await place.client.delete(INSTANCES, NAME, namespace=place.namespace)


@dataclass(frozen=True, slots=True)
class Stage:
    """One plan of a life.

    Attributes:
        name: What it is called in the matrix.
        plan: What runs.
        trigger: What the user does to have it run.
        faulty: Whether faults strike in it; one without prepares the next.
    """

    name: str
    plan: str
    trigger: Callable[[Place], Awaitable[None]]
    faulty: bool = True


STAGES = (
    Stage("deploy", "deploy", _install),
    Stage("update", "update", _update),
    Stage("extras", "extras", _counter),
    # The first backup finds no Job to delete.
    Stage("first backup", "backup", _backup, faulty=False),
    Stage("backup", "backup", _backup),
    Stage("upgrade", "upgrade", _upgrade),
    Stage("cleanup", "cleanup", _delete),
)


@cache
def _objects(package: str) -> dict[str, Json]:
    objects = to_objects(read_package(_EXAMPLES / package), "default")
    return {
        "operator": objects.operator.to_wire(),
        "version": objects.operator_version.to_wire(),
        "instance": objects.instance.to_wire(),
    }


def _in(obj: Json, namespace: str) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
