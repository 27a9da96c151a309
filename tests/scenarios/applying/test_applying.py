"""What is applied is exactly what templates say; pods restart when what they use has changed."""

import base64
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import create_theirs
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, INSTANCES

SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)


HASH = "kudo.dev/dependencies-hash"


CONTENT = "kudo.dev/dependency-content"


SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)


NOTHING_USED = "4ae71336e44bf9bf79d2752e234818a5"


"""The hash of a single dependency that is missing or left out."""


def version(
    parts: dict[str, str], deploy: dict[str, list[str]], *parameters: Json, **plans: Json
) -> Json:
    return build.operator_version(
        "v", templates=parts, plans={"deploy": build.plan(deploy), **plans}, parameters=parameters
    )


async def install(world: World, of: Json, **parameters: str) -> None:
    done = await world.apply(of, build.instance("i", "v", **parameters))
    assert done.code == 0, done.output
    await world.until_complete("i")


async def change(world: World, **parameters: str) -> Json:
    """Change parameters and wait for the run that this causes."""
    before = await world.instance("i")
    await world.patch("i", {"parameters": parameters})
    runs = {uid_of(before, name) for name in ("deploy", "update")}
    await world.until(
        "i", lambda i: {uid_of(i, n) for n in ("deploy", "update")} != runs, "another run"
    )
    return await world.until_idle("i")


def uid_of(instance: Json, name: str) -> str:
    status = instance.get("status") or {}
    return str(((status.get("planStatus") or {}).get(name) or {}).get("uid"))


def using(name: str, **volume: Any) -> Json:
    made = build.deployment(name)
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "used", **volume}]
    return made


async def hash_of(world: World, name: str) -> str:
    found = await world.get(DEPLOYMENTS, name)
    return str(found["spec"]["template"]["metadata"]["annotations"].get(HASH, ""))


# Dependencies


async def test_a_changed_config_map_restarts_exactly_the_pods_that_use_it(world: World) -> None:
    parts = {
        "used.yaml": build.template(build.config_map("used", a="{{ .Params.A }}")),
        "other.yaml": build.template(build.config_map("other", b="{{ .Params.B }}")),
        "apps.yaml": build.template(
            using("uses", configMap={"name": "used"}),
            using("uses-other", configMap={"name": "other"}),
            build.deployment("uses-none"),
        ),
    }
    steps = {"files": ["used", "other"], "apps": ["apps"]}
    await install(
        world, version(parts, steps, build.parameter("A", "1"), build.parameter("B", "1"))
    )
    names = ["uses", "uses-other", "uses-none"]
    before = {name: await world.get(DEPLOYMENTS, name) for name in names}
    assert await hash_of(world, "uses-none") == ""

    await change(world, A="2")

    after = {name: await world.get(DEPLOYMENTS, name) for name in names}
    restarted = [n for n in names if before[n]["spec"]["template"] != after[n]["spec"]["template"]]
    assert restarted == ["uses"]


async def test_the_hash_is_the_same_from_the_task_and_from_the_cluster(world: World) -> None:
    parts = {
        "files.yaml": build.template(build.config_map("used", a="1")),
        "together.yaml": build.template(
            build.config_map("used", a="1"), using("a", configMap={"name": "used"})
        ),
        "apart.yaml": build.template(using("b", configMap={"name": "used"})),
    }
    await install(world, version(parts, {"one": ["together"], "two": ["apart"]}))

    assert await hash_of(world, "a") == await hash_of(world, "b") != NOTHING_USED
    content = (await world.get(CONFIG_MAPS, "used"))["metadata"]["annotations"][CONTENT]
    assert len(content) == 32


async def test_an_edit_by_hand_restarts_nothing(world: World, admin: Client) -> None:
    parts = {
        "files.yaml": build.template(build.config_map("used", a="1")),
        "apps.yaml": build.template(using("a", configMap={"name": "used"})),
    }
    of = version(parts, {"one": ["files"], "two": ["apps"]}, again=build.plan({"two": ["apps"]}))
    await install(world, of)
    before = await hash_of(world, "a")
    edited = {"data": {"a": "edited"}}
    await admin.merge_patch(CONFIG_MAPS, "used", edited, namespace=world.namespace)

    await world.patch("i", {"planExecution": {"planName": "again"}})
    await world.until_complete("i", "again")

    assert await hash_of(world, "a") == before


async def test_what_a_user_made_counts_with_its_content(world: World, admin: Client) -> None:
    parts = {"apps.yaml": build.template(using("a", secret={"secretName": "theirs"}))}
    of = version(parts, {"apps": ["apps"]}, again=build.plan({"apps": ["apps"]}))
    await install(world, of)
    assert await hash_of(world, "a") == NOTHING_USED

    seen = {NOTHING_USED}
    for content in ("one", "two"):
        theirs = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "theirs"},
            "data": {"k": base64.b64encode(content.encode()).decode()},
        }
        await admin.apply(SECRETS, theirs, namespace=world.namespace, field_manager="user")
        uid = (await world.patch("i", {"planExecution": {"planName": "again"}}))["spec"][
            "planExecution"
        ]["uid"]
        await world.until("i", lambda i, u=uid: uid_of(i, "again") == u, "the run")  # type: ignore[misc]
        await world.until_complete("i", "again")
        assert await hash_of(world, "a") not in seen
        seen.add(await hash_of(world, "a"))


