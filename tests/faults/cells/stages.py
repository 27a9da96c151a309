"""The lives that namespaces of the matrix lead: plans of examples, one after another.

There are two stories: that of one Instance of examples/lifecycle, and that of a tree of three
Instances of examples/parent-child. Every life of a story is the same, so that the state after a
stage can be compared with that of a life without faults. Each stage triggers one plan; at most one
fault strikes in it, anywhere in the tree.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kubeio.client import Client
from kudo.packages import read_package, to_objects
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, OPERATORS, VERSIONS

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
_BOOK, _PAPER = "book", "paper"
_TREE = {
    "parent-child/child/grandchild": "0.1.0",
    "parent-child/child": "0.1.0",
    "parent-child": "0.1.0",
}
_NEXT = {"parent-child/child": "0.2.0", "parent-child": "0.2.0"}
_OPERATORS = {"./child": "newsroom", "./grandchild": "weather"}
_NEWSROOM = 'city: {{ .Params.city | quote }}\ntopics: ["chess"]\n'
"""The parameter file of the next version: one value changes, and one is dropped."""


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, as its user sees it."""

    client: Client
    namespace: str

    async def patch(self, name: str, spec: Json) -> None:
        await self.client.merge_patch(INSTANCES, name, {"spec": spec}, namespace=self.namespace)

    async def create_instance(self, package: str, name: str) -> None:
        instance = _objects(package)["instance"]
        metadata = {**instance["metadata"], "name": name}
        await self.client.create(INSTANCES, _in({**instance, "metadata": metadata}, self.namespace))

    async def delete(self, name: str) -> None:
        await self.client.delete(INSTANCES, name, namespace=self.namespace)

    async def create_version(self, package: str, version: str = "") -> None:
        objects = _objects(package, version)
        await self.client.apply(
            OPERATORS,
            _in(objects["operator"], self.namespace),
            field_manager="faults",
            force=True,
        )
        await self.client.create(VERSIONS, _in(objects["version"], self.namespace))


async def _install(place: Place) -> None:
    await place.create_version("lifecycle/v1")
    await place.create_instance("lifecycle/v1", _BOOK)


async def _update(place: Place) -> None:
    await place.patch(_BOOK, {"parameters": {"title": "Visitors"}})


async def _counter(place: Place) -> None:
    await place.patch(_BOOK, {"parameters": {"counter": "true"}})


async def _backup(place: Place) -> None:
    await place.patch(_BOOK, {"planExecution": {"planName": "backup"}})


async def _upgrade(place: Place) -> None:
    await place.create_version("lifecycle/v2")
    version = {"operatorVersion": {"name": "guestbook-0.2.0"}}
    await place.patch(_BOOK, {**version, "parameters": {"maxLength": "100"}})


async def _delete(place: Place) -> None:
    await place.delete(_BOOK)


async def _install_tree(place: Place) -> None:
    for package, version in _TREE.items():
        await place.create_version(package, version)
    await place.create_instance("parent-child", _PAPER)


async def _update_tree(place: Place) -> None:
    await place.patch(_PAPER, {"parameters": {"city": "Paris"}})


async def _upgrade_tree(place: Place) -> None:
    for package, version in _NEXT.items():
        await place.create_version(package, version)
    await place.patch(_PAPER, {"operatorVersion": {"name": "newspaper-0.2.0"}})


async def _delete_tree(place: Place) -> None:
    await place.delete(_PAPER)


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


@dataclass(frozen=True, slots=True)
class Story:
    """What a life goes through.

    Attributes:
        instance: The Instance whose plans the stages run.
        stages: The stages, in their order.
    """

    instance: str
    stages: tuple[Stage, ...]


STORIES = (
    Story(
        _BOOK,
        (
            Stage("deploy", "deploy", _install),
            Stage("update", "update", _update),
            Stage("extras", "extras", _counter),
            # The first backup finds no Job to delete.
            Stage("first backup", "backup", _backup, faulty=False),
            Stage("backup", "backup", _backup),
            Stage("upgrade", "upgrade", _upgrade),
            Stage("cleanup", "cleanup", _delete),
        ),
    ),
    Story(
        _PAPER,
        (
            Stage("deploy tree", "deploy", _install_tree),
            Stage("update tree", "update", _update_tree),
            Stage("upgrade tree", "update", _upgrade_tree),
            Stage("cleanup tree", "cleanup", _delete_tree),
        ),
    ),
)


@cache
def _objects(package: str, version: str = "") -> dict[str, Json]:
    objects = to_objects(read_package(_EXAMPLES / package), "default")
    return {
        "operator": objects.operator.to_wire(),
        "version": _in_tree(objects.operator_version.to_wire(), version),
        "instance": objects.instance.to_wire(),
    }


def _in_tree(stored: Json, version: str) -> Json:
    """Return an OperatorVersion as the installation of a tree writes it."""
    spec = stored["spec"]
    for task in spec["tasks"]:
        if task["kind"] == "KudoOperator":
            package = _OPERATORS[task["spec"]["package"]]
            below = "0.1.0" if package == "weather" else version
            task["spec"] |= {"package": package, "operatorVersion": below}
    if version not in {"", spec["version"]}:
        spec["version"] = version
        stored["metadata"]["name"] = f"{spec['operator']['name']}-{version}"
        spec["templates"] = {
            file: _NEWSROOM if file == "newsroom.yaml" else text
            for file, text in spec["templates"].items()
        }
    return stored


def _in(obj: Json, namespace: str) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
