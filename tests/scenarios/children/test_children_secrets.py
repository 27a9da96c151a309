"""Children get references to Secrets, never values."""

import base64
import json

import pytest

from kubeio.client import Client
from kubeio.resource import SECRETS
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.interface import World

PASSWORD = build.parameter("PASSWORD", secret=True)
VALUE = "correct horse"


def versions(file: str, **of_child: bool) -> tuple[Json, Json]:
    """Return a parent and a child that both have a secret parameter."""
    parent = children.parent(file=file)
    parent["spec"]["parameters"].append(PASSWORD)
    made = build.template(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "{{ .Name }}"},
            "stringData": {"password": "{{ .Params.PASSWORD }}"},
        }
    )
    own = {**PASSWORD, **of_child}
    return parent, children.child(settings=made, parameters=[own])


def instance(name: str = "db") -> Json:
    made = build.instance("i", "parent-0.1.0")
    reference = {"name": name, "key": "password"}
    made["spec"]["parametersFrom"] = [{"name": "PASSWORD", "secretKeyRef": reference}]
    return made


async def installed(world: World, admin: Client, file: str, **of_child: bool) -> None:
    for name in ("db", "new"):
        metadata = {"name": name}
        obj = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        data = {"data": {"password": base64.b64encode(f"{VALUE} {name}".encode()).decode()}}
        await admin.create(SECRETS, {**obj, **data}, namespace=world.namespace)
    await children.bring(world, *versions(file, **of_child), instance())


async def test_a_child_gets_a_reference_and_later_another_one(world: World, admin: Client) -> None:
    await installed(world, admin, "PASSWORD: '{{ .Params.PASSWORD }}'\nSIZE: '3'")
    await world.until_complete("i")
    child = await world.instance(children.CHILD)
    reference = {"name": "db", "key": "password"}
    assert child["spec"]["parametersFrom"] == [{"name": "PASSWORD", "secretKeyRef": reference}]
    assert child["spec"]["parameters"] == {"SIZE": "3"}
    assert VALUE not in json.dumps(child)
    await world.patch("i", {"parametersFrom": instance("new")["spec"]["parametersFrom"]})
    await world.until_complete("i")
    child = await world.until_complete(children.CHILD)
    assert child["spec"]["parametersFrom"][0]["secretKeyRef"]["name"] == "new"
    made = await admin.get(SECRETS, children.CHILD, namespace=world.namespace)
    assert base64.b64decode(made["data"]["password"]).decode() == f"{VALUE} new"


@pytest.mark.parametrize(
    ("file", "declared", "said"),
    [
        ("PASSWORD: 'pw={{ .Params.PASSWORD }}'", True, "as a part of a text"),
        ("PASSWORD: '{{ .Params.PASSWORD | b64enc }}'", True, "as a part of a text"),
        ("PASSWORD: '{{ .Params.PASSWORD }}'", False, "does not declare as secret"),
    ],
)
async def test_what_would_give_a_child_the_value_ends_the_run(
    world: World, admin: Client, file: str, declared: bool, said: str
) -> None:
    await installed(world, admin, file, secret=declared)
    failed = await world.until_failed("i")
    assert said in instances.messages(failed, "deploy")
