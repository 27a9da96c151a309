"""Every error that a task or a plan can end in: the event, the words, and the state that stays."""

import pytest

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import delete
from tests.support.cluster.events import event_text, reasons
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS

CONFIG = build.template(build.config_map("{{ .Name }}-config", a="b"))


SHARED = build.template(build.config_map("shared", by="{{ .Name }}"))


USE_DUMMY = "if that's what you need, use a Dummy task instead"


def faulty(one: Json, text: str = CONFIG, **templates: str) -> Json:
    """Return a version whose plan is the one task."""
    return build.operator_version(
        "faulty-1",
        templates={"t.yaml": text, **templates},
        tasks=[{**one, "name": "task"}],
        plans={"deploy": build.plan({"step": ["task"]})},
    )


def piped(**file: str) -> Json:
    spec = {"kind": "Secret", "key": "k", **file}
    return build.task("task", "Pipe", pod="t.yaml", pipe=[spec])


BUILD_ERRORS: dict[str, tuple[Json, str]] = {
    "Apply without resources": (
        build.task("task", "Apply"),
        f"task validation error: apply task 'task' has an empty resource list. {USE_DUMMY}",
    ),
    "Delete without resources": (
        build.task("task", "Delete"),
        f"task validation error: delete task 'task' has an empty resource list. {USE_DUMMY}",
    ),
    "Toggle without resources": (
        build.task("task", "Toggle", parameter="ON"),
        f"task validation error: toggle task has an empty resource list. {USE_DUMMY}",
    ),
    "Toggle without a parameter": (
        build.task("task", "Toggle", "t.yaml"),
        "task validation error: Missing parameter to evaluate the Toggle Task",
    ),
    "Pipe without files": (
        build.task("task", "Pipe", pod="t.yaml", pipe=[]),
        "task validation error: pipe task has an empty pipe files list",
    ),
    "Pipe of both a file and an envFile": (
        piped(file="/a", envFile="/b"),
        "must have either 'file' or 'envFile' field set but not both",
    ),
    "Pipe into another kind": (
        piped(file="/a", kind="Pod"),
        "task validation error: invalid pipe kind (must be Secret or ConfigMap): {",
    ),
    "Pipe with a key of other letters": (
        piped(file="/a", key="a b"),
        "invalid pipe key (only letters, numbers and _ and - are allowed): {",
    ),
    "KudoOperator without a package": (
        build.task("task", "KudoOperator", operatorVersion="0.1.0"),
        "task validation error: kudo operator task 'task' has an empty package name",
    ),
    "KudoOperator without a version": (
        build.task("task", "KudoOperator", package="child"),
        "task validation error: kudo operator task 'task' has an empty operatorVersion",
    ),
    "an unknown kind": (build.task("task", "apply", "t.yaml"), "unknown task kind apply"),
}


@pytest.mark.parametrize("case", BUILD_ERRORS)
async def test_a_task_that_cannot_be_built_ends_the_plan(world: World, case: str) -> None:
    one, text = BUILD_ERRORS[case]
    done = await world.apply(faulty(one), build.instance("i", "faulty-1"))
    assert done.code == 0, done.output

    failed = await world.until_failed("i")

    message = instances.messages(failed, "deploy")
    start = f"{world.namespace}/i fatal error:  failed to build task deploy.phase1.step.task: "
    assert message.startswith(start), message
    assert text in message
    assert instances.steps(failed, "deploy") == {"phase1.step": "FATAL_ERROR"}
    assert await event_text(world, "TaskBuildError") == message
    assert await reasons(world) == ["PlanStarted", "TaskBuildError", "PlanFinished"]


APPLY = build.task("task", "Apply", "t.yaml")


