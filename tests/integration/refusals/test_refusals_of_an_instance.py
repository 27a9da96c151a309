"""What becomes of a plan whose objects the API server refuses."""

import json

import pytest

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text, reasons
from tests.support.cluster.quotas import change_quota, create_quota
from tests.support.cluster.resources import JOBS
from tests.support.cluster.world import World

PLANS = {"deploy": build.plan({"step": ["t"]})}


async def install(world: World, text: str, *parameters: Json) -> None:
    version = build.operator_version(
        "op-1", templates={"t.yaml": text}, plans=PLANS, parameters=parameters
    )
    await world.apply(version, build.instance("i", "op-1"))


def with_container(**fields: object) -> Json:
    found = build.deployment("web")
    found["spec"]["template"]["spec"]["containers"][0] |= fields
    return found


async def test_an_unknown_field_is_left_out_with_a_warning(world: World) -> None:
    await install(world, build.template(with_container(imagePulPolicy="Always")))

    await world.until_complete("i")

    assert await event_text(world, "UnknownField") == (
        "Deployment web of template t.yaml: unknown field "
        'spec.template.spec.containers[name="main"].imagePulPolicy is left out'
    )


async def test_of_a_list_with_one_key_twice_the_last_is_used_with_a_warning(world: World) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}]
    await install(world, build.template(with_container(env=env)))

    await world.until_complete("i")

    stored = await world.kubectl("get", "deployment", "web", "-o", "json")
    containers = json.loads(stored.stdout)["spec"]["template"]["spec"]["containers"]
    assert containers[0]["env"] == [{"name": "A", "value": "2"}, {"name": "B"}]
    assert await event_text(world, "DuplicateListKey") == (
        "Deployment web of template t.yaml: "
        'spec.template.spec.containers[name="main"].env has several items with the key name="A": '
        "the last is used"
    )


async def test_many_faults_of_one_object_are_mended_together(world: World) -> None:
    broken = {**with_container(a=1, b=2, c=3, env=[{"name": "A"}] * 3), "status": {}, "x": None}

    await install(world, build.template({**broken, "bogus": {"a": 1}}))

    await world.until_complete("i")
    found = await reasons(world)
    assert found.count("UnknownField") == 5
    assert found.count("DuplicateListKey") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            build.template(build.deployment("web", replicas="many")),
            (
                "failed to apply Deployment web of template t.yaml: ",
                ".spec.replicas: expected numeric (int or float), got string",
                "spec.replicas must be a number",
            ),
        ),
        (
            build.template(build.config_map("large", a="{{ printf `%10000s` `x` }}" * 110)),
            (
                "failed to apply ConfigMap large of template t.yaml: ",
                "Too long: may not be more than 1048576 bytes",
            ),
        ),
        (
            build.template({**build.config_map("empty"), "bogus": 1, "data": ["a"]}),
            ("failed to apply ConfigMap empty of template t.yaml: ", "data must be a mapping"),
        ),
    ],
)
async def test_what_only_the_author_can_mend_ends_the_plan(
    world: World, text: str, told: tuple[str, ...]
) -> None:
    await install(world, text)

    instance = await world.until_failed("i")

    assert all(part in instances.messages(instance, "deploy") for part in told), instances.messages(
        instance, "deploy"
    )


async def test_another_template_of_a_job_ends_the_plan_with_a_way_out(world: World) -> None:
    image = build.parameter("IMAGE", "busybox")
    await install(world, build.template(build.job("once", image="{{ .Params.IMAGE }}")), image)
    await world.until_complete("i")
    before = await world.get(JOBS, "once")

    await world.patch("i", {"parameters": {"IMAGE": "other"}})
    instance = await world.until_failed("i")

    assert "field is immutable" in instances.messages(instance, "deploy")
    assert (
        "spec.template cannot be changed on an existing object: delete the Job in an earlier "
        "step (a Delete task) or give it another name"
    ) in instances.messages(instance, "deploy")
    assert (await world.get(JOBS, "once"))["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_plan_goes_on_when_there_is_room_in_the_quota(world: World, admin: Client) -> None:
    await create_quota(admin, world.namespace, "few", hard={"count/deployments.apps": 0})
    await install(world, build.template(build.deployment("web")))
    refused = await world.until(
        "i",
        lambda i: "exceeded quota: few" in instances.messages(i, "deploy"),
        "a refusal by the quota",
    )
    assert instances.steps(refused, "deploy") == {"phase1.step": "ERROR"}
    assert "raise ResourceQuota few or delete objects that it counts" in instances.messages(
        refused, "deploy"
    )

    await change_quota(admin, world.namespace, "few", hard={"count/deployments.apps": 1})

    await world.until_complete("i")
