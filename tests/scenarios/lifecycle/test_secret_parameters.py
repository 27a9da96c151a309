"""Parameters that take their values from Secrets and ConfigMaps: when runs begin, wait and end."""

import base64
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.resource import SECRETS
from kudo.api.fingerprints import fingerprint
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES


def secret(value: str | bytes, name: str = "db") -> Json:
    content = value.encode() if isinstance(value, str) else value
    data = {"password": base64.b64encode(content).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def version(name: str = "db-1", **fields: Any) -> Json:
    """Return a version that puts a password into a Secret, and a mode into a ConfigMap."""
    made = {**secret(""), "metadata": {"name": "{{ .Name }}-login"}, "data": None}
    made["stringData"] = {"password": "{{ .Params.PASSWORD }}"}
    slow = build.deployment("{{ .Name }}-web", ready_delay="5s")
    used = {"name": "login", "secret": {"secretName": "{{ .Name }}-login"}}
    slow["spec"]["template"]["spec"]["volumes"] = [used]
    late = build.config_map("{{ .Name }}-late", size="{{ len .Params.PASSWORD }}")
    deploy = build.plan({"login": ["login"], "web": ["web"]}, {"mode": ["mode"], "late": ["late"]})
    return build.operator_version(
        name,
        templates={
            "login.yaml": build.template(made),
            "web.yaml": build.template(slow),
            "mode.yaml": build.template(
                build.config_map("{{ .Name }}-mode", m="{{ .Params.MODE }}")
            ),
            "late.yaml": build.template(late),
        },
        parameters=[
            build.parameter("PASSWORD", secret=True, minLength=3, **fields),
            build.parameter("MODE", "fast"),
        ],
        plans={
            "deploy": deploy,
            "update": build.plan({"login": ["login"]}),
            "backup": build.plan({"mode": ["mode"]}),
        },
    )


def instance(**more: Any) -> Json:
    made = build.instance("i", "db-1")
    reference = {"name": "db", "key": "password"}
    made["spec"]["parametersFrom"] = [{"name": "PASSWORD", "secretKeyRef": reference}]
    made["spec"] |= more
    return made


@pytest.fixture
async def secrets(world: World, admin: Client) -> "Secrets":
    return Secrets(world, admin)


class Secrets:
    """Writes Secrets of the namespace as an administrator."""

    def __init__(self, world: World, admin: Client) -> None:
        self.world, self.admin = world, admin

    async def create(self, value: str | bytes, name: str = "db") -> None:
        obj = secret(value, name)
        await self.admin.create(SECRETS, obj, namespace=self.world.namespace)

    async def change(self, value: str) -> None:
        change = {"data": secret(value)["data"]}
        await self.admin.merge_patch(SECRETS, "db", change, namespace=self.world.namespace)

    async def delete(self) -> None:
        await self.admin.delete(SECRETS, "db", namespace=self.world.namespace)

    async def password(self) -> str:
        made = await self.admin.get(SECRETS, "i-login", namespace=self.world.namespace)
        return base64.b64decode(made["data"]["password"]).decode()


async def begun(world: World, *objects: Json) -> None:
    done = await world.apply(version(), *objects)
    assert done.code == 0, done.output


async def until_held(world: World, reason: str) -> str:
    held = await world.until("i", lambda i: instances.reason_of(i)[1] == reason, reason)
    assert held["status"].keys() <= {"conditions", "observedGeneration"}
    return str(instances.ready(held)["message"])


async def test_a_run_waits_for_a_secret_that_is_missing_and_then_for_its_key(
    world: World, secrets: Secrets, admin: Client
) -> None:
    await begun(world, instance())
    text = await until_held(world, "ParameterSourceMissing")
    assert 'parameter "PASSWORD": Secret db does not exist' in text
    assert text in await event_text(world, "ParameterSourceMissing")
    empty = {**secret("x"), "data": {"other": "eA=="}}
    await admin.create(SECRETS, empty, namespace=world.namespace)
    await world.until(
        "i",
        lambda i: "key password of Secret db does not exist" in instances.ready(i)["message"],
        "it",
    )
    await secrets.change("correct horse")
    done = await world.until_complete("i")
    assert await secrets.password() == "correct horse"
    record = done["status"]["lastRun"]["secrets"]["PASSWORD"]
    source = await admin.get(SECRETS, "db", namespace=world.namespace)
    assert record["resourceVersion"] == source["metadata"]["resourceVersion"]
    assert record["uid"] == source["metadata"]["uid"]
    assert len(record["digest"]) == 32


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"\xff\xfe\xfd\xfc", "is no UTF-8 text"),
        ("ab", "breaks one of its bounds"),
        ("", "is empty, and the parameter is required"),
    ],
)
async def test_a_value_that_cannot_be_used_is_not_shown_and_holds_the_run(
    world: World, secrets: Secrets, value: str | bytes, said: str
) -> None:
    await secrets.create(value)
    await begun(world, instance())
    text = await until_held(world, "ParameterSourceUnusable")
    assert said in text
    assert "minLength" not in text
    assert not isinstance(value, str) or f'"{value}"' not in text
    await secrets.change("long enough")
    await world.until_complete("i")


