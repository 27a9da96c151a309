"""Delete, Toggle and Dummy tasks beside Apply, and how tasks share a step, a phase and a plan."""

from collections.abc import Mapping, Sequence

import pytest

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import label
from tests.support.cluster.events import event_text, reasons
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS

CONFIG = build.template(build.config_map("{{ .Name }}-config", a="b"))


JOB = build.template(build.job("{{ .Name }}-job"))


SLOW = build.template(build.deployment("{{ .Name }}-slow", ready_delay="3s"))


NEVER = build.template(build.deployment("{{ .Name }}-never", ready_delay="1h"))


ALL_TEMPLATES = {"config.yaml": CONFIG, "job.yaml": JOB, "slow.yaml": SLOW, "never.yaml": NEVER}


def tasked(
    tasks: Sequence[Json],
    deploy: Json,
    parameters: Sequence[Json] = (),
    templates: Mapping[str, str] = ALL_TEMPLATES,
    **plans: Json,
) -> Json:
    return build.operator_version(
        "tasked-1",
        templates=templates,
        tasks=tasks,
        plans={"deploy": deploy, **plans},
        parameters=parameters,
    )


async def install(world: World, version: Json, **parameters: str) -> None:
    done = await world.apply(version, build.instance("i", "tasked-1", **parameters))
    assert done.code == 0, done.output


async def trigger(world: World, name: str) -> str:
    """Run a plan by its name, and return the uid of the run."""
    return str(
        instances.scheduled(await world.patch("i", {"planExecution": {"planName": name}}))["uid"]
    )


async def hold(admin: Client, world: World, name: str, finalizers: list[str]) -> None:
    patch = {"metadata": {"finalizers": finalizers}}
    await admin.merge_patch(CONFIG_MAPS, name, patch, namespace=world.namespace)


# Delete


def deleting(**spec: bool) -> Json:
    return tasked(
        [
            build.task("apply", "Apply", "config.yaml"),
            build.task("delete", "Delete", "config.yaml", **spec),
        ],
        build.plan({"apply": ["apply"]}),
        remove=build.plan({"delete": ["delete"]}),
    )


async def test_a_delete_task_waits_until_the_object_is_gone(world: World, admin: Client) -> None:
    await install(world, deleting())
    await world.until_complete("i")
    await hold(admin, world, "i-config", ["example.org/hold"])
    await trigger(world, "remove")

    text = f"ConfigMap {world.namespace}/i-config is not deleted yet, held by example.org/hold ("
    waiting = await world.until(
        "i", lambda i: text in instances.messages(i, "remove"), "the Delete to wait"
    )
    assert (await world.get(CONFIG_MAPS, "i-config"))["metadata"]["deletionTimestamp"]
    await hold(admin, world, "i-config", [])

    assert instances.steps(waiting, "remove") == {"phase1.delete": "IN_PROGRESS"}
    await world.until_complete("i", "remove")
    assert await world.find(CONFIG_MAPS, "i-config") is None


async def test_a_delete_task_told_not_to_wait_is_done_with_the_request(
    world: World, admin: Client
) -> None:
    await install(world, deleting(wait=False))
    await world.until_complete("i")
    await hold(admin, world, "i-config", ["example.org/hold"])
    await trigger(world, "remove")

    await world.until_complete("i", "remove")

    assert (await world.get(CONFIG_MAPS, "i-config"))["metadata"]["deletionTimestamp"]
    await hold(admin, world, "i-config", [])
    await world.until_gone(CONFIG_MAPS, "i-config")


async def test_deleting_what_is_already_gone_is_a_success(world: World) -> None:
    await install(world, deleting())
    await world.until_complete("i")

    for _ in range(2):
        await trigger(world, "remove")
        await world.until_complete("i", "remove")

    assert await world.find(CONFIG_MAPS, "i-config") is None


async def test_deleting_an_object_of_an_unknown_kind_is_a_success(world: World) -> None:
    unknown = "apiVersion: nope.example.org/v1\nkind: Nope\nmetadata: {name: x}"
    version = tasked(
        [build.task("delete", "Delete", "unknown.yaml", "config.yaml")],
        build.plan({"delete": ["delete"]}),
        templates={**ALL_TEMPLATES, "unknown.yaml": unknown},
    )
    await install(world, version)

    await world.until_complete("i")