async def test_content_that_is_left_out_of_the_hash_restarts_nothing(world: World) -> None:
    files = build.config_map("used", a="{{ .Params.A }}")
    files["metadata"]["annotations"] = {"kudo.dev/skip-hash-calculation": "true"}
    parts = {
        "files.yaml": build.template(files),
        "apps.yaml": build.template(using("a", configMap={"name": "used"})),
    }
    await install(
        world, version(parts, {"one": ["files"], "two": ["apps"]}, build.parameter("A", "1"))
    )
    assert await hash_of(world, "a") == NOTHING_USED

    await change(world, A="2")

    assert (await world.get(CONFIG_MAPS, "used"))["data"] == {"a": "2"}
    assert await hash_of(world, "a") == NOTHING_USED


# Exactly what the templates say


async def test_a_key_that_left_string_data_leaves_the_secret(world: World, admin: Client) -> None:
    text = """
apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {fixed: Zml4ZWQ=}
stringData:
  {{ .Params.KEY }}: {{ .Params.VALUE | quote }}
"""
    declared = (build.parameter("KEY", "first"), build.parameter("VALUE", "p:\u00e4"))
    await install(world, version({"keys.yaml": text}, {"keys": ["keys"]}, *declared))

    await change(world, KEY="second")

    data = (await admin.get(SECRETS, "keys", namespace=world.namespace))["data"]
    assert {key: base64.b64decode(value).decode() for key, value in data.items()} == {
        "fixed": "fixed",
        "second": "p:\u00e4",
    }


# Adoption


async def test_an_object_of_nobody_is_adopted_with_an_event(world: World) -> None:
    await create_theirs(world, CONFIG_MAPS)
    parts = {"theirs.yaml": build.template(build.config_map("theirs", ours="2"))}

    await install(world, version(parts, {"one": ["theirs"]}))

    found = await world.get(CONFIG_MAPS, "theirs")
    assert found["data"] == {"mine": "1", "ours": "2"}
    assert found["metadata"]["ownerReferences"][0]["name"] == "i"
    assert "ConfigMap theirs" in await event_text(world, "ObjectAdopted")


async def test_a_secret_that_existed_before_stays_when_its_instance_is_deleted(
    world: World,
    admin: Client,
) -> None:
    async def theirs() -> Json:
        return await admin.get(SECRETS, "theirs", namespace=world.namespace)

    await create_theirs(world, SECRETS)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "theirs"},
        "stringData": {"ours": "{{ .Params.OURS }}"},
    }
    parts = {"theirs.yaml": build.template(secret)}
    await install(world, version(parts, {"one": ["theirs"]}, build.parameter("OURS", "2")))
    text = await event_text(world, "ObjectAdopted")
    assert text.endswith("and stays when the Instance is deleted")

    await world.patch("i", {"parameters": {"OURS": "3"}})
    await world.until("i", lambda i: i["metadata"]["generation"] > 3, "another run")
    await world.until_complete("i")
    found = await theirs()
    assert base64.b64decode(found["data"]["ours"]) == b"3"
    assert "ownerReferences" not in found["metadata"]

    await admin.delete(INSTANCES, "i", namespace=world.namespace, propagation="Foreground")
    await world.until_gone(INSTANCES, "i")
    assert "ownerReferences" not in (await theirs())["metadata"]


async def test_a_field_of_another_manager_is_not_taken_away(world: World) -> None:
    await create_theirs(world, CONFIG_MAPS)
    parts = {"theirs.yaml": build.template(build.config_map("theirs", mine="2"))}
    await world.apply(version(parts, {"one": ["theirs"]}), build.instance("i", "v"))

    failed = await world.until_failed("i")

    text = instances.messages(failed, "deploy")
    assert "these fields belong to other managers" in text
    assert "kubectl-create: .data.mine" in text
    assert "ownerReferences" not in (await world.get(CONFIG_MAPS, "theirs"))["metadata"]


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ("{generateName: a-}", "generateName would create another one on each run"),
        ("{labels: {a: b}}", "metadata.name is missing"),
    ],
)
async def test_an_object_without_a_name_ends_the_plan(
    world: World, metadata: str, text: str
) -> None:
    parts = {"nameless.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}"}
    of = build.operator_version(
        "v",
        templates=parts,
        tasks=[build.task("nameless", "Apply", "nameless.yaml")],
        plans={"deploy": build.plan({"one": ["nameless"]})},
    )
    await world.apply(of, build.instance("i", "v"))

    assert text in instances.messages(await world.until_failed("i"), "deploy")


async def test_every_character_arrives(world: World) -> None:
    """The body of an apply is read as YAML, which folds or refuses some that JSON holds."""
    text = "a\u0085b\u2028c\u2029d\x7fe\u0091f\ufffeg\uffffh\u00e4 \\u0085 end"
    parts = {"text.yaml": build.template(build.config_map("text", text=text))}

    await install(world, version(parts, {"one": ["text"]}))

    assert (await world.get(CONFIG_MAPS, "text"))["data"] == {"text": text}