OWN_INSTANCE = {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance"}


INVENTORY = {**OWN_INSTANCE, "kind": "Inventory", "metadata": {"name": "own"}}


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


TASK_ERRORS: dict[str, tuple[Json, str, str]] = {
    "a template that cannot be rendered": (
        faulty(APPLY, "{{ .Nope.nope }}"),
        "TaskRenderingError",
        "error expanding template t.yaml: ",
    ),
    "a template that is missing": (
        faulty(build.task("task", "Delete", "nowhere.yaml")),
        "TaskRenderingError",
        "error finding resource named nowhere.yaml",
    ),
    "a template that gives no object": (
        faulty(APPLY, "- a\n- b"),
        "TaskRenderingError",
        "parsing YAML from t.yaml: decoding chunk 1 failed: ",
    ),
    "a kind that is not served": (
        faulty(APPLY, "apiVersion: x.example.org/v1\nkind: X\nmetadata: {name: x}"),
        "TaskEnhancementError",
        "seems to be missing in API resource list",
    ),
    "a Secret whose stringData is no text": (
        faulty(APPLY, build.template({**SECRET, "stringData": {"port": 8080}})),
        "TaskEnhancementError",
        "Secret s: values of stringData must be strings; put quotes around port",
    ),
    "a Secret whose stringData is a list": (
        faulty(APPLY, build.template({**SECRET, "stringData": ["a"]})),
        "TaskEnhancementError",
        "Secret s: data and stringData must be mappings",
    ),
    "a template that applies its own Instance": (
        faulty(
            APPLY, build.template({**OWN_INSTANCE, "metadata": {"name": "{{ .Name }}"}, "spec": {}})
        ),
        "TaskEnhancementError",
        "a template may neither apply the Instance that it belongs to nor set planExecution",
    ),
    "a template that runs a plan of another Instance": (
        faulty(
            APPLY,
            build.template(
                {
                    **OWN_INSTANCE,
                    "metadata": {"name": "other"},
                    "spec": {"planExecution": {"planName": "deploy"}},
                }
            ),
        ),
        "TaskEnhancementError",
        "a template may neither apply the Instance that it belongs to nor set planExecution",
    ),
    "a template of an Inventory": (
        faulty(APPLY, build.template({**INVENTORY, "objects": []})),
        "TaskEnhancementError",
        "Inventory own: only KUDO writes Inventories; remove the template",
    ),
    "a Delete task of an Inventory": (
        faulty(build.task("task", "Delete", "t.yaml"), build.template(INVENTORY)),
        "TaskEnhancementError",
        "Inventory own: only KUDO writes Inventories; remove the template",
    ),
    "a template that names another controller": (
        faulty(
            APPLY,
            build.template(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": "x",
                        "ownerReferences": [
                            {
                                "apiVersion": "apps/v1",
                                "kind": "Deployment",
                                "name": "theirs",
                                "uid": "theirs",
                                "controller": True,
                            }
                        ],
                    },
                }
            ),
        ),
        "TaskEnhancementError",
        "is already owned by another Deployment controller theirs",
    ),
    "an object that the API server refuses": (
        faulty(APPLY, build.template(build.config_map("Not A Name"))),
        "TaskApplyError",
        "failed to apply ConfigMap Not A Name of template t.yaml: ",
    ),
    "a Job that fails": (
        faulty(APPLY, build.template(build.job("failing", exit_code=1))),
        "FailedTerminalStateError",
        'is NOT healthy: fatal error: HealthUtil: job "failing" has failed terminally: ',
    ),
    "a Toggle of a parameter without a value": (
        faulty(build.task("task", "Toggle", "t.yaml", parameter="NOPE")),
        "ToggleTaskError",
        "no value for parameter NOPE found",
    ),
    "a fatal Dummy": (
        faulty(build.dummy("task", wantErr=True, fatal=True)),
        "DummyTaskError",
        "dummy error",
    ),
}


@pytest.mark.parametrize("case", TASK_ERRORS)
async def test_a_task_that_fails_for_good_ends_the_plan(world: World, case: str) -> None:
    version, reason, text = TASK_ERRORS[case]
    done = await world.apply(version, build.instance("i", "faulty-1"))
    assert done.code == 0, done.output

    failed = await world.until_failed("i")

    message = instances.messages(failed, "deploy")
    where = f"{world.namespace}/i failed in deploy.phase1.step.task: "
    assert message.startswith(f"Error during execution: fatal error: {where}"), message
    assert text in message
    assert await event_text(world, reason) == message
    assert await reasons(world) == ["PlanStarted", reason, "PlanFinished"]
    assert instances.reason_of(failed) == ("Unknown", "PlanInFatalError")
    assert instances.reason_of(failed, "Stalled") == ("True", "PlanInFatalError")
    assert instances.conditions(failed) == ["Ready", "Stalled"]


