"""Objects that stay when their Instance is deleted, and who may have them then."""

import re

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import create_theirs, delete
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.world.records import (
    CLAIMS,
    RETAIN,
    SECRETS,
    annotated,
    change,
    claim,
    config,
    install,
    orphaned,
    record,
    secret,
    uid_of,
    upgrade,
    version,
    versions,
)

RETAINED_BY = "kudo.dev/retained-by"


def keeping(name: str = "v1", **options: str) -> Json:
    """Return a version whose claim is retained."""
    kept = annotated(claim("data"), RETAIN)
    return version(name, {"task": [config("a"), build.template(kept)]}, **options)  # type: ignore[arg-type]


async def uninstall(world: World, name: str = "i") -> None:
    """Delete an Instance; return when what it owns is gone, too."""
    await delete(world, name)
    await world.until_gone(INSTANCES, name)
    await world.until_gone(CONFIG_MAPS, f"{name}-a")


async def annotation(admin: Client, world: World) -> str:
    found = await admin.get(CLAIMS, "data", namespace=world.namespace)
    return str(found["metadata"]["annotations"].get(RETAINED_BY, ""))


async def owners(admin: Client, world: World, name: str) -> list[str]:
    """Return the uids of the owners of a ConfigMap."""
    found = await admin.get(CONFIG_MAPS, name, namespace=world.namespace)
    return [owner["uid"] for owner in found["metadata"].get("ownerReferences", ())]


async def test_what_is_retained_stays_and_a_new_instance_takes_it_over(
    world: World, admin: Client
) -> None:
    first = await install(world, keeping())
    live = await admin.get(CLAIMS, "data", namespace=world.namespace)
    assert "ownerReferences" not in live["metadata"]
    assert await annotation(admin, world) == (f"{world.namespace}/i/op/{first['metadata']['uid']}")
    assert (await record(world))["PersistentVolumeClaim data"]["retained"] is True

    await uninstall(world)
    assert await uid_of(admin, CLAIMS, "data", world.namespace) == live["metadata"]["uid"]
    # What its user has written meanwhile is as good as the data in it.
    note = {"metadata": {"annotations": {"example.org/data": "yes"}}}
    await admin.merge_patch(CLAIMS, "data", note, namespace=world.namespace)

    second = await install(world, keeping())
    taken = await admin.get(CLAIMS, "data", namespace=world.namespace)
    assert taken["metadata"]["uid"] == live["metadata"]["uid"]
    assert taken["metadata"]["annotations"]["example.org/data"] == "yes"
    assert "ownerReferences" not in taken["metadata"]
    # It holds data that the second Instance has not created.
    whose = f"{world.namespace}/i/op/{second['metadata']['uid']}/adopted"
    assert await annotation(admin, world) == whose
    assert "data" in await event_text(world, "ObjectTakenOver")
    assert (await record(world))["PersistentVolumeClaim data"]["retained"] is True


async def test_another_instance_is_refused_until_the_printed_command_is_run(
    world: World, admin: Client
) -> None:
    first = await install(world, keeping())
    uid = first["metadata"]["uid"]

    other = version("other", {"task": [claim("data")]}, operator="another")
    for living in (True, False):
        if not living:
            await uninstall(world)
        name = f"j-{living}".lower()
        done = await world.apply(other, build.instance(name, "other"))
        assert done.code == 0, done.output
        failed = await world.until_failed(name)
        text = instances.messages(failed, "deploy")
        assert f"retained for Instance {world.namespace}/i" in text
        assert await annotation(admin, world) == f"{world.namespace}/i/op/{uid}"

    [event] = await world.events("ObjectRetained") and (await world.events("ObjectRetained"))[-1:]
    assert event["type"] == "Warning"
    command = re.search(r"kubectl (annotate \S+ \S+ -n \S+ \S+)", text)
    assert command is not None, text
    _, kind, name, _, namespace, mark = command[1].split()
    assert (kind, namespace) == ("persistentvolumeclaims", world.namespace), command[1]
    unmarked = {"metadata": {"annotations": {mark.removesuffix("-"): None}}}
    await admin.merge_patch(CLAIMS, name, unmarked, namespace=namespace)
    await change(world, "j-false", planExecution={"planName": "deploy", "uid": ""})
    assert "PersistentVolumeClaim data" in await record(world, "j-false")
    assert await annotation(admin, world) == ""


