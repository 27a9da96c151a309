"""What a change of an Instance runs, and how the run ends."""

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, INSTANCES, JOBS

GREETING = build.template(build.config_map("{{ .Name }}-greeting", text="{{ .Params.GREETING }}"))
WEB = build.template(build.deployment("{{ .Name }}-web", replicas="{{int .Params.REPLICAS int}}"))


def greeter(name: str = "greeter-1", **plans: Json) -> Json:
    return build.operator_version(
        name,
        templates={"greeting.yaml": GREETING, "web.yaml": WEB},
        plans={
            "deploy": build.plan({"config": ["greeting"]}, {"run": ["web"]}),
            "speak": build.plan({"config": ["greeting"]}),
            **plans,
        },
        parameters=[
            build.parameter("GREETING", "hello", trigger="speak"),
            build.parameter("REPLICAS", "1"),
            build.parameter("PORT", "8080", immutable=True),
            build.parameter("TOKEN"),
        ],
    )


async def test_a_created_instance_is_deployed_to_complete_and_ready(world: World) -> None:
    done = await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    assert done.code == 0, done.output

    instance = await world.until_complete("i")

    assert instances.steps(instance, "deploy") == {
        "phase1.config": "COMPLETE",
        "phase2.run": "COMPLETE",
    }
    assert instances.status_of(instance, "speak") == "NEVER_RUN"
    assert (instances.ready(instance)["status"], instances.ready(instance)["reason"]) == (
        "True",
        "ResourcesReady",
    )
    assert (await world.get(DEPLOYMENTS, "i-web"))["status"]["readyReplicas"] == 1


async def test_applied_objects_carry_labels_annotations_and_their_owner(world: World) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    instance = await world.until_complete("i")

    web = await world.get(DEPLOYMENTS, "i-web")

    labels = {"heritage": "kudo", "kudo.dev/operator": "op", "kudo.dev/instance": "i"}
    assert labels.items() <= web["metadata"]["labels"].items()
    assert {
        "kudo.dev/plan": "deploy",
        "kudo.dev/phase": "phase2",
        "kudo.dev/step": "run",
        "kudo.dev/last-plan-execution-uid": instances.entry(instance, "deploy")["uid"],
    }.items() <= web["metadata"]["annotations"].items()
    pods = web["spec"]["template"]["metadata"]
    assert labels.items() <= pods["labels"].items()
    assert pods["annotations"]["kudo.dev/operator-version"] == "0.1.0"
    assert web["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "name": "i",
            "uid": instance["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


async def test_each_run_has_one_start_and_one_end_event(world: World) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    instance = await world.until_complete("i")

    events = await world.events()

    uid = instances.entry(instance, "deploy")["uid"]
    assert [(e["metadata"]["name"], e["reason"], e["message"]) for e in events] == [
        (f"i.{uid}.started", "PlanStarted", "Execution of plan deploy started"),
        (
            f"i.{uid}.finished",
            "PlanFinished",
            "Execution of plan deploy finished with status COMPLETE",
        ),
    ]
    assert {e["source"]["component"] for e in events} == {"instance-controller"}


async def test_a_parameter_with_a_trigger_runs_its_plan(world: World) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    deployed = await world.until_complete("i")

    patched = await world.patch("i", {"parameters": {"GREETING": "bye"}})

    assert instances.scheduled(patched)["planName"] == "speak"
    instance = await world.until_complete("i", "speak")
    assert instances.entry(instance, "deploy") == instances.entry(deployed, "deploy")
    assert (await world.get(CONFIG_MAPS, "i-greeting"))["data"]["text"] == "bye"


async def test_a_parameter_without_trigger_runs_update_and_else_deploy(world: World) -> None:
    await world.apply(
        greeter("without-update"),
        greeter("with-update", update=build.plan({"scale": ["web"]})),
        build.instance("a", "without-update", TOKEN="t"),
        build.instance("b", "with-update", TOKEN="t"),
    )
    await world.until_complete("a")
    await world.until_complete("b")

    first = await world.patch("a", {"parameters": {"REPLICAS": "2"}})
    second = await world.patch("b", {"parameters": {"REPLICAS": "2"}})

    assert instances.scheduled(first)["planName"] == "deploy"
    assert instances.scheduled(second)["planName"] == "update"
    await world.until_complete("a", "deploy")
    await world.until_complete("b", "update")
    assert (await world.get(DEPLOYMENTS, "b-web"))["spec"]["replicas"] == 2


async def test_another_operator_version_runs_upgrade_and_drops_its_old_parameters(
    world: World,
) -> None:
    old = greeter()
    old["spec"]["parameters"].append(build.parameter("OLD", "x"))
    new = greeter("greeter-2", upgrade=build.plan({"config": ["greeting"]}, {"run": ["web"]}))
    await world.apply(old, new, build.instance("i", "greeter-1", TOKEN="t", OLD="y"))
    await world.until_complete("i")

    patched = await world.patch("i", {"operatorVersion": {"name": "greeter-2"}})

    assert instances.scheduled(patched)["planName"] == "upgrade"
    assert "OLD" not in patched["spec"]["parameters"]
    await world.until_complete("i", "upgrade")


async def test_a_plan_can_be_triggered_by_name_without_a_uid(world: World) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    await world.until_complete("i")

    patched = await world.patch("i", {"planExecution": {"planName": "speak"}})

    assert instances.scheduled(patched)["uid"]
    await world.until_complete("i", "speak")


async def test_immutable_defaults_are_stored_with_the_instance(world: World) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))

    assert (await world.instance("i"))["spec"]["parameters"]["PORT"] == "8080"