async def test_a_task_that_no_one_defined_ends_the_plan(world: World) -> None:
    version = faulty(APPLY)
    version["spec"]["tasks"] = []
    await world.apply(version, build.instance("i", "faulty-1"))

    failed = await world.until_failed("i")

    text = f"{world.namespace}/i fatal error:  missing task deploy.phase1.step.task"
    assert instances.messages(failed, "deploy") == text
    assert await event_text(world, "UnknownTaskName") == text


# Before the first task


async def deployed_and_stopped(world: World, version: Json, **parameters: str) -> None:
    """Deploy an Instance, then stop the reconciler so that things can change behind its back."""
    await world.apply(version, build.instance("i", "faulty-1", **parameters))
    await world.until_complete("i")
    await world.reconciler.stop()


async def test_a_plan_that_an_edited_version_lost_ends_fatally_and_others_still_run(
    world: World,
) -> None:
    version = faulty(APPLY)
    version["spec"]["plans"]["lost"] = build.plan({"step": ["task"]})
    await deployed_and_stopped(world, version)
    uid = instances.scheduled(await world.patch("i", {"planExecution": {"planName": "lost"}}))[
        "uid"
    ]
    del version["spec"]["plans"]["lost"]
    await world.apply(version)

    await world.reconciler.start()
    failed = await world.until_failed("i", "lost")

    assert instances.entry(failed, "lost")["uid"] == uid
    assert instances.entry(failed, "lost")["message"] == "could not find required plan: 'lost'"
    assert await event_text(world, "InvalidPlan") == "could not find required plan: 'lost'"
    assert instances.reason_of(failed, "Stalled") == ("True", "PlanInFatalError")
    await world.patch("i", {"planExecution": {"planName": "deploy"}})
    healed = await world.until_complete("i")
    assert instances.reason_of(healed) == ("True", "ResourcesReady")


async def test_an_unknown_strategy_ends_the_plan_with_an_event(world: World) -> None:
    version = faulty(APPLY)
    version["spec"]["plans"]["deploy"]["strategy"] = "Serial"
    await world.apply(version, build.instance("i", "faulty-1"))

    failed = await world.until_failed("i")

    assert instances.entry(failed, "deploy")["message"] == await event_text(world, "InvalidPlan")
    assert await world.find(CONFIG_MAPS, "i-config") is None


@pytest.mark.parametrize("kind", ["map", "array"])
async def test_a_default_that_cannot_be_read_ends_the_plan(world: World, kind: str) -> None:
    version = faulty(APPLY)
    broken = build.parameter("BROKEN", "[1, {2", **{"value-type": kind})
    version["spec"]["parameters"] = [broken]
    await world.apply(version, build.instance("i", "faulty-1"))

    failed = await world.until_failed("i")

    text = f'parameter "BROKEN" of type {kind} cannot be read: '
    assert "could not parse parameters: " in instances.messages(failed, "deploy")
    assert text in instances.messages(failed, "deploy")
    assert await event_text(world, "InvalidParams") == instances.messages(failed, "deploy")
    assert await world.find(CONFIG_MAPS, "i-config") is None


@pytest.mark.parametrize("kind", ["map", "array"])
async def test_a_value_that_an_edited_version_reads_otherwise_ends_the_plan_until_it_is_mended(
    world: World, kind: str
) -> None:
    version = faulty(APPLY)
    version["spec"]["parameters"] = [build.parameter("P", "[]")]
    await deployed_and_stopped(world, version, P="[not closed")
    version["spec"]["parameters"][0]["value-type"] = kind
    await world.apply(version)
    await world.patch("i", {"planExecution": {"planName": "deploy"}})

    await world.reconciler.start()
    failed = await world.until_failed("i")

    text = f'parameter "P" of type {kind} cannot be read: '
    assert "could not parse parameters: " in instances.messages(failed, "deploy")
    assert text in instances.messages(failed, "deploy")
    assert await event_text(world, "InvalidParams") == instances.messages(failed, "deploy")
    await world.patch("i", {"parameters": {"P": "[]" if kind == "array" else "{}"}})
    await world.until_complete("i")


