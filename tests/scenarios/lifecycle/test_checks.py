"""Check tasks: over objects of the run itself, and over objects of somebody else."""

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS

READY = 'self.data.?ready.orValue("") == string(params.NODES)'


def checking(**check: object) -> Json:
    """Return a version that applies a ConfigMap, waits for a Check, and applies another one."""
    fields = {"apiVersion": "v1", "kind": "ConfigMap", **check}
    return build.operator_version(
        "checking-1",
        templates={
            "ring.yaml": build.template(build.config_map("{{ .Name }}-ring", ready="1")),
            "after.yaml": build.template(build.config_map("{{ .Name }}-after")),
        },
        tasks=[
            build.task("ring", "Apply", "ring.yaml"),
            build.task("check", "Check", check=fields),
            build.task("after", "Apply", "after.yaml"),
        ],
        plans={"deploy": build.plan({"ring": ["ring"], "check": ["check"], "after": ["after"]})},
        parameters=[build.parameter("NODES", "2", **{"value-type": "integer"})],
    )


async def install(world: World, version: Json) -> None:
    done = await world.apply(version, build.instance("i", "checking-1"))
    assert done.code == 0, done.output


async def until_told(world: World, text: str) -> None:
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), f"{text!r} to be told"
    )


async def change(admin: Client, world: World, **data: str) -> None:
    patch = {"data": data}
    await admin.merge_patch(CONFIG_MAPS, "i-ring", patch, namespace=world.namespace)


async def test_the_next_step_waits_until_an_expression_over_an_object_is_true(
    world: World, admin: Client
) -> None:
    said = '"%s of %d".format([self.data.ready, params.NODES])'
    await install(world, checking(name="{{ .Name }}-ring", until=READY, message=said))
    await until_told(world, "1 of 2")
    assert await world.find(CONFIG_MAPS, "i-after") is None
    await change(admin, world, ready="2")
    await world.until_complete("i")
    assert await world.find(CONFIG_MAPS, "i-after") is not None


async def test_a_failure_ends_the_run(world: World, admin: Client) -> None:
    broken = {"failure": "has(self.data.broken)", "message": "self.data.?broken.orValue('')"}
    await install(world, checking(name="{{ .Name }}-ring", until=READY, **broken))
    await until_told(world, "until is not true yet")
    await change(admin, world, broken="no quorum")
    await world.until("i", lambda i: instances.status_of(i, "deploy") == "FATAL_ERROR", "the end")
    assert (await event_text(world, "CheckFailed")).endswith(": no quorum")


async def test_a_selector_selects_objects_of_anybody_in_pages(world: World, admin: Client) -> None:
    until = "objects.size() == 70 && objects.all(o, o.data.?ready.orValue('') == 'yes')"
    message = '"%d of 70".format([objects.size()])'
    selector = {"ring": "{{ .Name }}"}
    await install(world, checking(selector=selector, until=until, message=message))
    await until_told(world, "no ConfigMap with ring=i yet")
    for number in range(70):
        made = build.config_map(f"r{number}", ready="yes")
        made["metadata"] |= {"labels": {"ring": "i"}, "namespace": world.namespace}
        await admin.create(CONFIG_MAPS, made)
    await world.until_complete("i")
