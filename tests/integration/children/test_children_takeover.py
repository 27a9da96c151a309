"""A tree of Instances that KUDO 0.19 has made: it goes on as it is, and then it is ours."""

from collections.abc import Mapping

from kubeio.client import Client
from tests.integration.takeover.original import (
    CLI,
    FIRST_RUN,
    MANAGER,
    finished_status,
    instance_entry,
)
from tests.integration.takeover.watching import original_in_charge
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.events import reasons
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, VERSIONS
from tests.support.cluster.world import World

PLANS = {"update": build.plan({"settings": ["settings"]})}
EXTRA = [build.parameter("EXTRA", "none"), build.parameter("FIXED", "as it was", immutable=True)]
DEPENDENCY = children.child(parameters=EXTRA, plans=PLANS)
SET = {"SIZE": "1", "EXTRA": "some", "FIXED": "as it was"}
"""Parameters of the child: FIXED was filled in by the webhook of the original."""
FILE = "SIZE: '{{ .Params.SIZE }}'\nEXTRA: some\n"


class Tree:
    """What the original leaves: the Instance `i` and its child."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self.admin, self.namespace = admin, namespace

    async def leave(
        self, version: Json, parent_status: str = "COMPLETE", child_status: str = "COMPLETE"
    ) -> None:
        for one in (version, DEPENDENCY):
            await self.admin.create(VERSIONS, one, namespace=self.namespace, field_manager=CLI)
        top = await self._post(_instance("i", version, {"SIZE": "1"}), CLI)
        below = _instance(children.CHILD, DEPENDENCY, SET)
        below["metadata"]["ownerReferences"] = [_owner(top)]
        await self._post(below, MANAGER)
        merged = {"spec": {"operatorVersion": {"name": "child-0.1.0"}, "parameters": SET}}
        await self.admin.merge_patch(
            INSTANCES, children.CHILD, merged, namespace=self.namespace, field_manager=MANAGER
        )
        await self._end(children.CHILD, DEPENDENCY, child_status)
        await self._end("i", version, parent_status)

    async def _post(self, instance: Json, manager: str) -> Json:
        return await self.admin.create(
            INSTANCES, instance, namespace=self.namespace, field_manager=manager
        )

    async def _end(self, name: str, version: Json, status: str) -> None:
        instance = await self.admin.get(INSTANCES, name, namespace=self.namespace)
        running = {"planName": "deploy", "uid": FIRST_RUN, "status": status}
        instance["spec"]["planExecution"] = running if status == "IN_PROGRESS" else {}
        instance = await self.admin.replace(INSTANCES, instance, field_manager=MANAGER)
        instance["status"] = finished_status(version)
        instance["status"]["planStatus"]["deploy"] = instance_entry(
            version, "deploy", status, FIRST_RUN
        )
        await self.admin.replace(INSTANCES, instance, subresource="status", field_manager=MANAGER)


def _instance(name: str, version: Json, parameters: Mapping[str, str]) -> Json:
    operator = version["spec"]["operator"]["name"]
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": name, "labels": {"kudo.dev/operator": operator}},
        "spec": {
            "operatorVersion": {"name": version["metadata"]["name"]},
            "parameters": dict(parameters),
            "planExecution": {"planName": "deploy", "uid": FIRST_RUN},
        },
    }


def _owner(instance: Json) -> Json:
    metadata = instance["metadata"]
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


async def settled(world: World) -> Json:
    """Wait until ours has looked at both, and return the child."""
    await world.until("i", instances.idle, "an idle parent")
    return await world.until(children.CHILD, instances.idle, "an idle child")


async def test_nothing_runs_and_the_status_stays(world: World, admin: Client) -> None:
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(children.parent(file=FILE))
        before = await world.instance(children.CHILD)

    after = await settled(world)

    assert after["spec"] == before["spec"]
    assert after["status"]["planStatus"] == before["status"]["planStatus"]
    assert await reasons(world) == []


async def test_the_next_run_of_the_parent_runs_nothing_of_the_child(
    world: World, admin: Client
) -> None:
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(children.parent(file=FILE))
    before = await settled(world)

    ended = await children.run_again(world)

    assert instances.status_of(ended, "deploy") == "COMPLETE", instances.messages(ended, "deploy")
    after = await world.instance(children.CHILD)
    assert after["spec"] == before["spec"]
    assert await children.runs_of(world, children.CHILD) == []


async def test_what_the_parent_drops_goes_and_what_is_immutable_stays(
    world: World, admin: Client
) -> None:
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(children.parent(file="SIZE: '{{ .Params.SIZE }}'"))
    await settled(world)

    ended = await children.run_again(world)

    assert instances.status_of(ended, "deploy") == "COMPLETE", instances.messages(ended, "deploy")
    after = await world.instance(children.CHILD)
    assert after["spec"]["parameters"] == {"SIZE": "1", "FIXED": "as it was"}
    assert await children.runs_of(world, children.CHILD) == ["update"]
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "1"}


async def test_what_people_have_set_stays_theirs(world: World, admin: Client) -> None:
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(children.parent(children.have()))
        theirs = {"spec": {"parameters": {"EXTRA": "by hand"}}}
        await admin.merge_patch(
            INSTANCES, children.CHILD, theirs, namespace=world.namespace, field_manager=CLI
        )
    await settled(world)

    await children.run_again(world)

    after = await world.instance(children.CHILD)
    assert after["spec"]["parameters"] == {"EXTRA": "by hand", "FIXED": "as it was"}


async def test_only_parameters_and_version_become_ours(world: World, admin: Client) -> None:
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(children.parent(file=FILE))
    await settled(world)

    await children.run_again(world)

    found = await admin.get(INSTANCES, children.CHILD, namespace=world.namespace)
    fields = {
        (one["manager"], one["operation"]): one["fieldsV1"].get("f:spec", {})
        for one in found["metadata"]["managedFields"]
        if not one.get("subresource")
    }
    assert {"f:operatorVersion", "f:parameters"} <= fields["kudo", "Apply"].keys()
    assert {"f:SIZE", "f:EXTRA"} <= fields["kudo", "Apply"]["f:parameters"].keys()
    assert "f:operatorVersion" not in fields["manager", "Update"]
    assert fields["manager", "Update"]["f:parameters"] == {"f:FIXED": {}}


async def test_a_parent_that_was_waiting_goes_on_and_ends(world: World, admin: Client) -> None:
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(children.parent(file=FILE), "IN_PROGRESS")

    ended = await world.until_complete("i")

    assert instances.entry(ended, "deploy")["uid"] == FIRST_RUN
    assert await children.runs_of(world, children.CHILD) == []


async def test_a_child_that_had_failed_is_run_again_with_its_parent(
    world: World, admin: Client
) -> None:
    """The original counted it as a success."""
    async with original_in_charge(world, admin):
        await Tree(admin, world.namespace).leave(
            children.parent(file=FILE), child_status="FATAL_ERROR"
        )
    await world.until("i", instances.idle, "an idle parent")

    ended = await children.run_again(world)

    assert instances.status_of(ended, "deploy") == "COMPLETE", instances.messages(ended, "deploy")
    assert await children.runs_of(world, children.CHILD) == ["deploy"]