# Whose an object is


def sharing(name: str = "faulty-1", text: str = SHARED) -> Json:
    version = faulty(APPLY, text)
    version["metadata"]["name"] = name
    return version


async def test_of_two_instances_that_name_one_object_the_first_keeps_it(world: World) -> None:
    await world.apply(sharing(), build.instance("first", "faulty-1"))
    first = await world.until_complete("first")
    before = await world.get(CONFIG_MAPS, "shared")
    await world.apply(build.instance("second", "faulty-1"))

    failed = await world.until_failed("second")

    text = "the object is already owned by another Instance controller first"
    assert text in instances.messages(failed, "deploy")
    assert text in await event_text(world, "TaskEnhancementError")
    after = await world.get(CONFIG_MAPS, "shared")
    assert after["metadata"] == before["metadata"]
    assert after["metadata"]["ownerReferences"][0]["uid"] == first["metadata"]["uid"]
    assert after["data"] == {"by": "first"}


async def test_an_instance_made_anew_waits_for_what_its_predecessor_leaves(world: World) -> None:
    await world.apply(sharing(), build.instance("first", "faulty-1"))
    await world.until_complete("first")
    before = await world.get(CONFIG_MAPS, "shared")
    await held(world, "shared", ["test.kudo.dev/hold"])
    await delete(world, "first")
    await world.apply(build.instance("first", "faulty-1"))

    waiting = "another Instance first, which was deleted"
    await world.until("first", lambda i: waiting in instances.messages(i, "deploy"), waiting)
    await held(world, "shared", [])
    await world.until_complete("first")

    after = await world.get(CONFIG_MAPS, "shared")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def held(world: World, name: str, finalizers: list[str]) -> None:
    """Keep a ConfigMap from going, or let it go."""
    patch = {"metadata": {"finalizers": finalizers}}
    async with world.client_as("admin") as admin:
        await admin.merge_patch(CONFIG_MAPS, name, patch, namespace=world.namespace)


async def test_an_instance_does_not_delete_what_another_one_owns(world: World) -> None:
    deleting = faulty(build.task("task", "Delete", "t.yaml"), SHARED)
    deleting["metadata"]["name"] = "deleting-1"
    await world.apply(sharing(), deleting, build.instance("first", "faulty-1"))
    await world.until_complete("first")
    before = await world.get(CONFIG_MAPS, "shared")
    await world.apply(build.instance("second", "deleting-1"))

    failed = await world.until_failed("second")

    text = "failed to delete ConfigMap shared of template t.yaml: the object is owned by another"
    assert text in instances.messages(failed, "deploy")
    assert text in await event_text(world, "TaskDeleteError")
    assert (await world.get(CONFIG_MAPS, "shared"))["metadata"] == before["metadata"]


async def test_of_instances_that_start_together_one_gets_the_object(world: World) -> None:
    names = [f"sharing-{number}" for number in range(6)]
    await world.apply(sharing(), *(build.instance(name, "faulty-1") for name in names))

    ended = [await world.until_ended(name) for name in names]

    [winner] = [
        i["metadata"]["name"] for i in ended if instances.status_of(i, "deploy") == "COMPLETE"
    ]
    shared = await world.get(CONFIG_MAPS, "shared")
    assert shared["data"] == {"by": winner}
    assert [owner["name"] for owner in shared["metadata"]["ownerReferences"]] == [winner]


async def test_the_fields_of_somebody_elses_object_are_not_taken(
    world: World, admin: Client
) -> None:
    theirs = build.config_map("shared", by="somebody")
    await admin.create(CONFIG_MAPS, theirs, namespace=world.namespace, field_manager="somebody")
    await world.apply(sharing(), build.instance("i", "faulty-1"))

    failed = await world.until_failed("i")

    text = "these fields belong to other managers: somebody: .data.by"
    assert text in instances.messages(failed, "deploy")
    assert text in await event_text(world, "TaskApplyError")
    assert (await world.get(CONFIG_MAPS, "shared"))["data"] == {"by": "somebody"}
