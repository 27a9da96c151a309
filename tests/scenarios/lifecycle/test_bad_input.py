"""One clear error for everything that cannot work, naming what is wrong and where."""

import pytest

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import edit, label
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, VERSIONS


def broken(text: str, **task: object) -> Json:
    version = build.operator_version(
        "broken-1",
        templates={"t.yaml": text},
        plans={"deploy": build.plan({"step": ["task"]})},
        tasks=[{"name": "task", "kind": "Apply", "spec": {"resources": ["t.yaml"]}, **task}],
    )
    version["spec"]["parameters"] = [{"name": "LIST", "value-type": "array", "default": "[]"}]
    return version


CASES = {
    "a template that does not parse": (
        broken("a: {{ .Params.LIST "),
        "error expanding template t.yaml: error parsing template: template: t.yaml:1: ",
    ),
    "a template that uses an unknown parameter": (
        broken("a: {{ .Params.NOPE }}"),
        'at <.Params.NOPE>: map has no entry for key "NOPE"',
    ),
    "a template that gives no YAML": (
        broken("a: [1, 2"),
        "parsing YAML from t.yaml: ",
    ),
    "an object without a kind": (
        broken("apiVersion: v1\nmetadata: {name: x}"),
        "Object 'kind' is missing",
    ),
    "a kind that the cluster does not know": (
        broken("apiVersion: nope.example.org/v1\nkind: Nope\nmetadata: {name: x}"),
        "Nope x of template t.yaml is namespaced: a resource with GVK nope.example.org/v1",
    ),
    "an object that the server finds invalid": (
        broken(build.template(build.config_map("Not A Name"))),
        "failed to apply ConfigMap Not A Name of template t.yaml: ",
    ),
    "a template that is missing": (
        broken("", spec={"resources": ["other.yaml"]}),
        "error finding resource named other.yaml",
    ),
    "a task of an unknown kind": (
        broken("", kind="Nope"),
        "task kind Nope",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_plan_ends_in_fatal_error_and_says_why(world: World, case: str) -> None:
    version, text = CASES[case]
    await world.apply(version, build.instance("i", "broken-1"))

    instance = await world.until_failed("i")

    assert text in instances.messages(instance, "deploy"), instances.messages(instance, "deploy")
    assert instances.ready(instance)["reason"] == "PlanInFatalError"
    assert text in instances.ready(instance)["message"]
    reasons = [event["reason"] for event in await world.events()]
    assert len(reasons) == 3
    assert (reasons[0], reasons[2]) == ("PlanStarted", "PlanFinished")


async def test_a_task_that_is_not_defined_is_named(world: World) -> None:
    version = build.operator_version(
        "broken-1", templates={}, plans={"deploy": build.plan({"step": ["nowhere"]})}
    )
    await world.apply(version, build.instance("i", "broken-1"))

    instance = await world.until_failed("i")

    assert "missing task deploy.phase1.step.nowhere" in instances.messages(instance, "deploy")


async def test_an_unknown_strategy_is_named(world: World) -> None:
    version = build.operator_version(
        "broken-1",
        templates={"t.yaml": build.template(build.config_map("x"))},
        plans={"deploy": build.plan({"step": ["t"]}, strategy="paralel")},
    )
    await world.apply(version, build.instance("i", "broken-1"))

    instance = await world.until_failed("i")

    assert "strategy 'paralel' of plan 'deploy' is unknown" in instances.messages(
        instance, "deploy"
    )


async def test_a_fatal_error_leaves_later_steps_alone_and_a_new_run_mends_it(world: World) -> None:
    version = build.operator_version(
        "broken-1",
        templates={"bad.yaml": "{{ fail }}", "good.yaml": build.template(build.config_map("good"))},
        plans={"deploy": build.plan({"bad": ["bad"]}, {"good": ["good"]})},
    )
    await world.apply(version, build.instance("i", "broken-1"))
    await world.until_failed("i")
    assert await world.find(CONFIG_MAPS, "good") is None

    version["spec"]["templates"]["bad.yaml"] = build.template(build.config_map("bad"))
    await world.apply(version)
    await world.patch("i", {"planExecution": {"planName": "deploy"}})

    instance = await world.until_complete("i")
    assert instances.ready(instance)["reason"] == "ResourcesReady"


async def test_an_operator_version_that_vanished_is_named_and_found_again(world: World) -> None:
    version = build.operator_version(
        "broken-1",
        templates={"t.yaml": build.template(build.config_map("x"))},
        plans={"deploy": build.plan({"step": ["t"]})},
    )
    await world.apply(version, build.instance("i", "broken-1"))
    await world.until_complete("i")

    await world.client.delete(VERSIONS, "broken-1", namespace=world.namespace)
    await label(world, look="again")
    missing = await world.until(
        "i",
        lambda i: instances.ready(i)["reason"] == "InvalidOperatorVersion",
        "the missing version",
    )
    await world.apply(version)

    assert (
        f"OperatorVersion {world.namespace}/broken-1 does not exist"
        in instances.ready(missing)["message"]
    )
    await world.until(
        "i", lambda i: instances.ready(i)["reason"] == "ResourcesReady", "Ready again"
    )


async def test_an_operator_version_with_too_many_steps_is_not_read_and_the_instance_can_go(
    world: World,
) -> None:
    version = build.operator_version(
        "broken-1",
        templates={"t.yaml": build.template(build.config_map("x"))},
        plans={"deploy": build.plan({"step": ["t"]})},
    )
    await world.apply(version, build.instance("i", "broken-1"))
    await world.until_complete("i")

    # Within the bounds of each list, and 5,500 steps in one plan.
    steps = [{"name": f"s{n}", "tasks": ["t"]} for n in range(500)]
    phases = [{"name": f"p{n}", "steps": steps} for n in range(11)]
    version["spec"]["plans"]["backup"] = {"phases": phases}
    await world.apply(version)
    await edit(world, "i", {"metadata": {"labels": {"look": "again"}}})
    told = await world.until(
        "i", lambda i: instances.ready(i)["reason"] == "InvalidOperatorVersion", "what is too large"
    )
    text = "spec.plans[backup].phases.steps has 5500 entries, more than 500"

    assert text in instances.ready(told)["message"]
    await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")