# Toggle


def toggling(**fields: str) -> Json:
    return tasked(
        [build.task("toggle", "Toggle", "config.yaml", parameter="ON")],
        build.plan({"toggle": ["toggle"]}),
        [build.parameter("ON", "true", **fields)],
    )


async def test_every_true_text_applies_and_every_false_text_deletes(world: World) -> None:
    await install(world, toggling())
    await world.until_complete("i")
    assert await world.find(CONFIG_MAPS, "i-config") is not None

    for off, on in zip(
        ["0", "f", "F", "FALSE", "false", "False"], ["1", "t", "T", "TRUE", "true", "True"],
        strict=True,
    ):  # fmt: skip
        await world.patch("i", {"parameters": {"ON": off}})
        await world.until_complete("i")
        assert await world.find(CONFIG_MAPS, "i-config") is None, off
        await world.patch("i", {"parameters": {"ON": on}})
        await world.until_complete("i")
        assert await world.find(CONFIG_MAPS, "i-config") is not None, on


TOGGLES: dict[str, tuple[list[Json], str]] = {
    "a text that is no boolean": (
        [build.parameter("ON", "maybe")],
        'could not parse value of parameter ON: strconv.ParseBool: parsing "maybe": invalid syntax',
    ),
    "an empty text": (
        [build.parameter("ON", "")],
        'could not parse value of parameter ON: strconv.ParseBool: parsing "": invalid syntax',
    ),
    "a parameter that is not declared": ([], "no value for parameter ON found"),
    "an array parameter": (
        [build.parameter("ON", "[true]", **{"value-type": "array"})],
        "value of parameter ON isn't a string",
    ),
}


@pytest.mark.parametrize("case", TOGGLES)
async def test_a_toggle_that_cannot_decide_ends_the_plan(world: World, case: str) -> None:
    parameters, text = TOGGLES[case]
    version = toggling()
    version["spec"]["parameters"] = parameters
    await install(world, version)

    failed = await world.until_failed("i")

    expected = f"{world.namespace}/i failed in deploy.phase1.toggle.toggle: {text}"
    assert expected in instances.messages(failed, "deploy")
    assert expected in await event_text(world, "ToggleTaskError")
    assert await world.find(CONFIG_MAPS, "i-config") is None


# Dummy


async def test_a_dummy_that_is_done_is_done(world: World) -> None:
    await install(world, tasked([build.dummy("noop", done=True)], build.plan({"noop": ["noop"]})))

    done = await world.until_complete("i")

    assert not instances.messages(done, "deploy")


async def test_a_fatal_dummy_error_ends_the_plan(world: World) -> None:
    version = tasked([build.dummy("err", wantErr=True, fatal=True)], build.plan({"try": ["err"]}))
    await install(world, version)

    failed = await world.until_failed("i")

    text = (
        f"Error during execution: fatal error: {world.namespace}/i failed in "
        "deploy.phase1.try.err: dummy error"
    )
    assert instances.messages(failed, "deploy") == text
    assert await event_text(world, "DummyTaskError") == text


async def test_a_dummy_error_is_retried_with_its_message_until_somebody_cancels(
    world: World,
) -> None:
    await install(
        world, tasked([build.dummy("err", wantErr=True, done=True)], build.plan({"try": ["err"]}))
    )

    text = "A transient error when executing task deploy.phase1.try.err. Will retry. dummy error"
    seen = await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the transient error"
    )
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i")

    assert instances.status_of(seen, "deploy") == "IN_PROGRESS"
    assert instances.steps(seen, "deploy") == {"phase1.try": "ERROR"}
    assert await reasons(world) == ["PlanStarted", "PlanCancelled", "PlanFinished"]