async def test_a_change_while_the_same_plan_runs_restarts_it(world: World) -> None:
    slow = build.operator_version(
        "slow-1",
        templates={
            "greeting.yaml": GREETING,
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="4s")),
        },
        plans={"deploy": build.plan({"config": ["greeting"]}, {"run": ["web"]})},
        parameters=[build.parameter("GREETING", "hello")],
    )
    await world.apply(slow, build.instance("i", "slow-1"))
    running = await world.until(
        "i",
        lambda i: instances.steps(i, "deploy").get("phase2.run") == "IN_PROGRESS",
        "the second phase",
    )

    patched = await world.patch("i", {"parameters": {"GREETING": "changed"}})

    first, second = instances.entry(running, "deploy")["uid"], instances.scheduled(patched)["uid"]
    assert first != second
    instance = await world.until_complete("i")
    assert instances.entry(instance, "deploy")["uid"] == second
    assert (await world.get(CONFIG_MAPS, "i-greeting"))["data"]["text"] == "changed"
    names = [event["metadata"]["name"] for event in await world.events()]
    assert [name for name in names if name.endswith(".finished")] == [
        f"i.{first}.finished",
        f"i.{second}.finished",
    ]
    assert [e["reason"] for e in await world.events("PlanSuperseded")] == ["PlanSuperseded"]


async def test_a_waiting_step_says_what_it_waits_for(world: World) -> None:
    slow = build.operator_version(
        "slow-1",
        templates={
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="4s"))
        },
        plans={"deploy": build.plan({"run": ["web"]})},
    )
    await world.apply(slow, build.instance("i", "slow-1"))

    text = 'deployment "i-web" is not healthy: Waiting for rollout to finish'
    waiting = await world.until("i", lambda i: text in instances.messages(i, "deploy"), "a message")

    assert (instances.ready(waiting)["status"], instances.ready(waiting)["reason"]) == (
        "Unknown",
        "PlanInProgress",
    )
    done = await world.until_complete("i")
    assert not instances.messages(done, "deploy")


async def test_serial_steps_wait_for_the_ones_before_them(world: World) -> None:
    version = build.operator_version(
        "serial-1",
        templates={
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="3s")),
            "after.yaml": build.template(build.config_map("{{ .Name }}-after", a="b")),
        },
        plans={"deploy": build.plan({"first": ["web"], "second": ["after"]})},
    )
    await world.apply(version, build.instance("i", "serial-1"))

    await world.until(
        "i", lambda i: bool(instances.messages(i, "deploy")), "the first step to wait"
    )

    assert await world.find(CONFIG_MAPS, "i-after") is None
    await world.until_complete("i")
    web, after = await world.get(DEPLOYMENTS, "i-web"), await world.get(CONFIG_MAPS, "i-after")
    assert int(after["metadata"]["resourceVersion"]) > int(web["metadata"]["resourceVersion"])


async def test_a_failed_job_ends_the_plan_with_its_own_message(world: World) -> None:
    version = build.operator_version(
        "failing-1",
        templates={"job.yaml": build.template(build.job("{{ .Name }}-job", exit_code=1))},
        plans={"deploy": build.plan({"run": ["job"]})},
    )
    await world.apply(version, build.instance("i", "failing-1"))

    instance = await world.until_failed("i")

    assert instances.steps(instance, "deploy") == {"phase1.run": "FATAL_ERROR"}
    assert 'job "i-job" has failed terminally: ' in instances.messages(instance, "deploy")
    assert instances.ready(instance)["reason"] == "PlanInFatalError"
    assert [e["reason"] for e in await world.events()] == [
        "PlanStarted",
        "FailedTerminalStateError",
        "PlanFinished",
    ]


async def test_ready_follows_the_resources_of_an_idle_instance(world: World, admin: Client) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    await world.until_complete("i")
    web = await world.get(DEPLOYMENTS, "i-web")
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "never-pulls"
    change = {"spec": web["spec"]}
    del change["spec"]["selector"]
    await admin.merge_patch(DEPLOYMENTS, "i-web", change, namespace=world.namespace)

    unready = await world.until("i", lambda i: instances.ready(i)["status"] == "False", "not Ready")

    assert instances.ready(unready)["reason"] == "ResourceNotReady"
    assert "i-web" in instances.ready(unready)["message"]


async def test_deletion_runs_the_cleanup_plan_and_takes_everything_along(world: World) -> None:
    version = build.operator_version(
        "cleaning-1",
        templates={
            "web.yaml": build.template(build.deployment("{{ .Name }}-web")),
            "job.yaml": build.template(build.job("{{ .Name }}-cleanup")),
        },
        plans={"deploy": build.plan({"run": ["web"]}), "cleanup": build.plan({"clean": ["job"]})},
    )
    await world.apply(version, build.instance("i", "cleaning-1"))
    instance = await world.until_complete("i")
    assert instance["metadata"]["finalizers"] == ["kudo.dev.instance.cleanup"]

    await world.client.delete(INSTANCES, "i", namespace=world.namespace)

    await world.until_gone(INSTANCES, "i")
    texts = [event["message"] for event in await world.events()]
    assert texts[-2:] == [
        "Execution of plan cleanup started",
        "Execution of plan cleanup finished with status COMPLETE",
    ]
    await world.until_gone(DEPLOYMENTS, "i-web")
    await world.until_gone(JOBS, "i-cleanup")


async def test_an_instance_without_cleanup_plan_goes_at_once(world: World) -> None:
    await world.apply(greeter(), build.instance("i", "greeter-1", TOKEN="t"))
    await world.until_complete("i")

    await world.client.delete(INSTANCES, "i", namespace=world.namespace)

    await world.until_gone(INSTANCES, "i")
    await world.until_gone(DEPLOYMENTS, "i-web")
