"""Parameters of a run through the API with both services: what they reach, and what they keep."""

import json
from typing import Final

import pytest

from kubeio.client import Client
from kubeio.errors import ApiError
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.world.operators import block, denied, unblock, until_step

FIELD: Final = "spec.planExecution.parameters"
DECLARED: Final = [
    {"name": "name", "required": True, "pattern": "^[a-z]+$"},
    {"name": "keep", "value-type": "integer", "default": "7", "minimum": 1},
    {"name": "tags", "value-type": "array"},
]


def operator(name: str = "params-1") -> Json:
    note = build.config_map(
        "{{ .Name }}-{{ .RunParams.name }}",
        keep="{{ .RunParams.keep }}",
        tags="{{ range .RunParams.tags }}{{ . }};{{ end }}",
        size="{{ .Params.SIZE }}",
    )
    backup = build.plan({"note": ["note"], "many": ["many"], "blocked": ["blocked"]})
    backup["phases"][0]["steps"][1]["when"] = "runParams.keep > 7 && runParams.name != ''"
    backup["parameters"] = DECLARED
    slow = build.plan({"wait": ["wait"]}, {"note": ["note"]}) | {"parameters": DECLARED}
    return build.operator_version(
        name,
        templates={
            "note.yaml": build.template(note),
            "many.yaml": build.template(build.config_map("{{ .Name }}-many")),
            "blocked.yaml": build.template(build.config_map("{{ .Name }}-blocked", by="kudo")),
            "first.yaml": build.template(build.config_map("{{ .Name }}-first")),
            "pressed.yaml": build.template(
                build.config_map("{{ .Name }}-pressed", keep="{{ .RunParams.keep }}")
            ),
            "web.yaml": build.template(build.deployment("{{ .Name }}-web", ready_delay="3s")),
        },
        tasks=[
            *(
                build.task(task, "Apply", f"{task}.yaml")
                for task in ("note", "many", "blocked", "first", "pressed")
            ),
            build.task("wait", "Apply", "web.yaml"),
        ],
        plans={
            "deploy": build.plan({"first": ["first"]}),
            "backup": backup,
            "slow": slow,
            "button": build.plan({"pressed": ["pressed"]}) | {"parameters": DECLARED[1:]},
        },
        parameters=[
            build.parameter("SIZE", "1"),
            build.parameter("BACKUP_TRIGGER", "0", trigger="button"),
        ],
    )


async def installed(world: World) -> Json:
    done = await world.apply(operator(), build.instance("i", "params-1"))
    assert done.code == 0, done.output
    return await world.until_complete("i")


async def trigger(world: World, plan: str = "backup", **given: str) -> Json:
    """Trigger a plan, and return its scheduled run as it is stored."""
    execution = {"planName": plan, "parameters": given} if given else {"planName": plan}
    return instances.scheduled(await world.patch("i", {"planExecution": execution}))


async def test_a_run_uses_what_it_was_given_and_the_history_tells(world: World) -> None:
    await installed(world)
    run = await trigger(world, name="monday", keep="9", tags="[a, b]")
    assert run["parameters"] == {"name": "monday", "keep": "9", "tags": "[a, b]"}

    ended = await world.until_complete("i", "backup")
    data = (await world.get(CONFIG_MAPS, "i-monday"))["data"]
    assert data == {"keep": "9", "tags": "a;b;", "size": "1"}
    assert await world.find(CONFIG_MAPS, "i-many") is not None
    assert instances.entry(ended, "backup")["runParameters"] == run["parameters"]
    assert ended["status"]["history"][0]["runParameters"] == run["parameters"]
    assert len(ended["status"]["lastRun"]["runParameters"]) == 16
    assert ended["spec"]["planExecution"] == {}


async def test_defaults_are_not_stored_and_the_next_run_begins_without_any(world: World) -> None:
    await installed(world)
    await trigger(world, name="monday", keep="9")
    await world.until_complete("i", "backup")
    await trigger(world, name="tuesday")
    ended = await world.until_complete("i", "backup")
    assert (await world.get(CONFIG_MAPS, "i-tuesday"))["data"]["keep"] == "7"
    steps = instances.entry(ended, "backup")["phases"][0]["steps"]
    assert [step.get("skipped", False) for step in steps] == [False, True, False]
    given = [record.get("runParameters") for record in ended["status"]["history"]]
    assert given == [{"name": "tuesday"}, {"keep": "9", "name": "monday"}, None]
    # What only another run applies is no orphan.
    assert await world.find(CONFIG_MAPS, "i-monday") is not None
    assert "orphans" not in ended["status"]


