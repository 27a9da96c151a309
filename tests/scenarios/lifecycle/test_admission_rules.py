"""What the webhook denies, with which reason and words, and what it lets pass."""

import asyncio

import pytest

from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import label
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES


def guarded() -> Json:
    return build.operator_version(
        "guarded-1",
        templates={
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "slow.yaml": build.template(build.deployment("{{ .Name }}-slow", ready_delay="6s")),
        },
        plans={
            "deploy": build.plan({"config": ["config"]}),
            "other": build.plan({"config": ["config"]}),
            "slow": build.plan({"wait": ["slow"]}),
            "cleanup": build.plan({"config": ["config"]}),
        },
        parameters=[
            build.parameter("A", "a"),
            build.parameter("OTHER", "o", trigger="other"),
            build.parameter("SLOW", "s", trigger="slow"),
            build.parameter("PORT", "8080", immutable=True),
            build.parameter("COUNT", "1", **{"value-type": "integer"}),
            build.parameter("TOKEN"),
        ],
    )


@pytest.fixture
async def guarded_world(world: World) -> World:
    """Return a namespace with an idle Instance `i`."""
    done = await world.apply(guarded(), build.instance("i", "guarded-1", TOKEN="t"))
    assert done.code == 0, done.output
    await world.until_complete("i")
    return world


async def denied(world: World, spec: Json) -> ApiError:
    """Send a change that must be denied, and see that nothing was stored."""
    before = (await world.instance("i"))["spec"]
    with pytest.raises(ApiError) as caught:
        await world.patch("i", spec)
    assert "denied the request" in caught.value.message
    assert (await world.instance("i"))["spec"] == before
    return caught.value


async def test_an_immutable_parameter_cannot_be_changed(guarded_world: World) -> None:
    error = await denied(guarded_world, {"parameters": {"PORT": "9090"}})

    assert error.reason == "ParameterImmutable"
    assert "parameter 'PORT' is immutable but was changed from '8080' to '9090'" in error.message
    assert error.causes[0].field == "spec.parameters[PORT]"


async def test_an_immutable_parameter_cannot_be_removed(guarded_world: World) -> None:
    error = await denied(guarded_world, {"parameters": {"PORT": None}})

    assert error.reason == "ParameterImmutable"


async def test_cleanup_cannot_be_triggered_by_hand(guarded_world: World) -> None:
    error = await denied(guarded_world, {"planExecution": {"planName": "cleanup"}})

    assert error.reason == "CleanupNotManual"
    assert "only the controller schedules the 'cleanup' plan" in error.message


async def test_a_second_plan_is_denied_while_one_runs(guarded_world: World) -> None:
    await guarded_world.patch("i", {"planExecution": {"planName": "slow"}})
    await guarded_world.until(
        "i", lambda i: instances.status_of(i, "slow") == "IN_PROGRESS", "slow to run"
    )

    triggered = await denied(guarded_world, {"planExecution": {"planName": "deploy"}})
    by_parameter = await denied(guarded_world, {"parameters": {"OTHER": "x"}})

    assert (triggered.reason, by_parameter.reason) == ("PlanRunning", "PlanRunning")
    text = "plan 'slow' is scheduled (or running) and an update would trigger a different plan"
    assert text in by_parameter.message
    await guarded_world.until_complete("i", "slow")


async def test_a_running_plan_cannot_be_taken_off_the_spec(guarded_world: World) -> None:
    await guarded_world.patch("i", {"planExecution": {"planName": "slow"}})

    error = await denied(guarded_world, {"planExecution": None})

    assert error.reason == "PlanRunning"


async def test_the_end_of_a_run_cannot_be_declared_by_hand(guarded_world: World) -> None:
    started = await guarded_world.patch("i", {"planExecution": {"planName": "slow"}})

    answer = await guarded_world.patch("i", {"planExecution": {"status": "COMPLETE"}})

    assert instances.scheduled(answer) == instances.scheduled(started)


async def test_a_running_plan_can_be_cancelled_and_says_by_whom(guarded_world: World) -> None:
    started = await guarded_world.patch("i", {"planExecution": {"planName": "slow"}})
    await guarded_world.until(
        "i", lambda i: instances.status_of(i, "slow") == "IN_PROGRESS", "slow to run"
    )

    spoofed = {"status": "FATAL_ERROR", "cancelledBy": "somebody else"}
    answer = await guarded_world.patch("i", {"planExecution": spoofed})

    assert instances.scheduled(answer)["cancelledBy"] == "kudo-user"
    ended = await guarded_world.until_failed("i", "slow")
    assert instances.entry(ended, "slow")["message"] == "cancelled by kudo-user"
    assert instances.entry(ended, "slow")["uid"] == instances.scheduled(started)["uid"]
    assert [e["reason"] for e in await guarded_world.events("PlanCancelled")] == ["PlanCancelled"]