async def test_one_of_the_name_and_another_operator_is_refused(world: World, admin: Client) -> None:
    await install(world, keeping())
    await uninstall(world)
    before = await annotation(admin, world)

    other = version(
        "other", {"task": [build.template(annotated(claim("data"), RETAIN))]}, operator="another"
    )
    done = await world.apply(other, build.instance("i", "other"))
    assert done.code == 0, done.output

    failed = await world.until_failed("i")
    text = f"is retained for Instance {world.namespace}/i of operator op"
    assert text in instances.messages(failed, "deploy")
    assert await annotation(admin, world) == before


async def test_an_object_loses_its_owner_when_it_is_retained_and_has_it_back_after_that(
    world: World, admin: Client
) -> None:
    named = build.config_map("{{ .Name }}-b", text="b")
    owned = version("v1", {"task": [config("a"), build.template(named)]})
    kept = version("v2", {"task": [config("a"), build.template(annotated(named, RETAIN))]})
    uid = (await install(world, owned))["metadata"]["uid"]
    before = await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace)
    assert await owners(admin, world, "i-b") == [uid]

    await upgrade(world, kept)
    assert await owners(admin, world, "i-b") == []
    assert (await record(world))["ConfigMap i-b"]["retained"] is True

    await change(world, operatorVersion={"name": "v1"})
    assert await owners(admin, world, "i-b") == [uid]
    live = await admin.get(CONFIG_MAPS, "i-b", namespace=world.namespace)
    assert RETAINED_BY not in live["metadata"].get("annotations", {})
    assert "retained" not in (await record(world))["ConfigMap i-b"]
    assert live["metadata"]["uid"] == before
    assert orphaned(await record(world)) == set()

    await change(world, operatorVersion={"name": "v2"})
    await uninstall(world)
    assert await uid_of(admin, CONFIG_MAPS, "i-b", world.namespace) == before


# Adopted


async def test_data_that_existed_stays_after_its_template_retained_it_for_a_while(
    world: World, admin: Client
) -> None:
    await create_theirs(world, SECRETS)
    uid = await uid_of(admin, SECRETS, "theirs", world.namespace)
    named = {kind: secret(kind, a="b") for kind in ("theirs", "own")}
    plain = [config("a"), *map(build.template, named.values())]
    kept = [config("a"), *(build.template(annotated(one, RETAIN)) for one in named.values())]
    await install(world, version("v1", {"task": plain}))
    await upgrade(world, version("v2", {"task": kept}))
    found = await record(world)
    assert found["Secret theirs"]["retained"] is found["Secret theirs"]["adopted"] is True

    await change(world, operatorVersion={"name": "v1"})
    theirs = await admin.get(SECRETS, "theirs", namespace=world.namespace)
    assert RETAINED_BY not in theirs["metadata"].get("annotations", {})
    assert "ownerReferences" not in theirs["metadata"]
    assert (await record(world))["Secret theirs"]["adopted"] is True

    await uninstall(world)

    async def gone() -> bool:
        return not await uid_of(admin, SECRETS, "own", world.namespace)

    await wait_until(gone, lambda: "the Secret that the Instance created to go with it")
    assert await uid_of(admin, SECRETS, "theirs", world.namespace) == uid


async def test_a_secret_that_existed_is_on_record_as_adopted_and_stays(
    world: World, admin: Client
) -> None:
    await create_theirs(world, SECRETS)
    uid = await uid_of(admin, SECRETS, "theirs", world.namespace)
    objects = [config("a"), *(build.template(secret(name, a="b")) for name in ("theirs", "own"))]
    await install(world, version("v1", {"task": objects}))
    assert "theirs" in await event_text(world, "ObjectAdopted")

    found = await record(world)
    assert found["Secret theirs"]["adopted"] is True
    assert "adopted" not in found["Secret own"]
    before = await versions(world)
    await change(world, planExecution={"planName": "deploy", "uid": ""})
    assert await versions(world) == before

    await uninstall(world)
    assert await uid_of(admin, SECRETS, "theirs", world.namespace) == uid

    async def gone() -> bool:
        return not await uid_of(admin, SECRETS, "own", world.namespace)

    await wait_until(gone, lambda: "the other Secret to go with its owner")
