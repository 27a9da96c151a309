"""What a stage is, and what users do in it: they write examples and change Instances."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kubeio.client import Client
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, OPERATORS, VERSIONS

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
_OPERATORS = {"./child": "newsroom", "./grandchild": "weather"}
_NEWSROOM = 'city: {{ .Params.city | quote }}\ntopics: ["chess"]\n'
"""The parameter file of the next version: one value changes, and one is dropped."""


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, as its user sees it.

    Attributes:
        client: Of the user, who may change what is KUDO's.
        admin: Who may change anything else.
    """

    client: Client
    admin: Client
    namespace: str

    async def patch(self, name: str, spec: Json) -> None:
        await self.client.merge_patch(INSTANCES, name, {"spec": spec}, namespace=self.namespace)

    async def create_instance(self, package: str, name: str) -> None:
        instance = _objects(package)["instance"]
        metadata = {**instance["metadata"], "name": name}
        await self.client.create(
            INSTANCES, in_namespace({**instance, "metadata": metadata}, self.namespace)
        )

    async def delete(self, name: str) -> None:
        await self.client.delete(INSTANCES, name, namespace=self.namespace)

    async def create_version(self, package: str, version: str = "") -> None:
        objects = _objects(package, version)
        await self.client.apply(
            OPERATORS,
            in_namespace(objects["operator"], self.namespace),
            field_manager="faults",
            force=True,
        )
        await self.client.create(VERSIONS, in_namespace(objects["version"], self.namespace))


@dataclass(frozen=True, slots=True)
class Stage:
    """One plan of a life.

    Attributes:
        name: What it is called in the matrix.
        plan: What runs.
        trigger: What the user does to have it run.
        faulty: Whether faults strike in it; one without prepares the next.
        ends: The status of the run at its end.
        told: Reason of an event that follows upon the end; with it the stage ends.
    """

    name: str
    plan: str
    trigger: Callable[[Place], Awaitable[None]]
    faulty: bool = True
    ends: str = "COMPLETE"
    told: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """What a life goes through.

    Attributes:
        instance: The Instance whose plans the stages run.
        stages: The stages, in their order.
    """

    instance: str
    stages: tuple[Stage, ...]


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


def in_namespace(obj: Json, namespace: str) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
