"""Objects whose template says `kudo.dev/apply-policy: create`, on a real API server."""

import json

from kubeio.client import Client
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import delete
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import DEPLOYMENTS, INSTANCES
from tests.support.world.records import (
    CLAIMS,
    INVENTORIES,
    RETAIN,
    SECRETS,
    annotated,
    change,
    install,
    record,
    run,
    secret,
    upgrade,
    version,
)

ONCE = {"kudo.dev/apply-policy": "create"}
RETAINED_BY = "kudo.dev/retained-by"


def credentials(**annotations: str) -> str:
    """Return the template of a Secret with another password each time."""
    made = secret("login", password="{{ randAlphaNum 20 }}")
    return json.dumps(annotated(made, ONCE | annotations))


def app() -> Json:
    made = build.deployment("app")
    used = {"name": "login", "secret": {"secretName": "login"}}
    made["spec"]["template"]["spec"]["volumes"] = [used]
    return made


async def login(admin: Client, world: World) -> Json:
    return await admin.get(SECRETS, "login", namespace=world.namespace)


async def pods_of_app(world: World) -> Json:
    found: Json = (await world.get(DEPLOYMENTS, "app"))["spec"]["template"]
    return found


async def hash_of_app(world: World) -> str:
    found = (await pods_of_app(world))["metadata"]["annotations"]
    return str(found["kudo.dev/dependencies-hash"])


async def uninstall(world: World) -> None:
    await delete(world, "i")
    await world.until_gone(INSTANCES, "i")


async def test_a_random_password_is_made_once_and_pods_restart_when_it_is_edited(
    world: World, admin: Client
) -> None:
    together = version("v1", {"task": [credentials(), build.template(app())]})
    instance = await install(world, together)
    first, pods = await login(admin, world), await pods_of_app(world)
    before = await hash_of_app(world)
    assert first["metadata"]["ownerReferences"][0]["uid"] == instance["metadata"]["uid"]

    for _ in range(2):
        await run(world, "deploy")
        assert await login(admin, world) == first
        assert await pods_of_app(world) == pods

    # The hash is the same if the Secret is of another task.
    apart = version("v2", {"secret": [credentials()], "app": [build.template(app())]})
    await upgrade(world, apart)
    await run(world, "deploy")
    assert await login(admin, world) == first
    assert await hash_of_app(world) == before

    edit = {"data": {"password": "bmV3"}}
    await admin.merge_patch(SECRETS, "login", edit, namespace=world.namespace)
    await run(world, "deploy")
    assert (await login(admin, world))["data"] == edit["data"]
    assert await hash_of_app(world) != before


async def test_a_secret_that_existed_is_used_and_not_written(world: World, admin: Client) -> None:
    theirs = {"metadata": {"name": "login"}, "stringData": {"password": "theirs"}}
    await admin.create(SECRETS, theirs, namespace=world.namespace)
    before = await login(admin, world)
    await install(world, version("v", {"task": [credentials(), build.template(app())]}))
    assert await login(admin, world) == before
    assert (await record(world))["Secret login"]["adopted"] is True
    shards = await world.all(INVENTORIES)
    await run(world, "deploy")
    assert await world.all(INVENTORIES) == shards
    await uninstall(world)
    assert await login(admin, world) == before


async def test_a_new_instance_takes_over_the_marks_and_without_the_policy_all_of_it(
    world: World, admin: Client
) -> None:
    await install(world, version("v1", {"task": [credentials(**RETAIN)]}))
    before = await login(admin, world)
    await uninstall(world)
    second = await install(world, version("v1", {"task": [credentials(**RETAIN)]}))
    taken = await login(admin, world)
    assert taken["metadata"]["uid"] == before["metadata"]["uid"]
    assert taken["data"] == before["data"]
    by = taken["metadata"]["annotations"][RETAINED_BY]
    assert by == f"{world.namespace}/i/op/{second['metadata']['uid']}/adopted"
    assert "login" in await event_text(world, "ObjectTakenOver")

    # Applied as usual, so what is no longer in the template goes, marks that were patched as well.
    usual = json.dumps(secret("login", user="one"))
    await upgrade(world, version("v2", {"task": [usual]}))
    found = await login(admin, world)
    assert found["data"] == {"user": "b25l"}
    assert not {RETAINED_BY, *RETAIN, *ONCE} & found["metadata"]["annotations"].keys()
    assert "ownerReferences" not in found["metadata"]


async def test_a_claim_is_only_created_as_its_size_may_have_been_changed(
    world: World, admin: Client
) -> None:
    size = "{{ .Params.SIZE }}"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    metadata = {"name": "data", "annotations": ONCE}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    of = version(
        "v",
        {"task": [json.dumps({**kind, "metadata": metadata, "spec": spec})]},
        parameters=[build.parameter("SIZE", "1Mi")],
    )
    await install(world, of)
    before = await admin.get(CLAIMS, "data", namespace=world.namespace)
    # The API server would refuse it: a claim without a volume cannot be resized.
    await change(world, parameters={"SIZE": "2Mi"})
    after = await admin.get(CLAIMS, "data", namespace=world.namespace)
    assert after["spec"] == before["spec"]