@pytest.mark.parametrize(
    ("execution", "reason", "text"),
    [
        (
            {"planName": "backup"},
            "ParameterRequired",
            "-n {namespace} -p name=VALUE",
        ),
        (
            {"planName": "backup", "parameters": {"name": "monday", "nam": "x"}},
            "ParameterUnknown",
            "plan 'backup' has no run parameter \"nam\"; its run parameters are: name, keep, tags",
        ),
        (
            {"planName": "deploy", "parameters": {"name": "monday"}},
            "ParameterUnknown",
            "plan 'deploy' has no run parameter \"name\"; its run parameters are: none",
        ),
        (
            {"planName": "backup", "parameters": {"name": "monday", "keep": "0"}},
            "ParameterInvalid",
            'run parameter "keep" has an invalid value',
        ),
        (
            {"planName": "backup", "parameters": {"name": "MONDAY"}},
            "ParameterInvalid",
            "plan 'backup': run parameter \"name\"",
        ),
        (
            {"planName": "backup", "parameters": {"name": "a" * 16385}},
            "ParameterTooLarge",
            "16389 bytes together, more than 16384",
        ),
        (
            {"parameters": {"name": "monday"}},
            "PlanUnknown",
            "planExecution has parameters and names no plan",
        ),
    ],
)
async def test_bad_input_is_denied_and_nothing_is_stored(
    world: World, execution: Json, reason: str, text: str
) -> None:
    await installed(world)
    error = await denied(world, {"planExecution": execution})
    assert error.reason == reason
    assert text.format(namespace=world.namespace) in str(error)


async def test_an_edit_of_the_run_in_progress_is_discarded_and_a_restart_keeps_them(
    world: World,
) -> None:
    await installed(world)
    run = await trigger(world, "slow", name="monday", keep="8")
    await until_step(world, "phase1.wait", "IN_PROGRESS", "slow")

    for given in ({"name": "tuesday"}, {"name": None, "keep": None}):
        edited = await world.patch("i", {"planExecution": {"parameters": given}})
        assert instances.scheduled(edited) == run
    restarted = await world.patch(
        "i", {"planExecution": {"uid": "again", "parameters": {"name": "tuesday"}}}
    )
    again = instances.scheduled(restarted)
    assert again["uid"] not in {run["uid"], "again"}
    assert again["parameters"] == run["parameters"]

    ended = await world.until_complete("i", "slow")
    assert (await world.get(CONFIG_MAPS, "i-monday"))["data"]["keep"] == "8"
    assert await world.find(CONFIG_MAPS, "i-tuesday") is None
    last = ended["status"]["history"][0]
    assert (last["uid"], last["runParameters"]) == (again["uid"], run["parameters"])


async def test_a_retry_uses_what_the_failed_run_was_given(world: World, admin: Client) -> None:
    await installed(world)
    await block(world, admin)
    run = await trigger(world, name="monday", keep="9")
    await world.until_failed("i", "backup")
    retry = {"planName": "backup", "retryOf": run["uid"]}
    other = await denied(world, {"planExecution": {**retry, "parameters": {"name": "tuesday"}}})
    assert (other.reason, FIELD in str(other.details)) == ("RetryChanged", True)
    assert "a retry has the parameters of the run that it continues" in str(other)

    await unblock(world, admin)
    stored = await world.patch("i", {"planExecution": retry})
    assert instances.scheduled(stored)["parameters"] == run["parameters"]
    ended = await world.until_complete("i", "backup")
    assert instances.entry(ended, "backup")["runParameters"] == run["parameters"]
    records = [record.get("runParameters") for record in ended["status"]["history"]]
    assert records == [run["parameters"], run["parameters"], None]