async def test_a_run_that_waits_for_a_secret_can_be_cancelled_and_the_instance_deleted(
    world: World, secrets: Secrets
) -> None:
    await begun(world, instance())
    text = await until_held(world, "ParameterSourceMissing")
    assert f"Waits: {text}" in (await world.kudo("plan", "status", "--instance=i")).output
    assert f"plan deploy waits: {text}" in (await world.kudo("why", "i")).output
    assert (await world.kudo("plan", "cancel", "--instance=i")).code == 0
    failed = await world.until_failed("i")
    assert "cancelled by" in str(instances.messages(failed, "deploy"))
    await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")


async def test_a_run_keeps_the_value_that_it_began_with(world: World, secrets: Secrets) -> None:
    await secrets.create("first")
    await begun(world, instance())
    await world.until(
        "i", lambda i: instances.steps(i, "deploy").get("phase1.login") == "COMPLETE", "login"
    )
    await secrets.change("second value")
    await world.until_complete("i")
    assert await secrets.password() == "first"
    assert (await world.get(CONFIG_MAPS, "i-late"))["data"]["size"] == "5"
    await triggered(world, "update")
    await world.until_complete("i", "update")
    assert await secrets.password() == "second value"


async def killed_while_waiting(world: World) -> None:
    """Kill the reconciler while the second step waits for its Deployment."""
    await world.until(
        "i", lambda i: instances.steps(i, "deploy").get("phase1.login") == "COMPLETE", "it"
    )
    await world.reconciler.kill()


@pytest.mark.parametrize("changed", [False, True])
async def test_another_process_continues_a_run_with_the_value_that_it_began_with_or_ends_it(
    world: World, secrets: Secrets, changed: bool
) -> None:
    await secrets.create("first")
    await begun(world, instance())
    await killed_while_waiting(world)
    # The same content in another state of the Secret is the same value.
    await secrets.change("first" if not changed else "second value")
    await world.reconciler.start()
    if not changed:
        await world.until_complete("i")
        return
    ended = await world.until_failed("i")
    assert "the run began with other values of parameters: PASSWORD" in instances.messages(
        ended, "deploy"
    )
    assert await secrets.password() == "first"


async def test_a_continued_run_waits_for_a_secret_that_is_gone(
    world: World, secrets: Secrets
) -> None:
    await secrets.create("first")
    await begun(world, instance())
    await killed_while_waiting(world)
    await secrets.delete()
    await world.reconciler.start()
    await world.until("i", lambda i: instances.reason_of(i)[1] == "ParameterSourceMissing", "it")
    await secrets.create("first")
    await world.until_complete("i")


