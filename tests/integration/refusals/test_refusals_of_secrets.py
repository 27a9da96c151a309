"""What a refused Secret holds is in no status, no event and no log, also not at level debug."""

import base64
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.integration.refusals.kinds import obj
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.world import World

PLANS = {"deploy": build.plan({"step": ["t"]})}
PLANTED = "hunter2-Pa55"
ENCODED = base64.b64encode(PLANTED.encode()).decode()
NUMBER = 471108150815


@pytest.fixture
async def debugged(world: World) -> AsyncIterator[World]:
    """Yield a world whose reconciler logs all that it can."""
    installation = world.installation
    installation.reconciler.stop()
    reconciler = installation.another_reconciler("debugged", "--log-level=debug")
    reconciler.log.unlink(missing_ok=True)
    reconciler.start()
    yield replace(world, reconcilers=(reconciler,))
    reconciler.stop()


def secret(**fields: object) -> Json:
    return obj("Secret", **fields)


def with_metadata(**fields: object) -> Json:
    return secret(metadata={"name": "x", **fields})


async def install(world: World, text: str, *parameters: Json, name: str = "i") -> None:
    version = build.operator_version(
        f"of-{name}", templates={"t.yaml": text}, plans=PLANS, parameters=parameters
    )
    await world.apply(version, build.instance(name, f"of-{name}"))


async def check_nothing_is_told(world: World, instance: Json) -> None:
    log = world.installation.directory / "debugged.log"
    told = {
        "status": json.dumps(instance["status"]),
        "events": json.dumps(await world.events()),
        "log": log.read_text(encoding="utf-8"),
    }
    planted = re.compile(f"{PLANTED}|{re.escape(ENCODED)}|{NUMBER}")
    assert "run started" in told["log"]
    for place, text in told.items():
        found = planted.search(text)
        assert found is None, (place, text[max(0, found.start() - 300) : found.end()])


REFUSED: dict[str, tuple[str, str]] = {
    "a-number": (build.template(secret(data={"pin": NUMBER})), ".data.pin: expected string"),
    "a-map": (build.template(secret(data={"pin": {"a": PLANTED}})), ".data.pin: expected string"),
    "a-list": (
        build.template(secret(data={"pin": [PLANTED, NUMBER]})),
        ".data.pin: expected string",
    ),
    "text-for-all": (build.template(secret(data=PLANTED)), ".data: expected map"),
    "no-base64": (
        build.template(secret(data={"pin": f"{PLANTED}!"})),
        "illegal base64 data in data.pin",
    ),
    "long-key": (build.template(secret(data={"k" * 300: ENCODED})), "must be no more than 253"),
    "bad-key": (
        build.template(secret(data={"a b": ENCODED})),
        "data[a b]: Invalid value: a valid",
    ),
    "number-as-text": (build.template(secret(stringData={"pin": NUMBER})), "put quotes around pin"),
    "list-of-texts": (build.template(secret(stringData=[PLANTED])), "stringData must be mappings"),
    "type": (build.template(secret(type=[PLANTED])), ".type: expected string"),
    "immutable": (build.template(secret(immutable=PLANTED)), ".immutable: expected boolean"),
    "label": (
        build.template(with_metadata(labels={"a": NUMBER})),
        "metadata.labels.a is a number and not text; put quotes around it",
    ),
    "bad-label": (
        build.template(with_metadata(labels={"a": f"{PLANTED}!"})),
        "metadata.labels: Invalid value: a valid label must be",
    ),
    "finalizer": (
        build.template(with_metadata(finalizers=[PLANTED])),
        "metadata.finalizers[0]: Invalid value",
    ),
    "docker": (
        build.template(secret(type="kubernetes.io/dockercfg", data={".dockercfg": ENCODED})),
        "data[.dockercfg]: Invalid value",
    ),
    "large-number": (
        build.template(secret(stringData={"pin": 10**24 + NUMBER})),
        "the integer at .stringData.pin does not fit into 64 bits",
    ),
    "anchor": (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\ndata:\n  pin: *{PLANTED}\n",
        "t.yaml: decoding chunk 1 failed: line 5, column 8: unknown anchor ... referenced",
    ),
}
"""Templates by the names of their Instances, and what is told of them."""


async def test_a_refused_secret_is_told_by_its_fields(debugged: World) -> None:
    for name, (text, _) in REFUSED.items():
        await install(debugged, text, name=name)

    ended = {name: await debugged.until_failed(name) for name in REFUSED}

    for name, (_, told) in REFUSED.items():
        assert told in instances.messages(ended[name], "deploy")
        await check_nothing_is_told(debugged, ended[name])


async def test_a_changed_secret_that_is_immutable_is_told_by_its_field(debugged: World) -> None:
    text = build.template(
        secret(immutable=True, stringData={"pin": f"{PLANTED}{{{{ .Params.P }}}}"})
    )
    await install(debugged, text, build.parameter("P", "1"))
    await debugged.until_complete("i")

    await debugged.patch("i", {"parameters": {"P": "2"}})
    instance = await debugged.until_failed("i")

    assert (
        "Secret is invalid: data: Forbidden: field is immutable when `immutable` is set "
        "(422 Invalid); data cannot be changed on an existing object: "
    ) in instances.messages(instance, "deploy")
    await check_nothing_is_told(debugged, instance)


async def test_what_is_mended_in_a_secret_is_told_without_its_values(debugged: World) -> None:
    broken = with_metadata(finalizers=[f"a.b/{PLANTED}"] * 2)
    await install(
        debugged, build.template({**broken, "password": PLANTED, "spec": {"pin": NUMBER}})
    )

    instance = await debugged.until_complete("i")

    told = [event["message"] for event in await debugged.events()]
    where = "Secret x of template t.yaml"
    assert f"{where}: unknown field password is left out" in told
    assert f"{where}: metadata.finalizers has several items with one key: the last is used" in told
    await check_nothing_is_told(debugged, instance)