async def test_a_cancelled_plan_can_be_started_again(guarded_world: World) -> None:
    await guarded_world.patch("i", {"planExecution": {"planName": "slow"}})
    await guarded_world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await guarded_world.until_failed("i", "slow")

    await guarded_world.patch("i", {"planExecution": {"planName": "slow"}})

    await guarded_world.until_complete("i", "slow")


async def test_one_change_cannot_trigger_two_plans(guarded_world: World) -> None:
    error = await denied(guarded_world, {"parameters": {"OTHER": "x", "SLOW": "x"}})

    assert error.reason == "SeveralPlansTriggered"
    assert "triggering multiple plans: [other slow] at once is not allowed" in error.message


async def test_undeclared_unknown_and_ill_typed_values_are_named_together(
    guarded_world: World,
) -> None:
    error = await denied(guarded_world, {"parameters": {"NOPE": "x", "COUNT": "many", "PORT": "1"}})

    assert {(cause.reason, cause.field) for cause in error.causes} == {
        ("ParameterUnknown", "spec.parameters[NOPE]"),
        ("ParameterInvalid", "spec.parameters[COUNT]"),
        ("ParameterImmutable", "spec.parameters[PORT]"),
    }
    assert 'parameter "COUNT" has an invalid value "many"' in error.message


async def test_a_required_parameter_must_have_a_value(world: World) -> None:
    done = await world.apply(guarded(), build.instance("i", "guarded-1"))

    assert done.code != 0
    assert 'parameter "TOKEN" is required but has no value set' in done.stderr


async def test_an_undeclared_parameter_at_create_is_a_warning(world: World) -> None:
    instance = build.instance("i", "guarded-1", TOKEN="t", NOPE="x")
    done = await world.apply(guarded(), instance)

    assert done.code == 0
    assert 'parameter "NOPE" is not declared by guarded-1' in done.stderr
    await world.until_complete("i")


async def test_an_instance_without_its_operator_version_is_denied(world: World) -> None:
    done = await world.apply(build.instance("i", "nowhere-1"))

    assert done.code != 0
    assert f"OperatorVersion {world.namespace}/nowhere-1 does not exist" in done.stderr


async def test_a_plan_that_does_not_exist_is_denied(guarded_world: World) -> None:
    error = await denied(guarded_world, {"planExecution": {"planName": "nope"}})

    assert error.reason == "PlanUnknown"
    assert "cleanup, deploy, other, slow" in error.message


async def test_labels_always_pass_and_run_nothing(guarded_world: World) -> None:
    before = await guarded_world.instance("i")

    await label(guarded_world, team="a")

    assert (await guarded_world.instance("i"))["spec"] == before["spec"]


async def test_of_two_plans_triggered_at_once_one_runs(guarded_world: World) -> None:
    answers = await asyncio.gather(
        guarded_world.patch("i", {"planExecution": {"planName": "slow"}}),
        guarded_world.patch("i", {"planExecution": {"planName": "other"}}),
        return_exceptions=True,
    )

    refused = [answer for answer in answers if isinstance(answer, ApiError)]
    assert [error.reason for error in refused] == ["PlanRunning"]
    ended = await guarded_world.until("i", instances.idle, "the end of the run")
    ran = [name for name in ("slow", "other") if instances.status_of(ended, name) == "COMPLETE"]
    assert len(ran) == 1


async def test_a_dry_run_is_judged_and_stores_nothing(guarded_world: World) -> None:
    before = await guarded_world.instance("i")

    with pytest.raises(ApiError, match="is immutable"):
        await tried(guarded_world, "PORT")
    await tried(guarded_world, "A")

    assert (await guarded_world.instance("i"))["spec"] == before["spec"]


async def tried(world: World, parameter: str) -> None:
    """Change a parameter as a dry run."""
    spec = {"parameters": {parameter: "1"}}
    await world.client.merge_patch(
        INSTANCES, "i", {"spec": spec}, namespace=world.namespace, dry_run=True
    )
