"""A child as its parent's plan makes it, waits for it, and changes it."""

from tests.support import build, instances
from tests.support.cluster import children
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, VERSIONS


async def test_a_child_is_made_as_the_original_makes_it(world: World) -> None:
    await children.install(world, children.parent(), children.child(), SIZE="3")

    owner = await world.until_complete("i")

    found = await world.instance(children.CHILD)
    metadata = found["metadata"]
    assert metadata["labels"] == {"kudo.dev/operator": "child"}
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "name": "i",
            "uid": owner["metadata"]["uid"],
        }
    ]
    assert found["spec"] == {
        "operatorVersion": {"name": "child-0.1.0"},
        "parameters": {"SIZE": "3"},
        "planExecution": {},
    }
    assert instances.status_of(found, "deploy") == "COMPLETE"
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "3"}


async def test_the_next_step_waits_for_the_plan_of_the_child(world: World) -> None:
    slow = build.template(build.deployment("slow", ready_delay="2s"))
    after = build.task("after", "Apply", "after.yaml")
    version = children.parent(
        children.have(), after, after=build.template(build.config_map("after", a="b"))
    )
    await children.install(world, version, children.child(settings=slow))

    child = f"{world.namespace}/{children.CHILD}"
    text = f"instance {child} active plan is in state IN_PROGRESS (plan deploy)"
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the child to be waited for"
    )
    assert await world.find(CONFIG_MAPS, "after") is None

    await world.until_complete("i")
    assert await world.find(CONFIG_MAPS, "after") is not None


async def test_a_parent_goes_on_when_its_child_has_ended(world: World) -> None:
    """A parent that only looked now and then would be too late for the third step."""
    names = ("first", "second", "third")
    needs = {"package": "child", "operatorVersion": "0.1.0"}
    tasks = [build.task(name, "KudoOperator", instanceName=name, **needs) for name in names]
    await children.install(world, children.parent(*tasks), children.child())

    await world.until_complete("i")

    assert [await children.runs_of(world, name) for name in names] == [["deploy"]] * 3


async def test_a_child_gets_what_its_parent_changes(world: World) -> None:
    await children.install(world, children.parent(), children.child())
    await world.until_complete("i")

    await world.patch("i", {"parameters": {"SIZE": "7"}})
    await world.until_complete("i")

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"SIZE": "7"}
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "7"}


async def test_a_parameter_that_the_parent_drops_goes_from_the_child(world: World) -> None:
    file = "{{ if eq .Params.SIZE `1` }}SIZE: 5\n{{ end }}COLOUR: red"
    declared = [build.parameter("COLOUR", "blue")]
    await children.install(world, children.parent(file=file), children.child(parameters=declared))
    await world.until_complete("i")
    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {
        "SIZE": "5",
        "COLOUR": "red",
    }

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"COLOUR": "red"}
    assert (await world.get(CONFIG_MAPS, children.CHILD))["data"] == {"size": "0"}


async def test_what_the_webhook_and_people_have_set_stays(world: World) -> None:
    declared = [
        build.parameter("FIXED", "as it was", immutable=True),
        build.parameter("COLOUR", "blue"),
    ]
    await children.install(world, children.parent(), children.child(parameters=declared))
    await world.until_complete("i")
    await world.patch(children.CHILD, {"parameters": {"COLOUR": "red"}})
    await world.until_complete(children.CHILD)

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {
        "SIZE": "2",
        "COLOUR": "red",
        "FIXED": "as it was",
    }


async def test_the_parameter_file_sees_every_variable(world: World) -> None:
    shown = "/".join(
        f"{{{{ .{name} }}}}"
        for name in ("OperatorName", "Name", "Namespace", "AppVersion", "OperatorVersion")
    )
    where = "{{ .PlanName }}/{{ .PhaseName }}/{{ .StepName }}/{{ len .Pipes }}"
    await children.install(
        world, children.parent(file=f"SIZE: '{shown}/{where}'"), children.child()
    )

    await world.until_complete("i")

    size = (await world.instance(children.CHILD))["spec"]["parameters"]["SIZE"]
    assert size == f"parent/i/{world.namespace}//0.1.0/deploy/phase1/have/0"


async def test_an_unchanged_child_runs_nothing_again(world: World) -> None:
    await children.install(world, children.parent(), children.child())
    await world.until_complete("i")
    before = await world.instance(children.CHILD)

    first = instances.entry(await world.instance("i"), "deploy")["uid"]
    await world.patch("i", {"planExecution": {"planName": "deploy"}})
    await world.until("i", lambda i: instances.entry(i, "deploy")["uid"] != first, "another run")
    await world.until_complete("i")

    after = await world.instance(children.CHILD)
    assert after["status"]["lastRun"] == before["status"]["lastRun"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


async def test_a_version_in_another_namespace_brings_its_dependencies_from_there(
    world: World,
) -> None:
    library = await new_namespace(world.client)
    for version in (children.parent(), children.child()):
        await world.client.create(VERSIONS, version, namespace=library)
    instance = build.instance("i", "parent-0.1.0")
    instance["spec"]["operatorVersion"]["namespace"] = library
    await children.bring(world, instance)

    await world.until_complete("i")

    reference = (await world.instance(children.CHILD))["spec"]["operatorVersion"]
    assert reference == {"name": "child-0.1.0", "namespace": library}


async def test_the_names_of_a_child_can_be_chosen(world: World) -> None:
    version = children.child()
    version["metadata"]["name"] = "child-14-0.1.0"
    await children.install(
        world, children.parent(children.have(instanceName="database", appVersion="14")), version
    )

    await world.until_complete("i")

    found = await world.instance("database")
    assert found["spec"]["operatorVersion"] == {"name": "child-14-0.1.0"}
    assert "parameters" not in found["spec"]
