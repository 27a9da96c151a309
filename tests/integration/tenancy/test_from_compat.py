"""A living installation goes from compat to strict mode and back, and no workload notices."""

from kubeio.resource import PODS
from kudo_cluster import Cluster
from tests.integration.tenancy.admin import as_admin
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.support.cluster.strict import strict
from tests.support.cluster.world import World

VERSION = build.operator_version(
    "web-1",
    templates={
        "config.yaml": build.template(build.config_map("{{ .Name }}-config", a="b")),
        "run.yaml": build.template(build.deployment("{{ .Name }}-run", replicas=2)),
    },
    plans={"deploy": build.plan({"all": ["config", "run"]})},
)


async def state(world: World) -> Json:
    """Return what a restart, a take-over or an adoption would change of the objects."""
    objects = [
        await world.get(CONFIG_MAPS, "i-config"),
        await world.get(DEPLOYMENTS, "i-run"),
        *sorted(await world.all(PODS), key=lambda pod: str(pod["metadata"]["name"])),
    ]
    return {
        obj["metadata"]["name"]: (
            obj["metadata"]["uid"],
            obj["metadata"].get("ownerReferences"),
            obj.get("spec"),
            sorted((one["manager"], one["operation"]) for one in obj["metadata"]["managedFields"]),
        )
        for obj in objects
    }


async def runs_again(world: World) -> Json:
    done = await world.kudo("plan", "trigger", "--instance", "i", "--name", "deploy", "--wait")
    assert done.code == 0, done.output
    await world.until_idle("i")
    return await state(world)


async def test_no_workload_is_restarted_and_the_dry_run_names_what_is_lacking(
    world: World, cluster: Cluster
) -> None:
    admin = Kubectl(cluster, cluster.directory / "kubectl-cache", world.namespace)
    await world.apply(VERSION, build.instance("i", "web-1"))
    await world.until_complete("i")
    await world.until_idle("i")
    before = await state(world)

    asked = ("rbac", "--instance", "i")
    lacking = await as_admin(world, "kudo", *asked, "--check")
    assert lacking.code == 1
    for right in ("configmaps", "deployments.apps"):
        assert right in lacking.output
    printed = await as_admin(world, "kudo", *asked)
    admin("apply", "-f", "-", stdin=printed.stdout)
    world.installation.allow_tenant(world.namespace)
    lacks = await as_admin(world, "kudo", *asked, "--check")
    assert "configmaps" not in lacks.output

    with strict(world.installation):
        assert await runs_again(world) == before
        found = await world.instance("i")
        assert found["status"]["lastRun"]["serviceAccountName"] == "default"
    assert await runs_again(world) == before
    assert "serviceAccountName" not in (await world.instance("i"))["status"]["lastRun"]
