"""Orphans are read and deleted as the account of their Instance, and by its rights alone."""

from tests.integration.tenancy.test_who_acts import OWNER, grant
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import edit
from tests.support.cluster.events import until_event
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World

REQUEST = "kudo.dev/prune-requested-at"


def version() -> Json:
    first, second = (build.template(build.config_map(name, x="1")) for name in "ab")
    return build.operator_version(
        "v",
        templates={
            "a.yaml": first,
            "b.yaml": f'{{{{ if eq .Params.BOTH "yes" }}}}\n{second}\n{{{{ end }}}}',
        },
        tasks=[build.task("apply", "Apply", "a.yaml", "b.yaml")],
        plans={"deploy": build.plan({"apply": ["apply"]})},
        parameters=[build.parameter("BOTH", "yes")],
    )


async def request(world: World, value: str) -> None:
    await edit(world, "i", {"metadata": {"annotations": {REQUEST: value}}})
    await world.until(
        "i", lambda i: REQUEST not in (i["metadata"].get("annotations") or {}), "the prune"
    )


async def test_an_account_without_the_right_deletes_nothing(
    world: World, admin_kubectl: Kubectl
) -> None:
    grant(admin_kubectl, "get,create,patch", "configmaps")
    grant(admin_kubectl, "update", OWNER)
    assert (await world.apply(version(), build.instance("i", "v"))).code == 0
    await world.until_complete("i")
    await world.patch("i", {"parameters": {"BOTH": "no"}})
    await world.until("i", lambda i: bool(i["status"].get("orphans")), "an orphan")

    await request(world, "first")
    told = await until_event(world, "ObjectsNotPruned")
    assert 'cannot delete resource "configmaps"' in told["message"]
    assert await world.find(CONFIG_MAPS, "b") is not None

    grant(admin_kubectl, "delete", "configmaps")
    await request(world, "second")
    await world.until_gone(CONFIG_MAPS, "b")
    assert await world.find(CONFIG_MAPS, "a") is not None