async def test_a_dummy_that_says_nothing_waits_with_a_message_until_cancelled(
    world: World,
) -> None:
    await install(world, tasked([build.dummy("wait")], build.plan({"wait": ["wait"]})))

    waiting = await world.until("i", lambda i: bool(instances.messages(i, "deploy")), "a message")
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})

    assert "dummy task wait is not done" in instances.messages(waiting, "deploy")
    failed = await world.until_failed("i")
    assert "cancelled by kudo-user" in instances.messages(failed, "deploy")


# Templates


async def test_all_documents_of_a_template_and_all_items_of_a_list_are_applied_in_order(
    world: World,
) -> None:
    items = [build.config_map("{{ .Name }}-c"), build.config_map("{{ .Name }}-d")]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    first, second = build.config_map("{{ .Name }}-a"), build.config_map("{{ .Name }}-b")
    text = build.template("# only a comment", first, "", second, listed)
    version = tasked(
        [build.task("many", "Apply", "many.yaml", "config.yaml")],
        build.plan({"many": ["many"]}),
        templates={**ALL_TEMPLATES, "many.yaml": text},
    )
    await install(world, version)

    await world.until_complete("i")

    created = [
        int((await world.get(CONFIG_MAPS, f"i-{name}"))["metadata"]["resourceVersion"])
        for name in ("a", "b", "c", "d", "config")
    ]
    assert created == sorted(created)


async def test_the_items_of_a_list_are_deleted_too(world: World) -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [build.config_map("a"), build.config_map("b")],
    }
    version = tasked(
        [build.task("apply", "Apply", "list.yaml"), build.task("delete", "Delete", "list.yaml")],
        build.plan({"apply": ["apply"]}, {"delete": ["delete"]}),
        templates={"list.yaml": build.template(listed)},
    )
    await install(world, version)

    await world.until_complete("i")

    assert await world.find(CONFIG_MAPS, "a") is None
    assert await world.find(CONFIG_MAPS, "b") is None


async def test_a_template_in_a_sub_folder_is_named_by_its_path(world: World) -> None:
    version = tasked(
        [build.task("sub", "Apply", "sub/a.yaml", "sub/deeper/a.yaml")],
        build.plan({"sub": ["sub"]}),
        templates={
            "sub/a.yaml": build.template(build.config_map("a")),
            "sub/deeper/a.yaml": build.template(build.config_map("{{ .Name }}-a")),
        },
    )
    await install(world, version)

    await world.until_complete("i")

    assert await world.find(CONFIG_MAPS, "a") is not None
    assert await world.find(CONFIG_MAPS, "i-a") is not None


# Tasks, steps and phases beside each other


async def test_no_task_of_a_step_waits_for_another(world: World) -> None:
    version = tasked(
        [build.task("never", "Apply", "never.yaml"), build.task("config", "Apply", "config.yaml")],
        build.plan({"both": ["never", "config"]}),
    )
    await install(world, version)

    waiting = await world.until(
        "i",
        lambda i: (
            instances.tasks_of(i, "deploy").get("both.config", {}).get("status") == "COMPLETE"
        ),
        "the second task",
    )

    assert instances.steps(waiting, "deploy") == {"phase1.both": "IN_PROGRESS"}
    assert instances.tasks_of(waiting, "deploy")["both.never"]["status"] == "IN_PROGRESS"


async def test_each_task_has_its_status_message_and_times(world: World) -> None:
    version = tasked(
        [build.task("slow", "Apply", "slow.yaml"), build.task("config", "Apply", "config.yaml")],
        build.plan({"both": ["slow", "config"]}),
    )
    await install(world, version)

    waiting = await world.until(
        "i",
        lambda i: "message" in instances.tasks_of(i, "deploy").get("both.slow", {}),
        "the first task to wait",
    )
    slow = instances.tasks_of(waiting, "deploy")["both.slow"]
    assert 'deployment "i-slow" is not healthy' in slow["message"]
    assert "finishedAt" not in slow
    config = instances.tasks_of(waiting, "deploy")["both.config"]
    assert config["status"] == "COMPLETE"
    assert config["startedAt"] <= config["finishedAt"]

    done = instances.tasks_of(await world.until_complete("i"), "deploy")
    assert done["both.config"] == config
    assert done["both.slow"]["status"] == "COMPLETE"
    assert "message" not in done["both.slow"]
    assert slow["startedAt"] == done["both.slow"]["startedAt"] < done["both.slow"]["finishedAt"]