async def test_a_process_that_goes_on_with_the_run_has_them_too(world: World) -> None:
    await installed(world)
    await trigger(world, "slow", name="monday", keep="8")
    await until_step(world, "phase1.wait", "IN_PROGRESS", "slow")
    await world.reconciler.kill()
    await world.reconciler.start()
    await world.until_complete("i", "slow")
    assert (await world.get(CONFIG_MAPS, "i-monday"))["data"]["keep"] == "8"


async def test_without_webhooks_nothing_runs_without_what_it_requires(world: World) -> None:
    await installed(world)
    async with world.without_webhooks():
        await world.patch("i", {"planExecution": {"planName": "backup", "uid": "x"}})
        await world.until("i", lambda i: not instances.scheduled(i), "the run to be refused")
        assert "needs run parameters that are not given: name" in await event_text(
            world, "ParameterRequired"
        )
        given = {"planName": "backup", "uid": "y", "parameters": {"name": "monday"}}
        await world.patch("i", {"planExecution": given})
        await world.until_complete("i", "backup")
    assert (await world.get(CONFIG_MAPS, "i-monday"))["data"]["keep"] == "7"
    history = (await world.instance("i"))["status"]["history"]
    assert history[0]["uid"] == "y"


async def test_the_command_line_gives_them_and_shows_them(world: World) -> None:
    await installed(world)
    flags = ("--instance", "i", "--name", "backup")
    older = await world.kudo("plan", "trigger", *flags)
    assert older.code != 0
    assert "run it with them: kubectl kudo plan trigger --name backup" in older.output
    misspelt = await world.kudo("plan", "trigger", *flags, "-p", "name=monday", "-p", "kep=8")
    assert "kep: did you mean keep?" in misspelt.output

    done = await world.kudo("plan", "trigger", *flags, "-p", "name=monday", "--wait")
    assert done.code == 0, done.output
    status = await world.kudo("plan", "status", "--instance", "i")
    assert "with name=monday" in status.output
    history = await world.kudo("plan", "history", "--instance", "i")
    assert "with name=monday, user kudo-user" in history.output
    described = await world.kudo("describe", "instance", "i", "-o", "json")
    plans = {plan["name"]: plan for plan in json.loads(described.stdout)["plans"]}
    assert plans["backup"]["runParameters"] == {"name": "monday"}


async def test_the_command_line_does_not_restart_a_run_that_keeps_its_own(world: World) -> None:
    await installed(world)
    run = await trigger(world, "slow", name="monday")
    done = await world.kudo(
        "plan", "trigger", "--instance", "i", "--name", "slow", "-p", "name=tuesday"
    )
    assert done.code != 0
    assert "plan slow is running and keeps the parameters that it was given" in done.output
    assert instances.scheduled(await world.instance("i"))["uid"] == run["uid"]


async def test_a_new_instance_and_a_change_of_a_parameter_take_none(world: World) -> None:
    made = build.instance("i", "params-1")
    made["spec"]["planExecution"] = {"planName": "backup", "parameters": {"name": "monday"}}
    done = await world.apply(operator(), made)
    assert done.code == 0, done.output
    ended = await world.until_complete("i")
    assert "runParameters" not in instances.entry(ended, "deploy")
    beside = {"planName": "backup", "parameters": {"name": "monday"}}
    with pytest.raises(ApiError) as caught:
        await world.patch("i", {"parameters": {"SIZE": "2"}, "planExecution": beside})
    assert caught.value.reason == "PlanBesideChange"


async def test_a_parameter_as_a_button_runs_its_plan_with_the_defaults(world: World) -> None:
    await installed(world)
    given = await trigger(world, "button", keep="9")
    assert given["parameters"] == {"keep": "9"}
    await world.until_complete("i", "button")
    assert (await world.get(CONFIG_MAPS, "i-pressed"))["data"] == {"keep": "9"}
    for press in ("1", "2"):
        await world.patch("i", {"parameters": {"BACKUP_TRIGGER": press}})
        ended = await world.until_complete("i", "button")
        assert ended["status"]["history"][0]["cause"]["parameters"] == ["BACKUP_TRIGGER"]
        assert "runParameters" not in instances.entry(ended, "button")
        assert (await world.get(CONFIG_MAPS, "i-pressed"))["data"] == {"keep": "7"}