async def test_a_cleanup_runs_without_what_is_missing_and_a_task_that_needs_it_fails(
    world: World, secrets: Secrets
) -> None:
    cleaned = version()
    cleaned["spec"]["plans"]["cleanup"] = build.plan({"mode": ["mode"]}, {"late": ["late"]})
    await secrets.create("first")
    done = await world.apply(cleaned, instance())
    assert done.code == 0, done.output
    await world.until_complete("i")
    await secrets.delete()
    await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")
    text = await event_text(world, "ParameterSourceMissing")
    assert 'parameter "PASSWORD": Secret db does not exist' in text
    assert "failed to render" in text or "late" in text


async def test_a_parameter_that_is_no_secret_takes_its_value_from_a_config_map(
    world: World, secrets: Secrets, admin: Client
) -> None:
    await secrets.create("first")
    source = build.config_map("modes", default="slow")
    await admin.create(CONFIG_MAPS, source, namespace=world.namespace)
    made = instance()
    reference = {"name": "modes", "key": "default"}
    made["spec"]["parametersFrom"].append({"name": "MODE", "configMapKeyRef": reference})
    await begun(world, made)
    done = await world.until_complete("i")
    assert (await world.get(CONFIG_MAPS, "i-mode"))["data"] == {"m": "slow"}
    assert done["status"]["lastRun"]["configMaps"]["MODE"]["digest"] == fingerprint("slow")


async def test_a_plan_that_brings_no_change_of_a_secret_into_force_leaves_the_record_of_it(
    world: World, secrets: Secrets
) -> None:
    await secrets.create("first")
    await begun(world, instance())
    before = (await world.until_complete("i"))["status"]["lastRun"]["secrets"]["PASSWORD"]
    await secrets.change("second value")
    await triggered(world, "backup")
    kept = (await world.until_complete("i", "backup"))["status"]["lastRun"]["secrets"]["PASSWORD"]
    assert {name: kept[name] for name in before} == before
    assert kept["beganWith"] not in {None, before["digest"]}
    await triggered(world, "update")
    after = (await world.until_complete("i", "update"))["status"]["lastRun"]["secrets"]["PASSWORD"]
    assert after["digest"] == kept["beganWith"]
    assert "beganWith" not in after


async def triggered(world: World, plan: str) -> None:
    await world.patch("i", {"planExecution": {"planName": plan}})


async def test_a_secret_with_another_value_runs_the_plan_of_its_parameter(
    world: World, secrets: Secrets
) -> None:
    await secrets.create("first")
    done = await world.apply(version(onChange="run"), instance())
    assert done.code == 0, done.output
    await world.until_complete("i")
    await secrets.change("second value")
    after = await world.until_complete("i", "update")
    assert await secrets.password() == "second value"
    assert after["status"]["lastRun"]["cause"] == {"parameters": ["PASSWORD"]}
    text = str((await world.client.list(INSTANCES, namespace=world.namespace)).items)
    assert "second value" not in text


async def test_a_secret_that_changes_starts_nothing_by_itself(
    world: World, secrets: Secrets
) -> None:
    await secrets.create("first")
    await begun(world, instance())
    await world.until_complete("i")
    await secrets.change("second value")
    await triggered(world, "backup")
    await world.until_complete("i", "backup")
    assert await secrets.password() == "first"


@pytest.mark.parametrize("changed", [False, True])
async def test_a_failed_run_is_not_retried_with_another_value(
    world: World, secrets: Secrets, admin: Client, changed: bool
) -> None:
    await secrets.create("first")
    theirs = build.config_map("i-late", size="of somebody")
    await admin.create(CONFIG_MAPS, theirs, namespace=world.namespace, field_manager="somebody")
    await begun(world, instance())
    await world.until_failed("i")
    await admin.delete(CONFIG_MAPS, "i-late", namespace=world.namespace)
    if changed:
        await secrets.change("second value")
    assert (await world.kudo("plan", "retry", "--instance=i")).code == 0
    if not changed:
        await world.until_complete("i")
        return
    await world.until_idle("i")
    text = await event_text(world, "RetryChanged")
    assert "it began with other values of parameters: PASSWORD; start over with" in text
    assert await secrets.password() == "first"