async def test_a_finished_task_is_not_run_again_while_its_neighbour_waits(
    world: World, admin: Client
) -> None:
    version = tasked(
        [build.task("job", "Apply", "job.yaml"), build.dummy("wait")],
        build.plan({"both": ["job", "wait"]}),
    )
    await install(world, version)
    await world.until(
        "i",
        lambda i: instances.tasks_of(i, "deploy").get("both.job", {}).get("status") == "COMPLETE",
        "the Job",
    )

    await admin.delete(JOBS, "i-job", namespace=world.namespace)
    await world.until_gone(JOBS, "i-job")
    for _ in range(2):
        # Each start of the reconciler is a pass that would show.
        await world.reconciler.kill()
        await world.reconciler.start()
        seen = (await world.instance("i"))["metadata"]["resourceVersion"]
        await label(world, seen=f"at-{seen}")
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i")

    assert await world.find(JOBS, "i-job") is None


async def waits_in(world: World, deploy: Json, *, beside: str) -> Json:
    """Wait until `beside` has run although a step before it waits for ever."""
    version = tasked(
        [build.task("never", "Apply", "never.yaml"), build.task("config", "Apply", "config.yaml")],
        deploy,
    )
    await install(world, version)
    return await world.until(
        "i",
        lambda i: instances.steps(i, "deploy").get(beside) == "COMPLETE",
        f"{beside} to be COMPLETE",
    )


async def test_parallel_steps_all_run_although_the_first_waits(world: World) -> None:
    deploy = build.shaped({"never": ["never"], "config": ["config"]}, phase="parallel")

    waiting = await waits_in(world, deploy, beside="phase1.config")

    assert instances.steps(waiting, "deploy")["phase1.never"] == "IN_PROGRESS"
    assert await world.find(CONFIG_MAPS, "i-config") is not None


async def test_parallel_phases_all_run_although_the_first_waits(world: World) -> None:
    deploy = build.shaped({"never": ["never"]}, {"config": ["config"]}, plan="parallel")

    waiting = await waits_in(world, deploy, beside="phase2.config")

    phases = {
        phase["name"]: phase["status"] for phase in instances.entry(waiting, "deploy")["phases"]
    }
    assert phases == {"phase1": "IN_PROGRESS", "phase2": "COMPLETE"}


async def test_serial_steps_of_parallel_phases_wait_in_their_phase_alone(world: World) -> None:
    deploy = build.shaped(
        {"never": ["never"], "after": ["config"]}, {"config": ["config"]}, plan="parallel"
    )

    waiting = await waits_in(world, deploy, beside="phase2.config")

    assert instances.steps(waiting, "deploy")["phase1.after"] == "PENDING"


async def test_many_parallel_steps_are_all_done(world: World) -> None:
    names = [f"s{number}" for number in range(20)]
    version = tasked(
        [build.task(name, "Apply", f"{name}.yaml") for name in names],
        build.shaped({name: [name] for name in names}, phase="parallel"),
        templates={
            f"{name}.yaml": build.template(build.config_map(f"{{{{ .Name }}}}-{name}"))
            for name in names
        },
    )
    await install(world, version)

    done = await world.until_complete("i")

    assert set(instances.steps(done, "deploy").values()) == {"COMPLETE"}
    found = {cm["metadata"]["name"] for cm in await world.all(CONFIG_MAPS)}
    assert {f"i-{name}" for name in names} <= found


async def test_a_fatal_error_among_parallel_steps_ends_the_plan(world: World) -> None:
    version = tasked(
        [build.task("never", "Apply", "never.yaml"), build.dummy("err", wantErr=True, fatal=True)],
        build.shaped({"never": ["never"], "err": ["err"]}, phase="parallel"),
    )
    await install(world, version)

    failed = await world.until_failed("i")

    assert instances.steps(failed, "deploy")["phase1.err"] == "FATAL_ERROR"
    assert await world.find(DEPLOYMENTS, "i-never") is not None
